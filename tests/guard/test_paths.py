"""Only what lies in the workspace opens, however it is spelled, linked or swapped."""

import ctypes
import difflib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from bursar.errors import BursarError
from bursar.guard import handles, paths
from bursar.guard.paths import Workspace

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX file system")
linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc")

SECRET = b"the neighbour's secret"


class Place:
    """A workspace, a directory outside it, and a store with the sessions of two callers."""

    def __init__(self, base: Path) -> None:
        self.root, self.outside, self.store = base / "work", base / "outside", base / "store"
        self.mine, self.other = self.store / "mine", self.store / "zzz-there"
        for directory in (self.root, self.outside, self.mine, self.other):
            directory.mkdir(parents=True)
        self.secret = self.other / "a1-terminal.log"
        self.secret.write_bytes(SECRET)
        (self.mine / "a1-terminal.log").write_bytes(b"my own")
        (self.outside / "file.txt").write_bytes(b"outside")
        (self.root / "README.md").write_bytes(b"hello")
        (self.root / "src").mkdir()
        (self.root / "src" / "main.py").write_bytes(b"print()")
        self.workspace = Workspace([self.root], closed=[self.store]).opening(self.mine)

    def read(self, path: object) -> bytes:
        with self.workspace.open(str(path)) as file:
            return file.read(0, 1000)

    def refusal(self, path: object) -> BursarError:
        with pytest.raises(BursarError) as refused:
            self.workspace.open(str(path))
        return refused.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_file_in_a_root_opens_by_absolute_and_by_relative_path(place: Place):
    assert place.read(place.root / "README.md") == b"hello"
    assert place.read("README.md") == b"hello"
    assert place.read("src/../README.md") == b"hello"


def test_relative_paths_start_at_the_first_root_and_others_open_too(place: Place):
    both = Workspace([place.root, place.outside])
    with both.open("README.md") as first, both.open(str(place.outside / "file.txt")) as second:
        assert (first.read(0, 9), second.read(0, 9)) == (b"hello", b"outside")


def test_an_open_file_tells_its_real_path_and_size(place: Place):
    (place.root / "link").symlink_to("src/main.py")
    with place.workspace.open("link") as file:
        assert file.path == (place.root / "src" / "main.py").resolve()
        assert file.size == len(b"print()")


def test_a_tilde_is_the_home_directory(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(place.root))
    monkeypatch.setenv("USERPROFILE", str(place.root))
    assert place.read("~/README.md") == b"hello"


@pytest.mark.parametrize("spelling", ["../outside/file.txt", "src/../../outside/file.txt", "{outside}/file.txt"])
def test_nothing_outside_the_roots_opens(place: Place, spelling: str):
    refused = place.refusal(spelling.format(outside=place.outside))
    assert refused.code == "path_outside_roots"
    assert str(place.root) in refused.message
    assert "--root DIR" in refused.fix


def test_a_directory_whose_name_begins_like_a_root_is_outside(place: Place):
    sibling = place.root.with_name("work-2")
    sibling.mkdir()
    (sibling / "f").write_bytes(b"x")
    assert place.refusal(sibling / "f").code == "path_outside_roots"


def test_outside_the_roots_a_missing_file_and_an_existing_one_get_the_same_answer(place: Place):
    existing, missing = place.refusal(place.outside / "file.txt"), place.refusal(place.outside / "nope.txt")
    assert existing.message.replace("file.txt", "") == missing.message.replace("nope.txt", "")
    assert (existing.code, existing.fix) == (missing.code, missing.fix)


@posix
def test_links_are_followed_inside_and_refused_when_they_lead_out(place: Place):
    (place.root / "in").symlink_to("README.md")
    (place.root / "out").symlink_to(place.outside / "file.txt")
    (place.root / "outdir").symlink_to(place.outside)
    assert place.read("in") == b"hello"
    assert place.refusal("out").code == "path_outside_roots"
    assert place.refusal("outdir/file.txt").code == "path_outside_roots"


