"""A file becomes an artifact once, in UTF-8, and any part of it can be asked for."""

import os
import sys
import time
from pathlib import Path

import anyio
import pytest
from bursar.errors import BursarError
from bursar.server.config import Settings
from bursar.tools import read_file as module
from bursar.tools.base import Reading
from bursar.tools.read_file import ReadFile
from tool_place import Place

linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux")

READ = ReadFile(Settings.copy_bytes)
BIG = b"".join(b"2026-01-01 12:00:00 line %d of the log\n" % number for number in range(1, 30_001))


def _old(path: Path) -> Path:
    os.utime(path, ns=(10**18 + 123_456, 10**18 + 123_456))
    return path


def page_text(outcome: object) -> str:
    assert isinstance(outcome, Reading)
    return "".join(piece.text for piece in outcome.page.pieces)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x00\xff\x01 binary", BIG, "né\r\nb\r\n".encode()])
def test_the_artifact_has_exactly_the_bytes_of_the_file(place: Place, content: bytes):
    path = place.write("file.dat", content)
    outcome, artifact = place.done(READ, path="file.dat")
    assert artifact.read(0, len(content) + 10) == content
    assert outcome.output.source.path == str(path.resolve())
    assert artifact.path != str(path)


def test_an_unchanged_file_is_stored_once(place: Place):
    _old(place.write("big.log", BIG))
    time.sleep(2 * module.FINE_TICK_S)
    _, first = place.done(READ, path="big.log")
    _, second = place.done(READ, path=str(place.root / "big.log"))
    assert first.id == second.id
    assert len(place.session.artifacts()) == 1


def test_a_changed_file_is_read_again(place: Place):
    _old(place.write("f.txt", b"one"))
    _, first = place.done(READ, path="f.txt")
    place.write("f.txt", b"two")
    _, second = place.done(READ, path="f.txt")
    assert (first.read(0, 9), second.read(0, 9)) == (b"one", b"two")


def test_a_file_that_changes_within_the_clocks_tick_is_never_taken_for_the_old_one(place: Place):
    for number in range(50):
        path = place.write("f.txt", b"%04d" % number)
        os.utime(path, (1_700_000_000, 1_700_000_000 + 4_000_000_000))
        _, artifact = place.done(READ, path="f.txt")
        assert artifact.read(0, 9) == b"%04d" % number


@pytest.mark.parametrize(
    ("lines", "first", "last"),
    [("4000-4003", 4000, 4003), ("29999-", 29_999, 30_000), ("-2", 29_999, 30_000), ("17", 17, 17)],
)
def test_lines_that_are_asked_for_are_shown(place: Place, lines: str, first: int, last: int):
    place.write("big.log", BIG)
    expected = b"".join(BIG.splitlines(keepends=True)[first - 1 : last]).decode()
    outcome = place.call(READ, path="big.log", lines=lines)
    assert page_text(outcome) == expected
    assert isinstance(outcome, Reading)
    assert outcome.facts["lines"] == f"{first}-{last} of 30000"
    assert outcome.artifact is not None


def test_a_line_number_may_be_given_as_a_number(place: Place):
    place.write("big.log", BIG)
    assert page_text(place.call(READ, path="big.log", lines=3)) == BIG.decode().splitlines(keepends=True)[2]


def test_a_file_is_searched_in_one_call(place: Place):
    place.write("big.log", BIG)
    found = place.call(READ, path="big.log", grep="line 2000[0-4]", lines="20001-", context="1-0")
    assert isinstance(found, Reading)
    assert found.facts == {"matches": 4}
    assert page_text(found).splitlines()[:2] == [
        f"20000-{BIG.decode().splitlines()[19_999]}",
        f"20001:{BIG.decode().splitlines()[20_000]}",
    ]
    assert found.artifact is not None
    assert found.artifact.did == "read big.log"
    counted = place.call(READ, path="big.log", grep="line", count=True)
    assert isinstance(counted, Reading)
    assert (counted.facts, page_text(counted)) == ({"matches": 30_000}, "")


def test_searches_of_an_unchanged_file_share_one_artifact(place: Place):
    _old(place.write("big.log", BIG))
    time.sleep(2 * module.FINE_TICK_S)
    for pattern in ("line 1$", "line 2$", "no such line"):
        place.call(READ, path="big.log", grep=pattern)
    place.call(READ, path="big.log", lines="-2")
    assert len(place.session.artifacts()) == 1


def test_a_file_written_just_now_is_searched_as_it_is_and_stored_once(place: Place):
    place.write("new.log", b"one\n")
    for _ in range(3):
        place.call(READ, path="new.log", grep="one")
    place.write("new.log", b"two\n")
    found = place.call(READ, path="new.log", grep="two")
    assert isinstance(found, Reading)
    assert found.facts["matches"] == 1
    assert len(place.session.artifacts()) == 2


