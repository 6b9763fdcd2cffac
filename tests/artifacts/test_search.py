import os
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from bursar.artifacts import engines, search, spans, spread
from bursar.artifacts.matches import Query
from bursar.artifacts.search import grep
from bursar.artifacts.spans import Span
from bursar.budget import tokens
from bursar.errors import BursarError

find_ripgrep = engines.ripgrep.__wrapped__


@pytest.fixture(params=["ripgrep", "re2"], autouse=True)
def engine(request, monkeypatch):
    if request.param == "re2":
        monkeypatch.setattr(engines, "ripgrep", lambda: None)
    else:
        assert engines.ripgrep() is not None
    return request.param


def find(artifact, pattern, *, context=0, **options):
    options = {"before": context, "after": context, **options}
    return anyio.run(lambda: grep(artifact, Query(pattern, **options)))


def text(found):
    return "".join(piece.text for piece in found.page.pieces)


@pytest.fixture
def log(stored):
    lines = [b"line %d" % n for n in range(1, 100_001)]
    lines[49_999] = b"the needle"
    return stored(b"\n".join(lines) + b"\n")


def test_a_match_is_shown_with_its_number_and_context(log):
    found = find(log, "needle", context=2)
    assert text(found) == "49998-line 49998\n49999-line 49999\n50000:the needle\n50001-line 50001\n50002-line 50002\n"
    assert (found.matches, found.shown, found.page.after) == (1, 1, None)


def test_no_match_is_no_error(log):
    found = find(log, "nothing like it")
    assert (found.matches, found.shown, found.page.pieces, found.page.after) == (0, 0, [], None)


def test_contexts_that_overlap_are_merged_and_gaps_are_marked(stored):
    artifact = stored(b"".join(b"%d%s\n" % (n, b" hit" if n in {5, 8, 20} else b"") for n in range(1, 31)))
    assert text(find(artifact, "hit", context=2)).splitlines() == [
        "3-3", "4-4", "5:5 hit", "6-6", "7-7", "8:8 hit", "9-9", "10-10", "--",
        "18-18", "19-19", "20:20 hit", "21-21", "22-22",
    ]  # fmt: skip
    assert text(find(artifact, "hit")).splitlines() == ["5:5 hit", "8:8 hit", "20:20 hit"]


def test_context_may_differ_on_both_sides(stored):
    artifact = stored(b"".join(b"%d\n" % n for n in range(1, 30)))
    assert text(find(artifact, "^9$", before=1, after=3)) == "8-8\n9:9\n10-10\n11-11\n12-12\n"
    assert text(find(artifact, "^9$|^19$", after=1)) == "9:9\n10-10\n--\n19:19\n20-20\n"
    resume = find(artifact, "9", before=1, after=3).page.pieces[-1].resume
    assert resume["context"] == "1-3"


def test_of_a_flood_the_first_are_shown_and_how_often_each_text_occurs(stored):
    artifact = stored(b"".join(b"%d level=%s\n" % (n, b"warn" if n % 10 else b"error") for n in range(1, 1001)))
    found = find(artifact, r"level=\w+")
    assert (found.matches, found.spread) == (1000, {"level=warn": 900, "level=error": 100})
    assert text(found).startswith("1:1 level=warn\n2:2 ")
    assert tokens.count(text(found)) < 1.1 * Query("").first
    assert find(artifact, r"level=(\w+)").spread == {"warn": 900, "error": 100}
    assert find(artifact, r"(?P<level>error|nothing)?level=.*").spread == {"level=warn": 900, "level=error": 100}


def test_what_there_is_room_for_is_no_flood(stored):
    artifact = stored(b"".join(b"level=error %d\n" % n for n in range(1, 1001)))
    assert find(artifact, "level", room=12000).shown == 1000
    asked = find(artifact, "level", room=2000, first=2000)
    assert asked.spread
    assert 1800 < tokens.count(text(asked)) < 2200


def test_the_heading_above_each_match_of_a_document_is_shown_once(stored):
    page = b"# One\na hit\n\n## Two\nx\na hit\na hit\n```\n# no heading\nhit\n```\n### Hit itself\n#nor this\na hit\n"
    artifact = stored(page)
    assert text(find(artifact, "hit|Hit", sections=True)).splitlines() == [
        "1=# One", "2:a hit", "4=## Two", "6:a hit", "7:a hit", "10:hit", "12:### Hit itself", "14:a hit",
    ]  # fmt: skip
    assert text(find(artifact, "^a", sections=True, context=1)).splitlines() == [
        "1-# One", "2:a hit", "3-", "--", "4=## Two", "5-x", "6:a hit", "7:a hit", "8-```", "--",
        "12=### Hit itself", "13-#nor this", "14:a hit",
    ]  # fmt: skip
    assert "=" not in text(find(artifact, "hit"))