@posix
def test_of_a_file_in_the_temporary_directory_that_commands_have_of_their_own_it_is_said_how_to_see_it():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as base:
        refused = Place(Path(base)).refusal("/tmp/written by a command.txt")
    assert (refused.code, "with terminal" in refused.fix) == ("path_outside_roots", True)


def test_the_callers_own_session_opens_though_it_lies_in_the_store(place: Place):
    assert place.read(place.mine / "a1-terminal.log") == b"my own"
    assert place.read(place.other / ".." / "mine" / "a1-terminal.log") == b"my own"


def _ways_to(place: Place, target: Path) -> list[Path]:
    link = place.root / f"link-to-{target.parent.name}-{target.name}"
    link.symlink_to(target)
    directory = place.root / f"dir-of-{target.parent.name}-{target.name}"
    directory.symlink_to(target.parent)
    return [
        target,
        place.mine / ".." / target.parent.name / target.name,
        link,
        directory / target.name,
        Path(f"{target}/x"),
        target.parent,
    ]


@posix
def test_another_sessions_files_answer_exactly_like_names_that_never_existed(place: Place):
    existing = _ways_to(place, place.secret)
    missing = _ways_to(place, place.store / "zzz-never" / "a1-terminal.log")
    for real, invented in zip(existing, missing, strict=True):
        one, other = place.refusal(real), place.refusal(invented)
        assert one.code == other.code == "not_found"
        assert one.fix == other.fix
        assert one.message.replace("zzz-there", "zzz-never") == other.message
        with pytest.raises(BursarError, match="not_found"):
            place.workspace.directory(str(real))


@posix
def test_a_store_inside_a_root_is_as_closed_as_one_outside(place: Place):
    wide = Workspace([place.root.parent], closed=[place.store]).opening(place.mine)
    with pytest.raises(BursarError, match="not_found"):
        wide.open(str(place.secret))
    with wide.directory(str(place.root.parent)) as top:
        closed = {entry.name for entry in top.entries() if top.is_closed(entry)}
        assert closed == {"store"}
        with pytest.raises(FileNotFoundError):
            top.enter("store")
    with pytest.raises(BursarError) as refused:
        wide.open(str(place.root.parent / "stor"))
    assert f"{place.store}'" not in refused.value.fix


@posix
def test_a_hard_link_to_another_sessions_file_does_not_open(place: Place):
    os.link(place.secret, place.root / "innocent.txt")
    assert place.refusal("innocent.txt").code == "not_found"


@posix
def test_hard_links_within_the_workspace_and_to_the_own_session_open(place: Place):
    os.link(place.root / "README.md", place.root / "again.md")
    os.link(place.mine / "a1-terminal.log", place.root / "own.log")
    assert place.read("again.md") == b"hello"
    assert place.read("own.log") == b"my own"


@posix
def test_the_store_is_listed_once_for_a_file_with_several_names(place: Place, monkeypatch: pytest.MonkeyPatch):
    os.link(place.root / "README.md", place.root / "again.md")
    os.link(place.secret, place.root / "innocent.txt")
    listed: list[object] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda place: listed.append(place) or scandir(place))
    for _ in range(3):
        assert place.read("again.md") == b"hello"
    assert len(listed) == 2  # the store, and the session of another
    elsewhere = Workspace([place.root], closed=[place.store])
    os.link(place.mine / "a1-terminal.log", place.root / "own.log")
    assert place.read("own.log") == b"my own"
    with pytest.raises(BursarError, match="not_found"):
        elsewhere.open("own.log")
    with pytest.raises(BursarError, match="not_found"):
        elsewhere.opening(place.other).open("own.log")
    for _ in range(2):
        assert place.refusal("innocent.txt").code == "not_found"


@posix
def test_a_hard_link_is_found_where_listings_do_not_tell_inodes(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "_tells_inode", lambda entry: False)
    os.link(place.secret, place.root / "innocent.txt")
    assert place.refusal("innocent.txt").code == "not_found"


@linux
@pytest.mark.parametrize("way", ["/proc/self/root{secret}", "/proc/self/cwd/../{name}", "/proc/{pid}/root{secret}"])
def test_no_way_through_proc_reaches_a_closed_file(place: Place, way: str):
    path = way.format(secret=place.secret, name=place.secret.name, pid=os.getpid())
    refused = place.refusal(path)
    assert refused.code in {"not_found", "path_outside_roots", "bad_path"}