def test_a_huge_file_is_searched_where_it_lies(place: Place):
    path = place.write("big.log", BIG)
    found = place.call(ReadFile(copy_bytes=100_000), path="big.log", grep="line 777 ")
    assert isinstance(found, Reading)
    assert found.facts["matches"] == 1
    assert found.artifact is not None
    assert found.artifact.path == str(path.resolve())


def test_what_is_found_in_a_foreign_encoding_is_said_with_it(place: Place):
    place.write("f.txt", "Ошибка сервера\nконец\n".encode("cp1251"))
    found = place.call(READ, path="f.txt", grep="сервер")
    assert isinstance(found, Reading)
    assert found.facts == {"encoding": "cp1251 (guessed), shown and stored as UTF-8", "matches": 1}


def test_bytes_that_are_asked_for_are_shown(place: Place):
    place.write("big.log", BIG)
    assert page_text(place.call(READ, path="big.log", bytes="100000-100009")) == BIG[100_000:100_010].decode()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"lines": "a-b"}, "bad_range"),
        ({"lines": "9-3"}, "bad_range"),
        ({"lines": "1-2", "bytes": "0-1"}, "bad_argument"),
        ({"grep": "x", "context": "some"}, "bad_argument"),
    ],
)
def test_a_range_that_is_none_is_refused_before_anything_is_stored(place: Place, arguments: dict[str, str], code: str):
    place.write("f.txt", b"x\n")
    with pytest.raises(BursarError) as refused:
        place.call(READ, path="f.txt", **arguments)
    assert refused.value.code == code
    assert place.session.artifacts() == []


def test_a_foreign_encoding_is_stored_as_utf8_and_said(place: Place):
    text = "在这个报告中,我们讨论了数据库的备份策略。\n" * 2000
    path = place.write("报告.txt", text.encode("gb18030"))
    outcome, artifact = place.done(READ, path="报告.txt")
    assert artifact.read(0, 1 << 20).decode() == text
    assert "gb18030" in str(outcome.facts["encoding"])
    assert path.read_bytes() == text.encode("gb18030")


