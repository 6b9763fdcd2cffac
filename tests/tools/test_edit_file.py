"""A file is changed as it was asked for, or not at all."""

import os
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from bursar.artifacts import Artifact
from bursar.errors import BursarError
from bursar.guard.created import CreatedFile
from bursar.tools.edit_file import LARGEST_BYTES, EditFile
from random_edits import tried
from tool_place import Place

EDIT = EditFile()
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux")


def code(place, **arguments):
    before = {path: path.read_bytes() for path in place.root.rglob("*") if path.is_file()}
    with pytest.raises(BursarError) as refused:
        place.call(EDIT, **arguments)
    assert {path: path.read_bytes() for path in place.root.rglob("*") if path.is_file()} == before
    return refused.value.code


def test_text_is_replaced_and_the_reply_has_the_lines(place: Place):
    path = place.write("a.py", "def f():\n    return 1\n\n\ndef g():\n    return 1\n")
    path.chmod(0o750)
    done, diff = place.done(EDIT, path="a.py", old="def g():\n    return 1", new="def g():\n    return 2")
    assert path.read_text() == "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    assert diff.read(0, 999) == b"@@ -6,1 +6,1 @@\n-    return 1\n+    return 2\n"
    assert done.facts == {"changed": "line 6"}
    assert path.stat().st_mode & 0o777 == 0o750


def test_a_long_change_is_named_and_not_shown_again(place: Place):
    path = place.write("a.txt", "x\n")
    done = place.call(EDIT, path="a.txt", old="x", new="a long line\n" * 200)
    assert path.read_text().count("\n") == 201
    assert done.facts["changed"] == "lines 1-201"
    assert isinstance(done.facts["artifact"], Artifact)


def test_a_file_is_created_and_never_replaced_unasked(place: Place):
    done = place.call(EDIT, path="new.txt", new="中文\n")
    assert (place.root / "new.txt").read_text("utf-8") == "中文\n"
    assert done.facts == {"created": str(place.root / "new.txt"), "bytes": 7}
    assert code(place, path="new.txt", new="other") == "exists"
    place.call(EDIT, path="new.txt", new="other", all=True)
    assert (place.root / "new.txt").read_text() == "other"
    assert code(place, path="no/such/place.txt", new="x") == "not_found"
    assert code(place, path="other.txt", old="x", new="y") == "not_found"
    place.call(EDIT, path="empty.txt", new="")
    assert place.call(EDIT, path="empty.txt", new="now\n").facts == {"changed": "line 1"}
    assert (place.root / "empty.txt").read_text() == "now\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {"old": "two"},
        {"old": "two", "new": None},
        {"all": True},
        {"new": "", "all": True},
        {"edits": [{"old": "two"}]},
        {"edits": [{"old": "", "new": "HEAD"}], "all": True},
        {"edits": [{"old": "", "new": "HEAD"}, {"old": "two", "new": "2"}]},
        {"edits": [{"old": "two", "new": None}]},
        {"edits": "two"},
    ],
)
def test_what_is_missing_is_not_taken_for_a_deletion(place: Place, arguments):
    path = place.write("a.txt", "one two\n")
    with pytest.raises((BursarError, ValueError)):
        place.call(EDIT, path="a.txt", **arguments)
    assert path.read_text() == "one two\n"


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"old": "two", "new": ""}, "1 \n"),
        ({"old": "two", "new": 0}, "1 0\n"),
        ({"old": 1, "new": "one"}, "one two\n"),
        ({"edits": {"old": "two", "new": "2"}}, "1 2\n"),
        ({"edits": '[{"old_string": "two", "new_string": "2", "replace_all": true}]'}, "1 2\n"),
        ({"edits": [{"old": "o", "new": "0"}], "all": True}, "1 tw0\n"),
        ({"old": "two", "new": "2", "edits": ""}, "1 2\n"),
    ],
)
def test_edits_are_understood_as_models_write_them(place: Place, arguments, wanted):
    path = place.write("a.txt", "1 two\n")
    place.call(EDIT, path="a.txt", **arguments)
    assert path.read_text() == wanted