@linux
def test_a_descriptor_that_the_server_holds_open_cannot_be_named(place: Place):
    with place.secret.open("rb") as held:
        for way in (f"/proc/self/fd/{held.fileno()}", f"/dev/fd/{held.fileno()}"):
            assert place.refusal(way).code in {"not_found", "path_outside_roots"}


@linux
def test_the_insides_of_processes_are_closed_even_if_the_root_is_everything():
    everything = Workspace([Path("/")])
    for path in ("/proc/self/environ", "/proc/self/mem", "/proc/1/environ", f"/proc/{os.getpid()}/maps"):
        with pytest.raises(BursarError, match="permission_denied"):
            everything.open(path)
    with everything.directory("/") as top, pytest.raises(FileNotFoundError):
        top.enter("proc")


@pytest.mark.needs("mounts")
@pytest.mark.parametrize("kernel", ["new", "old"])
def test_a_path_in_another_mount_namespace_that_reads_like_one_of_ours_is_refused(
    place: Place, kernel: str, monkeypatch: pytest.MonkeyPatch
):
    if kernel == "old":
        monkeypatch.setattr(handles, "_magic_links_refused", lambda: False)
    (place.root / "other").mkdir()
    script = f"mount --bind {place.other} {place.root}/other && echo ready && exec sleep 60"
    with subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            through = f"/proc/{child.pid}/root{place.root}/other/{place.secret.name}"
            assert Path(through).read_bytes() == SECRET
            refused = place.refusal(through)
            assert refused.code in {"not_found", "bad_path"}
            if kernel == "old":
                assert place.read(f"/proc/{os.getpid()}/root{place.root}/README.md") == b"hello"
        finally:
            child.kill()


@posix
def test_a_fifo_a_socket_and_a_device_are_refused_at_once(place: Place, monkeypatch: pytest.MonkeyPatch):
    os.mkfifo(place.root / "fifo")
    monkeypatch.chdir(place.root)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock")
        assert place.refusal("fifo").code == "not_a_file"
        assert "FIFO" in place.refusal("fifo").message
        assert place.refusal("sock").code == "not_a_file"
    devices = Workspace([Path("/dev")])
    with pytest.raises(BursarError, match="not_a_file"):
        devices.open("/dev/null")


def test_a_directory_is_no_file_and_a_file_no_directory(place: Place):
    assert place.refusal("src").code == "is_directory"
    assert "directory_tree" in place.refusal("src").fix
    with pytest.raises(BursarError, match="not_a_directory"):
        place.workspace.directory("README.md")
    assert place.refusal("README.md/x").code == "not_found"


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "x/" * 20_000, "\ud800", "/" + "y" * 10_000_000])
def test_a_path_that_no_file_can_have_is_refused_in_a_short_line(place: Place, path: str):
    refused = place.refusal(path)
    assert refused.code == "bad_path"
    assert len(str(refused)) < 1000
    str(refused).encode()


@posix
def test_links_in_a_circle_are_refused(place: Place):
    (place.root / "one").symlink_to("two")
    (place.root / "two").symlink_to("one")
    assert place.refusal("one").code == "bad_path"