@pytest.mark.parametrize("size", [100, 3_000_000])
def test_characters_across_blocks_survive_the_conversion(place: Place, size: int):
    text = ("x" + "错误日志文件" * (size // 6))[:size]
    place.write("f.txt", text.encode("utf-16"))
    _, artifact = place.done(READ, path="f.txt")
    assert artifact.read(0, 4 * size).decode() == text


def test_the_encoding_is_said_again_when_the_stored_copy_is_used(place: Place):
    _old(place.write("f.txt", "Ошибка сервера\n".encode("cp1251")))
    first, _ = place.done(READ, path="f.txt")
    second, _ = place.done(READ, path="f.txt")
    assert first.facts == second.facts
    assert second.facts["encoding"] == "cp1251 (guessed), shown and stored as UTF-8"


def test_line_ends_of_windows_are_said_and_kept(place: Place):
    place.write("f.txt", b"a\r\nb\r\n")
    outcome, artifact = place.done(READ, path="f.txt")
    assert outcome.facts["newlines"] == "CRLF"
    assert artifact.read(0, 99) == b"a\r\nb\r\n"


def test_a_huge_file_is_referred_to_and_not_copied(place: Place):
    path = place.write("big.log", BIG)
    _, artifact = place.done(ReadFile(copy_bytes=100_000), path="big.log")
    assert artifact.path == str(path.resolve())
    assert artifact.read(10, 100) == BIG[10:110]
    assert (
        page_text(place.call(ReadFile(copy_bytes=100_000), path="big.log", lines="20000"))
        == "2026-01-01 12:00:00 line 20000 of the log\n"
    )
    assert len(place.session.artifacts()) == 1


def test_a_huge_file_is_not_read_through_to_tell_its_encoding(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "SCAN_BYTES", 200_000)
    place.write("big.log", BIG + "é".encode("latin-1"))
    read: list[int] = []
    read_at = module.OpenedFile.read

    def counted(self: module.OpenedFile, offset: int, length: int) -> bytes:
        read.append(offset)
        return read_at(self, offset, length)

    monkeypatch.setattr(module.encoding, "SCAN_BYTES", 50_000)
    monkeypatch.setattr(module.OpenedFile, "read", counted)
    place.done(ReadFile(copy_bytes=100_000), path="big.log")
    assert max(read) < 200_000


def test_a_huge_file_that_changed_is_not_served_as_the_old_one(place: Place):
    path = place.write("big.log", BIG)
    _, artifact = place.done(ReadFile(copy_bytes=100_000), path="big.log")
    with path.open("ab") as more:
        more.write(b"more\n")
    with pytest.raises(BursarError, match="source_changed"):
        artifact.read(0, 10)


def test_an_artifact_of_the_own_session_is_read_and_not_copied(place: Place):
    place.write("f.txt", b"content\n")
    _, artifact = place.done(READ, path="f.txt")
    _, again = place.done(READ, path=artifact.path)
    assert again.id == artifact.id
    assert page_text(place.call(READ, path=artifact.path, lines="1")) == "content\n"
    assert len(place.session.artifacts()) == 1


def test_an_artifact_of_another_session_does_not_exist(place: Place):
    place.write("f.txt", b"content\n")
    _, artifact = place.done(READ, path="f.txt")
    stranger = place.store.create("local:2")
    with pytest.raises(BursarError) as refused:
        place.call(READ, session=stranger, path=artifact.path)
    assert refused.value.code == "not_found"
    missing = artifact.path.replace("a1-", "a9-")
    with pytest.raises(BursarError) as invented:
        place.call(READ, session=stranger, path=missing)
    assert str(refused.value).replace("a1-", "a9-") == str(invented.value)


@linux
def test_a_file_that_tells_no_size_is_read_to_its_end(place: Place):
    place.root = Path("/sys/kernel")
    _, artifact = place.done(READ, path="uevent_seqnum")
    assert artifact.read(0, 1000).strip().isdigit()


def test_what_cannot_be_read_leaves_nothing_behind(place: Place):
    (place.root / "src").mkdir()
    for path in ("nope.txt", "src", "a\0b", "/etc/passwd", ""):
        with pytest.raises(BursarError):
            place.call(READ, path=path)
    assert place.session.artifacts() == []


def test_a_cancelled_read_ends_its_thread(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 1000)
    place.write("big.log", BIG)
    blocks: list[int] = []
    feed = module.ToUtf8.feed

    def slow_feed(self: module.ToUtf8, block: bytes, *, last: bool = False) -> bytes:
        blocks.append(len(block))
        return feed(self, block, last=last)

    monkeypatch.setattr(module.ToUtf8, "feed", slow_feed)

    async def cancelled() -> int:
        async with anyio.create_task_group() as group:
            group.start_soon(place.calling, READ, place.session, {"path": "big.log"})
            while len(blocks) < 3:  # noqa: ASYNC110 - a thread counts
                await anyio.sleep(0.0005)
            group.cancel_scope.cancel()
        return len(blocks)

    seen = anyio.run(cancelled)
    assert seen < len(BIG) / 1000
    assert len(blocks) == seen


def test_the_description_and_schema_are_short(place: Place):
    from bursar.budget import tokens
    from bursar.budget.json_size import dumps
    from bursar.server.schema import described

    assert tokens.count(dumps(described(READ))) <= 200


@linux
def test_a_file_that_was_overwritten_and_given_its_old_time_is_read_again(place: Place):
    _old(place.write("stale.txt", b"one"))
    time.sleep(2 * module.FINE_TICK_S)
    _, first = place.done(READ, path="stale.txt")
    _, same = place.done(READ, path="stale.txt")
    _old(place.write("stale.txt", b"two"))
    _, second = place.done(READ, path="stale.txt")
    assert (first.id, same.id) == ("a1", "a1")
    assert second.read(0, 9) == b"two"


@linux
def test_a_name_that_is_written_as_it_is_shown_is_told_as_it_is_shown(place: Place):
    Path(os.fsdecode(os.fsencode(place.root) + b"/caf\xe9.txt")).write_bytes(b"x")
    assert READ.did(ReadFile.Args(path=r"caf\xe9.txt")) == r"read caf\xe9.txt"
    place.done(READ, path=r"caf\xe9.txt")
    with pytest.raises(BursarError) as refused:
        place.call(READ, path=r"th\xe9.txt")
    assert r"'th\xe9.txt'" in refused.value.message


def test_one_broken_character_is_counted_as_one(place: Place):
    place.write("f.txt", b"# coding: gb18030\n" + ("错误" * 300).encode("gb18030") + b"\xff\n")
    outcome, _ = place.done(READ, path="f.txt")
    assert outcome.facts["replaced"] == "1 broken character, by U+FFFD"


@linux
def test_an_old_time_of_a_file_that_was_changed_just_now_is_not_believed(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "FINE_TICK_S", 3600)
    monkeypatch.setattr(module, "COARSE_TICK_S", 3600)
    _old(place.write("f.txt", b"one"))
    _, first = place.done(READ, path="f.txt")
    monkeypatch.setattr(module, "_copy", lambda file, writer, found, beat: writer.write(b"two") or 0)
    _, second = place.done(READ, path="f.txt")
    assert (first.read(0, 9), second.read(0, 9)) == (b"one", b"two")