def test_edits_at_the_same_time_are_all_made(place: Place):
    path = place.write("a.txt", "".join(f"key{number}=0\n" for number in range(20)))

    async def all_at_once():
        async with anyio.create_task_group() as group:
            for number in range(20):
                arguments = {"path": "a.txt", "old": f"key{number}=0", "new": f"key{number}=1"}
                group.start_soon(place.calling, EDIT, place.session, arguments)

    anyio.run(all_at_once)
    assert path.read_text() == "".join(f"key{number}=1\n" for number in range(20))
    assert [entry.name for entry in place.root.iterdir()] == ["a.txt"]


def test_several_edits_are_made_or_none(place: Place):
    path = place.write("a.txt", "one two three\n")
    edits = [{"old": "one", "new": "1"}, {"old": "three", "new": "3"}]
    place.call(EDIT, path="a.txt", edits=edits)
    assert path.read_text() == "1 two 3\n"
    assert code(place, path="a.txt", edits=[{"old": "1", "new": "one"}, {"old": "four", "new": ""}]) == "no_match"
    assert code(place, path="a.txt", edits=edits, old="two") == "bad_argument"


@pytest.mark.parametrize(
    "gap",
    [
        '{"artifact":"a5-x.py","incomplete":"lines 9-403 of 403 not shown","size":{"bytes":17731}}',
        'lines 41-60 follow; read_artifact(artifact="a7", lines="41-60")',
        '{"head":"a","omitted":"lines 41-99980","tail":"b"}',
        "…1234 tokens truncated…",
        "... [CONTENT TRUNCATED] ...",
        "[...truncated]",
        '{"omitted":"lines 51-199975"}',
        "… 2,966 more",
        "def f():\n    # ... existing code ...",
    ],
)
def test_a_part_is_not_written_for_the_whole(place: Place, gap):
    place.write("a.txt", "one\ntwo\n")
    assert code(place, path="a.txt", old="two", new=f"begin\n{gap}\nend") == "truncated_content"
    assert code(place, path="b.txt", new=f"begin\n{gap}\nend") == "truncated_content"
    assert code(place, path="a.txt", edits=[{"old": "two", "new": gap}]) == "truncated_content"
    place.call(EDIT, path="b.txt", new=gap, allow_markers=True)
    place.call(EDIT, path="b.txt", old=gap, new=f"{gap}, it says")


def test_random_edits_are_what_a_plain_reference_makes_or_refused_as_it_refuses(place: Place):
    assert [fault for seed in range(60) if (fault := tried(place, EDIT, seed)[0])] == []


def test_what_a_file_declares_holds_for_the_first_letter_that_is_not_ascii(place: Place):
    path = place.write("a.py", b"# -*- coding: shift_jis -*-\nname = 'x'\n")
    place.call(EDIT, path="a.py", old="'x'", new="'日本'")
    assert path.read_bytes().decode("shift_jis") == "# -*- coding: shift_jis -*-\nname = '日本'\n"


def test_a_credential_that_was_not_shown_is_not_lost(place: Place):
    path = place.write("a.env", "KEY=ghp_0123456789\nNAME=a\n")
    assert code(place, path="a.env", new="KEY=[redacted:github-token]\nNAME=b\n", all=True) == "truncated_content"
    assert code(place, path="a.env", old="NAME=a", new="NAME=[redacted:x]") == "truncated_content"
    place.call(EDIT, path="a.env", old="NAME=a", new="NAME=[redacted:x]", allow_markers=True)
    place.call(EDIT, path="a.env", old="[redacted:x]", new="'[redacted:x]'")
    assert path.read_text().startswith("KEY=ghp_")


def test_so_many_edits_are_too_many(place: Place):
    place.write("a.txt", "x" * 20)
    with pytest.raises(ValueError, match="at most 100"):
        place.call(EDIT, path="a.txt", edits=[{"old": "x", "new": ""}] * 101)
    place.write("b.txt", "xy" * 6000)
    edits = [{"old": "x", "new": "1", "all": True}, {"old": "y", "new": "2", "all": True}]
    assert code(place, path="b.txt", edits=edits) == "too_many"


def test_what_another_changes_meanwhile_is_left(place: Place, monkeypatch):
    path = place.write("a.txt", "one\n")
    write = CreatedFile.write

    def late(self, data):
        write(self, data)
        path.write_text("mine\n")

    monkeypatch.setattr(CreatedFile, "write", late)
    with pytest.raises(BursarError, match="at the same time"):
        place.call(EDIT, path="a.txt", old="one", new="two")
    assert path.read_text() == "mine\n"
    assert [entry.name for entry in place.root.iterdir()] == ["a.txt"]