def test_of_many_texts_the_rare_ones_are_counted_together(stored):
    artifact = stored(b"".join(b"code %d\n" % (n if n > 500 else 7) for n in range(1, 1001)))
    assert find(artifact, r"code \d+").spread == {
        "code 7": 500, "code 501": 1, "code 502": 1, "code 503": 1, "code 504": 1, "code 505": 1, "495 others": 495,
    }  # fmt: skip


def test_where_a_flood_lies_is_told_if_its_texts_do_not_repeat(stored):
    artifact = stored(b"".join(b"line %d\n" % n for n in range(1, 2001)))
    assert find(artifact, r"line 1\d+").spread == "lines 10-1999, half of them by 1445"
    assert find(artifact, "line").spread == "lines 1-2000, half of them by 1001"


def test_how_a_huge_flood_spreads_is_not_told(stored, monkeypatch):
    monkeypatch.setattr(spread, "MATCHES_MAX", 999)
    artifact = stored(b"warn\n" * 999 + b"info\n")
    assert find(artifact, "warn|info").spread == ""
    assert find(artifact, "warn|info").matches == 1000


def test_a_long_text_that_repeats_is_cut(stored, engine):
    found = find(stored(b"".join(b"x" * 90 + b"%d\n" % (n % 2) for n in range(500))), "x+.")
    assert found.spread == {"x" * 60 + "…": 500}
    long = find(stored((b"x" * 900 + b"\n" + b"y\n") * 2000), "x+|y").spread
    assert set(long) == {"y", "x" * 60 + "…" if engine == "re2" else "[Omitted long matching line]"}


def test_a_search_within_a_range_is_no_flood(log):
    found = find(log, "line", lines=Span(1, 2000))
    assert (found.matches, found.spread) == (2000, "")
    assert len(numbers(found)) == search.LINES_MAX


def test_a_few_long_matches_are_no_flood(stored):
    artifact = stored((b"x" * 500 + b" needle\n") * search.FEW)
    assert find(artifact, "needle").shown == search.FEW
    artifact = stored((b"some of many words " * 25 + b"needle\n") * (search.FEW + 1))
    assert find(artifact, "needle").shown < search.FEW


def test_many_excerpts_are_shorter_than_a_few(stored):
    def longest(count):
        found = find(stored(b"NEEDLE".join([b"abcdefghij" * 100] * (count + 1))), "NEEDLE", lines=Span(1, None))
        return max(len(piece.text) for piece in found.page.pieces)

    assert (longest(1) > 300) & (longest(12) < 200) & (longest(200) < 150)