def _code_as_nobody(path: Path, workspace: Workspace) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            try:
                workspace.open(str(path)).close()
                os.write(writing, b"opened")
            except BursarError as refused:
                os.write(writing, refused.code.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        code = answer.read().decode()
    os.waitpid(child, 0)
    return code


@posix
def test_a_file_that_may_not_be_read_says_so():
    with tempfile.TemporaryDirectory() as base:
        root = Path(base)
        root.chmod(0o755)
        (root / "shut").write_bytes(b"x")
        (root / "shut").chmod(0)
        (root / "open").write_bytes(b"x")
        (root / "open").chmod(0o644)
        workspace = Workspace([root])
        assert _code_as_nobody(root / "shut", workspace) == "permission_denied"
        assert _code_as_nobody(root / "open", workspace) == "opened"


@pytest.mark.parametrize("wrong", ["readme.md", "REDME.md", "READNE.md"])
def test_a_missing_file_is_answered_with_the_names_that_are_close(place: Place, wrong: str):
    refused = place.refusal(wrong)
    assert refused.code == "not_found" or place.read(wrong) == b"hello"  # some disks do not tell case apart
    assert "README.md" in refused.fix


def test_a_missing_directory_on_the_way_is_answered_with_the_ones_that_are_close(place: Place):
    assert str(place.root / "src") in place.refusal("scr/main.py").fix


@posix
def test_names_outside_are_never_suggested(place: Place):
    (place.root / "out").symlink_to(place.outside)
    for path in ("out/fil.txt", place.outside / "fil.txt"):
        assert "file.txt" not in str(place.refusal(path))


@linux
def test_a_file_opens_in_the_unicode_form_in_which_a_model_writes_its_name(place: Place):
    (place.root / "cafe\u0301.txt").write_bytes(b"decomposed")
    (place.root / "na\u00efve.txt").write_bytes(b"composed")
    assert place.read("caf\u00e9.txt") == b"decomposed"
    assert place.read("nai\u0308ve.txt") == b"composed"


@linux
def test_a_link_in_another_unicode_form_is_judged_like_any_other(place: Place):
    (place.root / "cafe\u0301.txt").symlink_to(place.secret)
    assert place.refusal("caf\u00e9.txt").code == "not_found"


@linux
def test_a_name_that_is_not_utf8_opens_as_it_is_shown(place: Place):
    (Path(os.fsdecode(os.fsencode(place.root) + b"/caf\xe9.txt"))).write_bytes(b"latin")
    (place.root / r"caf\xe9.txt").write_bytes(b"backslash")
    assert place.read(r"caf\xe9.txt") == b"latin"
    assert place.read(r"caf\x5cxe9.txt") == b"backslash"
    assert place.read("caf\udce9.txt") == b"latin"


@linux
@pytest.mark.skipif(sys.platform != "linux", reason="renameat2")
def test_a_file_swapped_for_a_link_while_it_is_opened_never_gives_what_the_link_leads_to(place: Place):
    """The directory and the link to the neighbour change places, atomically, as fast as the kernel can."""
    (place.root / "swap").mkdir()
    (place.root / "swap" / place.secret.name).write_bytes(b"harmless")
    (place.root / "trap").symlink_to(place.other)
    libc = ctypes.CDLL(None)
    one, two = os.fsencode(place.root / "swap"), os.fsencode(place.root / "trap")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            libc.renameat2(-100, one, -100, two, 2)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = {"opened": 0, "not_found": 0}
    try:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            try:
                content = place.read(f"swap/{place.secret.name}")
            except BursarError as refused:
                seen[refused.code] += 1
            else:
                assert content == b"harmless"
                seen["opened"] += 1
    finally:
        over.set()
        swapper.join()
    assert all(seen.values())


@linux
def test_refusals_leave_no_descriptor_open(place: Place):
    os.mkfifo(place.root / "fifo")
    os.link(place.secret, place.root / "twin")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("fifo", "twin", "src", "nope", place.secret, place.outside / "file.txt", "a\0"):
        place.refusal(path)
    with pytest.raises(BursarError):
        place.workspace.directory("README.md")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_read_after_it_was_replaced_is_still_the_one_that_was_opened(place: Place):
    with place.workspace.open("README.md") as file:
        if os.name != "nt":
            (place.root / "new").write_bytes(b"other")
            (place.root / "new").replace(place.root / "README.md")
        assert file.read(0, 100) == b"hello"
        assert file.read(1, 3) == b"ell"
        assert file.read(5, 3) == b""


def test_a_root_given_through_a_link_is_the_place_it_leads_to(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real", target_is_directory=True)
    workspace = Workspace([tmp_path / "link"])
    assert workspace.roots == ((tmp_path / "real").resolve(),)
    workspace.open(str(tmp_path / "real" / "f")).close()
    workspace.open(str(tmp_path / "link" / "f")).close()


def test_a_closed_directory_that_is_made_later_is_closed(tmp_path: Path):
    workspace = Workspace([tmp_path], closed=[tmp_path / "later" / "store"])
    (tmp_path / "later" / "store").mkdir(parents=True)
    (tmp_path / "later" / "store" / "f").write_bytes(b"x")
    with pytest.raises(BursarError, match="not_found"):
        workspace.open(str(tmp_path / "later" / "store" / "f"))


@linux
def test_a_directory_is_descended_without_following_links(place: Place):
    (place.root / "out").symlink_to(place.outside)
    (place.root / "note").symlink_to(place.secret)
    with place.workspace.directory(".") as top:
        with pytest.raises(NotADirectoryError):
            top.enter("out")
        with pytest.raises(OSError, match="symbolic links"):
            top.read("note", 100)
        assert top.target("out") == str(place.outside)
        with top.enter("src") as src:
            assert src.read("main.py", 100) == b"print()"
            assert [entry.name for entry in src.entries()] == ["main.py"]


def test_of_many_names_only_the_likely_ones_are_compared(place: Place, monkeypatch: pytest.MonkeyPatch):
    for number in range(2000):
        (place.root / f"report_{number:04d}_of_the_year.csv").touch()
    (place.root / "requirements.txt").touch()
    compared: list[int] = []
    closest = difflib.get_close_matches

    def counted(word: str, possibilities: Iterable[str], **options: Any) -> list[str]:
        compared.append(len(names := list(possibilities)))
        return closest(word, names, **options)

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    assert "requirements.txt'" in place.refusal("requirments.txt").fix
    assert "report_0777_of_the_year.csv'" in place.refusal("reprot_0777_of_the_yaer.csv").fix
    assert compared == [200, 200]


def test_what_does_not_exist_is_looked_for_in_a_thread(place: Place):
    assert place.workspace.is_quick("README.md", 1 << 18)
    assert not place.workspace.is_quick("READNE.md", 1 << 18)


def test_a_link_that_leads_nowhere_is_told_as_that(place):
    (place.root / "dangling").symlink_to(place.root / "src" / "gone.py")
    refused = place.refusal("dangling")
    assert refused.code == "not_found"
    assert refused.message == f"'dangling' is a link to '{place.root}/src/gone.py', which does not exist"
    (place.root / "outward").symlink_to(place.root.parent / "nowhere")
    assert place.refusal("outward").code == "path_outside_roots"


def test_what_only_another_root_has_is_proposed(place, tmp_path):
    other = tmp_path / "second root"
    other.mkdir()
    (other / "only-here.txt").write_bytes(b"x")
    (other / "secret").mkdir()
    (other / "secret" / "key").write_bytes(b"x")
    workspace = Workspace([place.root, other], closed=[other / "secret"])
    with pytest.raises(BursarError) as refused:
        workspace.open("only-here.txt")
    assert (refused.value.code, refused.value.fix) == ("not_found", f"Did you mean '{other}/only-here.txt'")
    for path in ("secret/key", "nowhere.txt"):
        with pytest.raises(BursarError) as refused:
            workspace.open(path)
        assert str(other) not in refused.value.fix


def test_a_file_that_may_not_be_opened_leads_nowhere(tmp_path: Path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.zip").touch()
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "kept").touch()
    workspace = Workspace([tmp_path], closed=[tmp_path / "store"])
    assert workspace.holder(f"{tmp_path}/root/a.zip/in/it") == (f"{tmp_path}/root/a.zip", "in/it")
    for path in ("store/kept/", "store/kept/in", "store/none/", "root/none/in"):
        assert workspace.holder(f"{tmp_path}/{path}") is None


def test_a_path_of_many_steps_and_marks_is_looked_through_at_once(tmp_path: Path):
    """Read anew at each step, it would take minutes: marks are put into order in time by their square."""
    workspace = Workspace([tmp_path])
    for path in ("a" + "\u0301\u0316" * 1000 + "/x" * 1000, "/x" * 2_000_000):
        assert workspace.holder(path) is None