@linux
def test_a_link_stays_a_link_and_leads_out_of_no_root(place: Place, tmp_path):
    path = place.write("real.txt", "one\n")
    (place.root / "link.txt").symlink_to("real.txt")
    place.call(EDIT, path="link.txt", old="one", new="two")
    assert (place.root / "link.txt").is_symlink()
    assert path.read_text() == "two\n"
    (tmp_path / "secret.txt").write_text("one\n")
    (place.root / "out.txt").symlink_to(tmp_path / "secret.txt")
    assert code(place, path="out.txt", old="one", new="two") == "path_outside_roots"
    assert code(place, path=str(place.session.directory / "x"), new="two") in {"permission_denied", "not_found"}


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="root on Linux")
def test_the_owner_stays(place: Place):
    path = place.write("a.txt", "one\n")
    os.chown(path, 65534, 65534)
    place.call(EDIT, path="a.txt", old="one", new="two")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_what_cannot_be_edited_is_refused(place: Place):
    place.write("large.txt", b"x" * (LARGEST_BYTES + 1))
    place.write("data.bin", bytes(range(256)) * 10)
    place.write("fixed.txt", "one\n").chmod(0o444)
    assert code(place, path="large.txt", old="y", new="z") == "too_large"
    assert code(place, path="data.bin", old="a", new="b") == "not_text"
    assert code(place, path="fixed.txt", old="one", new="two") == "permission_denied"
    assert code(place, path=".", old="one", new="two") == "is_directory"


def test_what_would_grow_beyond_all_measure_is_refused_before_it_does(place: Place):
    path = place.write("a.txt", "a" * 10_000)
    with limited_memory(1 << 30):
        assert code(place, path="a.txt", old="a", new="x" * 1_000_000, all=True) == "too_large"
        assert code(place, path="a.txt", edits=[{"old": "a", "new": "y" * 2000, "all": True}]) == "too_large"
    assert path.read_text() == "a" * 10_000


def test_a_file_whose_lines_end_in_two_ways_keeps_both_and_that_is_told(place: Place):
    path = place.write("a.txt", b"one\r\ntwo\nthree\r\nfour\n")
    done, _ = place.done(EDIT, path="a.txt", edits=[{"old": "one", "new": "1\none"}, {"old": "two", "new": "2\ntwo"}])
    assert path.read_bytes() == b"1\r\none\r\n2\ntwo\nthree\r\nfour\n"
    assert "CRLF (2) and LF (2)" in str(done.facts["note"])
    within, _ = place.done(EDIT, path="a.txt", old="four", new="4")
    assert "note" not in within.facts


def test_thousands_of_places_in_one_long_line_of_a_file_with_crlf_are_replaced(place: Place):
    path = place.root / "long.txt"
    path.write_bytes(b"head\r\n" + b"b" * 12_000_000 + b",a" * 9_000)
    place.call(EDIT, path="long.txt", old=",a", new="\n", all=True)
    assert path.read_bytes() == b"head\r\n" + b"b" * 12_000_000 + b"\r\n" * 9_000


@contextmanager
def limited_memory(more_bytes):
    """Let this process take no more than so many bytes beyond those that it has."""
    import resource

    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + more_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@linux
def test_a_kill_leaves_the_old_or_the_new(place: Place):
    path = place.write("a.txt", "0\n" * 20_000)
    script = f"""
        import sys
        sys.path = {sys.path!r}
        from pathlib import Path
        from types import SimpleNamespace
        from bursar.content.edits import Edit
        from bursar.guard.paths import Workspace
        from bursar.tools.edit_file import EditFileArgs, _change
        pulse = SimpleNamespace(beat=lambda done: None)
        call = SimpleNamespace(workspace=Workspace([Path({str(place.root)!r})]))
        args = EditFileArgs(path="a.txt")
        print(flush=True)
        while True:
            _change(args, [Edit("0\\n" * 20_000, "1\\n" * 20_000)], call, pulse)
            _change(args, [Edit("1\\n" * 20_000, "0\\n" * 20_000)], call, pulse)
    """
    for round_ in range(8):
        with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            running.stdout.readline()
            time.sleep(0.01 + 0.007 * round_)
            assert running.poll() is None
            running.kill()
        assert path.read_text() in {"0\n" * 20_000, "1\n" * 20_000}
        path.write_text("0\n" * 20_000)