def test_what_is_found_is_shown_though_there_is_no_time_to_measure_it(stored, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(search.tokens, "fits", lambda text, limit: over.wait(60))
    artifact = stored(b"needle\n" * 5000)
    found = anyio.run(lambda: grep(artifact, Query("needle"), deadline_s=5))
    over.set()
    assert (found.counted, found.shown) == (f"more than {search.LINES_MAX}", search.LINES_MAX)
    assert found.page.after == {"grep": "needle", "lines": f"{search.LINES_MAX + 1}-"}


def test_matches_can_be_counted_only(stored):
    artifact = stored(b"needle\nhay\n" * 2000)
    found = find(artifact, "needle", counts_only=True)
    assert (found.facts(), found.page.pieces, found.page.after) == ({"matches": 2000}, (), None)
    assert find(artifact, "nothing", counts_only=True).facts() == {"matches": 0}
    assert find(stored(b"needle " * 2000), "needle", counts_only=True).matches == 2000


def test_where_nothing_matches_the_like_is_shown(stored):
    artifact = stored(b"Needle in f(x) = [a]\n")
    found = find(artifact, "needle")
    assert (found.facts(), text(found)) == ({"matches": 0, "ignoring_case": 1}, "1:Needle in f(x) = [a]\n")
    found = find(artifact, "f(x)")
    assert found.facts() == {"matches": 0, "as_literal": 1}
    assert find(artifact, "= [a]").facts() == {"matches": 0, "as_literal": 1}
    assert find(artifact, "f(x").facts() == {"matches": 0, "as_literal": 1}
    assert find(artifact, "F(x)").facts() == {"matches": 0}
    assert find(stored(b"Needle\n" * 3000), "needle").matches == 0


def test_the_like_is_not_looked_for_where_that_takes_long_or_the_end_is_not_known(stored, session, monkeypatch):
    monkeypatch.setattr(search, "AGAIN_BYTES", 5)
    assert find(stored(b"Needle\n"), "needle").facts() == {"matches": 0}
    monkeypatch.undo()
    writer = session.writer(tool="t", did="d")
    os.write(writer.descriptor(), b"Needle\n")
    live = next(artifact for artifact in session.artifacts() if artifact.state == "live")
    assert find(live, "needle").facts() == {"matches": 0}
    writer.discard()


def test_context_stops_at_both_ends_of_the_content(stored):
    assert text(find(stored(b"one"), "one", context=2)) == "1:one\n"
    assert text(find(stored(b"a\none\nb"), "one", context=9)) == "1-a\n2:one\n3-b\n"


def test_all_matches_are_counted_and_the_next_ones_are_one_call_away(log):
    found = find(log, "line [0-9]*7$")
    assert found.matches == 10_000
    assert tokens.count(text(found)) < 1.1 * Query("").first
    seen = numbers(found)
    for _ in range(3):
        assert found.page.after["grep"] == "line [0-9]*7$"
        assert "context" not in found.page.after
        found = find(log, "line [0-9]*7$", lines=Span(int(found.page.after["lines"].removesuffix("-")), None))
        assert len(numbers(found)) == search.LINES_MAX
        seen += numbers(found)
    assert seen == [n for n in range(1, 100_001) if n % 10 == 7][: len(seen)]


def numbers(found):
    return [int(line.partition(":")[0]) for line in text(found).splitlines()]


def test_a_search_within_lines_stays_there(log):
    found = find(log, "line 7000[0-9]", lines=Span(70_003, 70_005))
    assert text(found) == "70003:line 70003\n70004:line 70004\n70005:line 70005\n"
    assert found.matches == 3
    assert find(log, "needle", lines=Span(50_001, None)).matches == 0
    assert find(log, "line", lines=Span(None, 3)).matches == 3
    assert text(find(log, "^line 3$", lines=Span(3, 3), context=1)) == "2-line 2\n3:line 3\n4-line 4\n"


def test_the_end_of_the_range_is_kept_when_the_matches_go_on(log):
    after = find(log, "line", lines=Span(1000, 9000)).page.after
    assert after["lines"] == f"{1000 + search.LINES_MAX}-9000"


@pytest.mark.parametrize("room", [600, 1500, 6000])
def test_a_match_is_shown_however_much_context_is_asked_for(stored, room):
    rows = [b"%05d " % n + b"x" * 90 for n in range(1, 3001)]
    rows[1999] = b"NEEDLE"
    artifact = stored(b"\n".join(rows))
    found, shown = find(artifact, "NEEDLE", context=50), ""
    for _ in range(4):  # a reply shows as many pieces as it has room for, and goes on where it had to stop
        shown, resume = "", found.page.after
        for piece in found.page.pieces:
            if len(shown) + len(piece.text) > room:
                resume = piece.resume
                break
            shown += piece.text
        if "2000:NEEDLE\n" in shown or resume is None or "grep" not in resume:
            break
        found = find(
            artifact, "NEEDLE", context=int(resume.get("context", 0)), lines=spans.parse(resume["lines"], "lines")
        )
    assert "2000:NEEDLE\n" in shown
    if room == 6000:
        assert "1995-" in shown
        assert "2005-" in shown
        assert found.context
    else:
        context = len(re.findall(r"^\d+-", shown, re.MULTILINE))
        assert resume == {"lines": f"{2001 + context}-2050"} or not context


def test_a_context_that_fits_is_shown_whole_and_nothing_is_said_of_it(log):
    found = find(log, "needle", context=50)
    assert text(found).splitlines()[0] == "49950-line 49950"
    assert text(found).splitlines()[-1] == "50050-line 50050"
    assert found.context == ""


def test_a_pattern_that_matches_every_character_still_fills_a_page(stored):
    artifact = stored(b"".join(b"%05d some words of a line\n" % n for n in range(1, 1001)))
    found = find(artifact, ".", lines=Span(1, None))
    assert found.matches == 1000
    assert len(found.page.pieces) >= 400
    assert [piece.text[:7] for piece in found.page.pieces[:2]] == ["1:00001", "2:00002"]


def test_matches_in_a_binary_are_printable_excerpts_without_context(stored):
    noise = bytes(range(128, 256)) + b"\0\1\2\n"
    artifact = stored(noise * 20 + b"\0\0\x7fELF\0needle\0\xff\xfe\xfd\0more\0\n" + noise * 20)
    found = find(artifact, "needle")
    assert text(found) == f"21:{20 * len(noise) + 7}:…·ELF·needle·more·…\n"
    assert found.matches == 1


def test_context_ends_where_text_does(stored):
    artifact = stored(b"\0\xff\xfe\n" * 3 + b"before\nneedle\nafter\n" + b"\0\xff\xfe\n" * 3)
    assert text(find(artifact, "needle", context=5)) == "4-before\n5:needle\n6-after\n"


def test_a_search_beyond_the_end_is_refused(log):
    with pytest.raises(BursarError, match="beyond_the_end"):
        find(log, "x", lines=Span(100_001, None))
    with pytest.raises(BursarError, match="beyond_the_end"):
        find(log, "x", bytes=Span(10**9, None))


def test_matches_in_a_line_of_20_mb_are_excerpts_with_their_offsets(stored):
    data = bytearray(b"abcdefghij" * 2_000_000)
    places = [5, 10_000_000, 15_000_000, 19_999_990]
    for place in places:
        data[place : place + 6] = b"NEEDLE"
    found = find(stored(bytes(data)), "NEEDLE")
    pieces = [piece.text for piece in found.page.pieces]
    assert [piece.startswith(f"1:{place}:…") for piece, place in zip(pieces, places, strict=True)] == [True] * 4
    assert all("NEEDLE" in piece and len(piece) < 400 for piece in pieces)
    assert found.page.pieces[1].resume == {"grep": "NEEDLE", "bytes": "10000000-"}
    assert found.matches == 4
    rest = find(stored(bytes(data)), "NEEDLE", bytes=Span(10_000_001, None))
    assert [piece.resume["bytes"] for piece in rest.page.pieces] == ["15000000-", "19999990-"]


def test_a_match_everywhere_in_a_long_line_is_bounded(stored):
    found = find(stored(b"abcdefghij" * 200_000), "e")
    assert found.matches == 200_000
    assert len(text(found)) < 100_000
    assert found.page.after["bytes"].endswith("-")


def test_a_whole_line_that_matches_is_still_only_an_excerpt(stored):
    found = find(stored(b"x" * 5_000_000), ".*")
    assert len(text(found)) < 1000
    assert text(found).startswith("1:0:…xxx")


def test_an_excerpt_never_splits_a_character(stored):
    found = find(stored(("日本語🙂" * 50_000 + "needle" + "é🙂" * 50_000).encode()), "needle")
    assert "\ufffd" not in text(found)
    assert "🙂needleé" in text(found)


def test_bytes_that_are_not_text_do_not_stop_a_search(stored):
    artifact = stored(b"\0\0\xff\xfe\nfine\n\x80needle\xff\n" + bytes(range(256)) + b"\nneedle again")
    found = find(artifact, "needle")
    assert found.matches == 2
    assert "\ufffdneedle\ufffd" in text(found)


def test_a_byte_order_mark_does_not_change_offsets(stored):
    assert text(find(stored(b"\xff\xfea\0b\0\nneedle\n"), "needle")) == "2:needle\n"
    assert text(find(stored(b"\xef\xbb\xbfneedle\n"), "needle")).startswith("1:")


def test_letters_of_any_script_are_found_in_any_case(stored):
    found = find(stored("ÄRGER\närger\nСЛОВО\nслово\n".encode()), "(?i)ärger|слово")
    assert found.matches == 4


def test_line_ends_of_windows_are_no_part_of_a_line(stored, engine):
    artifact = stored(b"one\r\ntwo\r\n")
    assert text(find(artifact, "two", context=1)) == "1-one\n2:two\n"
    if engine == "ripgrep":
        assert find(artifact, "one$").matches == 1


@pytest.mark.parametrize("pattern", ["^$", "x*", "^", "$", r"\b"])
def test_a_match_of_nothing_is_a_match(stored, pattern):
    found = find(stored(b"a\n\nb\n"), pattern)
    assert found.matches == {"^$": 1, r"\b": 2}.get(pattern, 3)


@pytest.mark.parametrize(
    "pattern",
    ["(", "[", "*", "a{2", "(?=x)", r"(x)\1", "(?<name", "x" * 3000, "", "a\nb", "\0", "\ud800", "(a{1000}){1000}"],
)
def test_a_pattern_that_cannot_be_searched_for_is_explained_in_one_line(stored, pattern, engine):
    if pattern == "a{2" and engine == "re2":
        assert find(stored(b"a{2\n"), pattern).matches == 1  # RE2 takes a lone brace literally
        return
    with pytest.raises(BursarError) as caught:
        find(stored(b"x\n"), pattern)
    assert caught.value.code == "bad_pattern"
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300
    assert "(?i)" in caught.value.fix


def test_a_pattern_is_never_taken_for_an_option(stored):
    artifact = stored(b"--version\n-e\n")
    assert text(find(artifact, "--version")) == "1:--version\n"
    assert text(find(artifact, "-e$")) == "2:-e\n"


def test_a_pattern_that_makes_others_backtrack_for_ever_is_answered(stored):
    found = find(stored(b"a" * 100_000 + b"\n" + b"x=" * 50_000), "(a+)+$|(.*)*=y|(a|aa)+b")
    assert found.matches == 1


def test_what_is_live_can_be_searched(session):
    writer = session.writer(tool="t", did="d")
    os.write(writer.descriptor(), b"first\nneedle\nun")
    found = find(session.open("a1"), "needle|un")
    assert found.matches == 2
    os.write(writer.descriptor(), b"finished needle\n")
    assert find(session.open("a1"), "needle").matches == 2
    writer.commit()


def test_no_more_is_searched_than_the_artifact_had_when_it_was_looked_at(session):
    writer = session.writer(tool="t", did="d")
    os.write(writer.descriptor(), b"needle\n")
    before = session.open("a1")
    os.write(writer.descriptor(), b"needle\n")
    assert find(before, "needle").matches == 1
    writer.discard()


def children():
    started = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # the thread has ended
            started += (task / "children").read_text().split()
    return [pid for pid in started if Path(f"/proc/{pid}/comm").read_text() == "rg\n"]


@pytest.mark.skipif(sys.platform != "linux", reason="uses a FIFO opened by descriptor")
def test_a_cancelled_search_leaves_no_process(stored, engine, monkeypatch):
    artifact = stored(b"abcdefghij\n" * 2_000_000)
    started = threading.Event()
    monkeypatch.setattr(engines.Opened, "read", slow_read(started, engines.Opened.read))

    async def work():
        with anyio.move_on_after(0.3) as scope:
            await grep(artifact, Query("nothing", lines=Span(1, 1_999_999)))
        return scope.cancelled_caught

    assert anyio.run(work)
    assert started.is_set()
    until = time.monotonic() + 10
    while children() and time.monotonic() < until:
        time.sleep(0.02)
    assert children() == []


@pytest.mark.skipif(sys.platform != "linux", reason="counts processes in /proc")
def test_a_search_that_takes_too_long_is_ended_and_says_so(stored, engine, monkeypatch):
    artifact = stored(b"abcdefghij\n" * 2_000_000)
    monkeypatch.setattr(engines.Opened, "read", slow_read(threading.Event(), engines.Opened.read))
    with pytest.raises(BursarError) as caught:
        anyio.run(lambda: grep(artifact, Query("nothing", lines=Span(1, 1_999_999)), deadline_s=0.3))
    assert caught.value.code == "search_timeout"
    assert 'lines="1-1000000", then lines="1000001-1999999"' in caught.value.fix
    if engine == "ripgrep":
        until = time.monotonic() + 10
        while children() and time.monotonic() < until:
            time.sleep(0.02)
        assert children() == []


def slow_read(started, read):
    """A disk that takes long."""

    def slowly(self, offset, length):
        started.set()
        time.sleep(0.05)
        return read(self, offset, length)

    return slowly


def test_what_a_running_command_adds_during_a_search_is_not_in_it(session, engine, monkeypatch):
    writer = session.writer(tool="terminal", did="$ serve")
    shared = writer.descriptor()
    os.write(shared, b"needle\n" * 3)
    artifact = session.open("a1")
    start = subprocess.Popen

    def meanwhile(*args, **options):
        os.write(shared, b"needle\n" * 1000)
        return start(*args, **options)

    monkeypatch.setattr(subprocess, "Popen", meanwhile)
    found = find(artifact, "needle")
    assert (found.matches, text(found)) == (3, "1:needle\n2:needle\n3:needle\n")
    writer.commit()


def test_a_ripgrep_that_commands_could_have_put_on_the_path_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "rg").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert Path(find_ripgrep() or "").parent == Path(sys.executable).parent
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    assert find_ripgrep() is None
