import base64
import errno
import os

import pytest
from bursar.artifacts import Limits, Store, index, reader, spans, utf8
from bursar.errors import BursarError
from hypothesis import given
from hypothesis import strategies as st
from lines import count_lines

any_bytes = st.one_of(
    st.binary(max_size=400),
    st.text(max_size=200).map(str.encode),
    st.lists(
        st.sampled_from([b"\n", b"\r\n", b"a", "é".encode(), "日本".encode(), "🙂".encode(), b"\xff", b"\0"]),
        max_size=120,
    ).map(b"".join),
)


def exact(excerpt):
    """The bytes that a page shows, from nothing but the page."""
    text = "".join(piece.text for piece in excerpt.page.pieces)
    return base64.b64decode(text) if excerpt.encoding else text.encode("utf-8", "surrogateescape")


def follow(artifact, excerpt):
    """Reads on as each page says, to the end."""
    data = exact(excerpt)
    while (after := excerpt.page.after) is not None:
        excerpt = resumed(artifact, after)
        data += exact(excerpt)
    return data


def resumed(artifact, resume):
    ((unit, text),) = resume.items()
    span = spans.parse(text, unit)
    read = reader.lines if unit == "lines" else reader.some_bytes
    return read(artifact, span.first, span.last)


@pytest.fixture
def small_pages(monkeypatch):
    monkeypatch.setattr(reader, "PAGE_BYTES", 32)
    monkeypatch.setattr(reader, "_CHUNK_BYTES", 7)
    monkeypatch.setattr(reader, "_TEXT_MIN_BYTES", 12)
    monkeypatch.setattr(reader, "_RAW_BYTES", 6)
    monkeypatch.setattr(index, "BLOCK", 16)


@given(data=any_bytes)
def test_pages_of_lines_concatenate_to_exactly_the_bytes(small_pages, stored, data):
    artifact = stored(data)
    assert follow(artifact, reader.lines(artifact, 1, None)) == data
    assert follow(artifact, reader.beginning(artifact)) == data


@given(data=any_bytes)
def test_pages_of_bytes_concatenate_to_exactly_the_bytes(small_pages, stored, data):
    artifact = stored(data)
    assert follow(artifact, reader.some_bytes(artifact, 0, None)) == data


@given(data=any_bytes, size=st.integers(1, 60))
def test_ranges_of_bytes_of_any_size_concatenate_to_exactly_the_bytes(small_pages, stored, data, size):
    artifact = stored(data)
    ranges = range(0, len(data), size)
    assert b"".join(follow(artifact, reader.some_bytes(artifact, at, at + size - 1)) for at in ranges) == data


@given(data=any_bytes, size=st.integers(1, 9))
def test_ranges_of_lines_of_any_size_concatenate_to_exactly_the_bytes(small_pages, stored, data, size):
    artifact = stored(data)
    ranges = range(1, artifact.lines + 1, size)
    assert b"".join(follow(artifact, reader.lines(artifact, at, at + size - 1)) for at in ranges) == data


@given(data=any_bytes)
def test_reading_can_go_on_from_every_piece(small_pages, stored, data):
    artifact = stored(data)
    for excerpt in (reader.lines(artifact, 1, None), reader.some_bytes(artifact, 0, None)):
        before = b""
        for piece in excerpt.page.pieces:
            if piece.offset is not None:
                assert piece.offset == len(before)
            assert before + follow(artifact, resumed(artifact, piece.resume)) == data
            before += (
                base64.b64decode(piece.text) if excerpt.encoding else piece.text.encode("utf-8", "surrogateescape")
            )


@given(text=st.text(st.sampled_from("aé日🙂\n"), max_size=150), size=st.integers(1, 40))
def test_a_page_of_bytes_never_splits_a_character(small_pages, stored, text, size):
    data = text.encode()
    artifact = stored(data)
    for at in range(0, len(data), size):
        excerpt = reader.some_bytes(artifact, at, at + size - 1)
        assert excerpt.encoding == ""
        exact(excerpt).decode()


@given(data=any_bytes)
def test_a_line_is_found_where_splitting_finds_it(small_pages, stored, data):
    artifact = stored(data)
    lines = data.split(b"\n")
    lines = [line + b"\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
    assert artifact.lines == len(lines)
    start = 0
    for number, line in enumerate(lines, start=1):
        assert artifact.index().start_of(artifact, number) == start
        assert artifact.index().line_at(artifact, start + len(line) - 1) == number
        start += len(line)
    assert artifact.index().start_of(artifact, len(lines) + 1) is None


@given(data=any_bytes, count=st.integers(1, 30))
def test_the_tail_is_the_end(small_pages, stored, data, count):
    artifact = stored(data)
    lines = data.split(b"\n")
    lines = [line + b"\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
    assert follow(artifact, reader.tail(artifact, count)) == b"".join(lines[-count:])


@given(data=any_bytes, at=st.integers(0, 400))
def test_a_boundary_is_the_same_seen_from_both_sides(stored, data, at):
    artifact = stored(data)
    found = utf8.boundary(artifact, at)
    assert found == utf8.boundary_in(data, at)
    assert min(at, len(data)) <= found <= at + 3
    assert utf8.boundary(artifact, found) == found


def test_a_range_of_lines_shows_these_and_their_place(stored):
    artifact = stored(b"".join(b"line %d\n" % n for n in range(1, 12_001)))
    excerpt = reader.lines(artifact, 4000, 4002)
    assert exact(excerpt) == b"line 4000\nline 4001\nline 4002\n"
    assert excerpt.shows == "4000-4002 of 12000"
    assert excerpt.page.after is None
    assert [piece.resume for piece in excerpt.page.pieces][1:] == [{"lines": "4001-4002"}, {"lines": "4002-4002"}]


def test_a_range_that_ends_beyond_the_end_is_cut_off_there(stored):
    artifact = stored(b"1\n2\n3\n")
    assert reader.lines(artifact, 2, 99).shows == "2-3 of 3"
    assert exact(reader.lines(artifact, 2, 99)) == b"2\n3\n"
    assert exact(reader.some_bytes(artifact, 4, 99)) == b"3\n"


@pytest.mark.parametrize("read", [lambda a: reader.lines(a, 4, None), lambda a: reader.some_bytes(a, 6, 9)])
def test_a_range_that_starts_beyond_the_end_is_refused_with_the_count(stored, read):
    artifact = stored(b"1\n2\n3\n")
    with pytest.raises(BursarError) as caught:
        read(artifact)
    assert caught.value.code == "beyond_the_end"
    assert "there are 3 lines" in caught.value.message or "there are 6 bytes" in caught.value.message


def test_every_byte_of_a_line_of_20_mb_is_reachable(stored):
    data = b"".join(b"%d," % n for n in range(2_800_000))
    artifact = stored(data)
    assert len(data) > 20_000_000
    page = reader.lines(artifact, 1, None).page
    assert page.after == {"bytes": f"65536-{len(data) - 1}"}
    assert exact(reader.some_bytes(artifact, 12_345_678, 12_345_777)) == data[12_345_678:12_345_778]
    assert follow(artifact, reader.some_bytes(artifact, 19_000_000, None)) == data[19_000_000:]
    assert exact(reader.tail(artifact, 1)) == data[-4500:]


def test_a_long_line_in_a_range_is_left_for_its_own_page_and_the_range_keeps_its_end(stored):
    data = b"short\n" + b"x" * 200_000 + b"\nafter\nlast\n"
    artifact = stored(data)
    first = reader.lines(artifact, 1, 3)
    assert exact(first) == b"short\n"
    assert first.page.after == {"lines": "2-3"}
    assert follow(artifact, first) == data[: -len(b"last\n")]


def test_line_breaks_of_windows_are_kept(stored):
    assert exact(reader.lines(stored(b"a\r\nb\r\n"), 2, 2)) == b"b\r\n"


def test_bytes_that_are_not_utf8_are_counted_on_pages_of_lines(stored):
    excerpt = reader.lines(stored(b"good\nb\xffd \xc3\n"), 1, None)
    assert excerpt.invalid == 2
    assert excerpt.encoding == ""


def test_pages_of_bytes_that_are_not_utf8_are_base64(stored):
    data = bytes(range(256)) * 10
    excerpt = reader.some_bytes(stored(data), 0, None)
    assert excerpt.encoding == "base64"
    assert base64.b64decode("".join(piece.text for piece in excerpt.page.pieces)) == data


def test_text_before_a_stray_byte_is_shown_as_text(stored):
    artifact = stored(b"text " * 5000 + b"\xff" + b"more")
    excerpt = reader.some_bytes(artifact, 0, None)
    assert exact(excerpt) == b"text " * 5000
    assert excerpt.encoding == ""
    assert follow(artifact, excerpt) == artifact.read(0, artifact.size)


def test_a_tail_says_what_lies_before_it(stored):
    artifact = stored(b"".join(b"line number %d\n" % n for n in range(1, 10_001)))
    excerpt = reader.tail(artifact, 1000)
    shown = exact(excerpt)
    assert shown.endswith(b"line number 10000\n")
    first = 10_001 - shown.count(b"\n")
    assert excerpt.shows == f"{first}-10000 of 10000"
    assert excerpt.earlier == {"lines": f"9001-{first - 1}"}
    assert reader.tail(artifact, 2).earlier is None


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("4000-4050", (4000, 4050)),
        ("4000-", (4000, None)),
        ("-50", (None, 50)),
        ("4000", (4000, 4000)),
        (" 4000 – 4050 ", (4000, 4050)),
    ],
)
def test_ranges_are_understood(text, span):
    parsed = spans.parse(text, "lines")
    assert (parsed.first, parsed.last) == span


@pytest.mark.parametrize("text", ["", "-", "a", "1-2-3", "0-5", "5-4", "-0", "1.5", "٣", "1-2x", "9" * 30, "--5"])
def test_what_is_no_range_is_refused_with_an_example(text):
    with pytest.raises(BursarError) as caught:
        spans.parse(text, "lines")
    assert caught.value.code == "bad_range"
    assert "4000-4050" in caught.value.fix


def test_a_comma_is_no_thousands_separator_but_perhaps_a_range(stored):
    with pytest.raises(BursarError) as caught:
        spans.parse("1,5", "lines")
    assert caught.value.code == "bad_range"
    assert '"1-5"' in caught.value.fix
    with pytest.raises(BursarError, match="bad_range"):
        spans.parse("1,000-2,000", "lines")


@pytest.mark.parametrize(
    "read",
    [
        lambda artifact: reader.lines(artifact, 1, 5),
        lambda artifact: reader.lines(artifact, 1, None),
        lambda artifact: reader.some_bytes(artifact, 0, 10),
        lambda artifact: reader.tail(artifact, 5),
        reader.beginning,
    ],
)
def test_any_range_of_what_is_empty_is_none(stored, read):
    excerpt = read(stored(b""))
    assert excerpt.shows == "none: it is empty"
    assert exact(excerpt) == b""


def test_a_range_beyond_the_only_line_is_told_in_the_singular(stored):
    with pytest.raises(BursarError) as caught:
        reader.lines(stored(b"one\n"), 7, 9)
    assert caught.value.message == "line 7 is beyond the end: there is 1 line"


def test_what_is_new_is_shown_from_where_the_reader_was(stored):
    data = b"".join(b"line number %d\n" % n for n in range(1, 2001))
    artifact = stored(data)
    assert exact(reader.since(artifact, len(data) - 30)) == data[-30:]
    late = reader.since(artifact, 160)
    first = len(data) - len(exact(late))
    assert exact(late).startswith(b"line number ")
    assert late.earlier == {"bytes": f"160-{first - 1}"}
    assert exact(reader.since(artifact, len(data))) == b""
    assert reader.since(artifact, len(data)).shows == f"none new of {len(data)}"


def test_lines_of_a_live_artifact_are_found_as_it_grows(session):
    writer = session.writer(tool="t", did="d")
    shared = writer.descriptor()
    os.write(shared, b"x" * 1_500_000 + b"\nsecond\n")
    assert exact(reader.lines(session.open("a1"), 2, None)) == b"second\n"
    os.write(shared, b"third\n" * 300_000)
    assert exact(reader.lines(session.open("a1"), 300_002, None)) == b"third\n"
    assert exact(reader.tail(session.open("a1"), 2)) == b"third\nthird\n"
    writer.commit()
    assert exact(reader.lines(session.open("a1"), 300_002, None)) == b"third\n"


def test_an_index_is_kept_on_disk_and_a_damaged_one_made_anew(store, session, stored):
    data = b"".join(b"line %d\n" % n for n in range(400_000))
    stored(data)
    sidecar = session.directory / "a1.idx"
    assert sidecar.stat().st_size == 8 * (4 + len(data) // index.BLOCK)
    for damage in (
        lambda: None,
        lambda: sidecar.write_bytes(b"short"),
        lambda: sidecar.write_bytes(b"\1" * 80),
        sidecar.unlink,
    ):
        damage()
        again = Store(store.root, Limits()).attach(session.handle, "local:me")
        assert exact(reader.lines(again.open("a1"), 399_999, 399_999)) == b"line 399998\n"


def test_only_as_much_is_indexed_as_a_page_needs(session, tmp_path, opener):
    file = tmp_path / "big"
    file.write_bytes(b"0123456789\n" * 1_000_000)
    artifact = session.refer(str(file), file.stat(), tool="t", did="d", opener=opener)
    assert exact(reader.lines(artifact, 5, 5)) == b"0123456789\n"
    assert len(artifact.index().counts) <= 1
    assert exact(reader.tail(artifact, 1)) == b"0123456789\n"
    assert len(artifact.index().counts) <= 1
    seen = []
    assert count_lines(artifact, lambda done, total: seen.append((done, total))) == 1_000_000
    assert all(0 <= done <= total == artifact.size for done, total in seen)


def test_every_line_of_line_breaks_only_is_found(stored):
    artifact = stored(b"\n" * 3_000_000)
    for line in range(1, 3_000_000, 100_000):
        assert artifact.index().start_of(artifact, line) == line - 1
    assert exact(reader.lines(artifact, 2_999_990, None)) == b"\n" * 11


def test_the_end_of_a_range_is_not_looked_for_where_no_page_reaches(session, tmp_path, opener):
    file = tmp_path / "big"
    with file.open("wb") as sparse:
        sparse.write(b"one\ntwo\n")
        sparse.truncate(300 * index.BLOCK)
    artifact = session.refer(str(file), file.stat(), tool="t", did="d", opener=opener)
    excerpt = reader.lines(artifact, 2, 3)
    assert exact(excerpt) == b"two\n"
    assert excerpt.page.after == {"lines": "3-3"}
    assert len(artifact.index().counts) < 100


def test_two_readers_at_a_time_make_one_index(session, tmp_path, opener):
    from concurrent.futures import ThreadPoolExecutor

    file = tmp_path / "big"
    file.write_bytes(b"0123456789\n" * 2_000_000)
    artifact = session.refer(str(file), file.stat(), tool="t", did="d", opener=opener)
    with ThreadPoolExecutor(4) as pool:
        starts = list(
            pool.map(lambda line: reader.lines(artifact, line, line).page.pieces[0].offset, range(10**6, 10**6 + 8))
        )
    assert starts == [11 * (line - 1) for line in range(10**6, 10**6 + 8)]
    assert count_lines(artifact) == 2_000_000


@pytest.mark.skipif(os.name == "nt", reason="no times before 1970 there")
def test_a_file_from_before_1970_is_indexed_like_any_other(store, session, tmp_path, opener):
    file = tmp_path / "old"
    file.write_bytes(b"0123456789\n" * 300_000)
    os.utime(file, (-86_400, -86_400))
    artifact = session.refer(str(file), file.stat(), tool="t", did="d", opener=opener)
    assert exact(reader.lines(artifact, 300_000, None)) == b"0123456789\n"
    again = store.attach(session.handle, "local:me").open(artifact.id, opener)
    assert len(again.index().counts) == artifact.size >> 20


@pytest.mark.skipif(os.name == "nt", reason="fails a call of POSIX")
def test_an_index_that_could_not_be_kept_is_kept_by_the_next_reader(session, tmp_path, opener, monkeypatch):
    file = tmp_path / "big"
    file.write_bytes(b"0123456789\n" * 300_000)
    artifact = session.refer(str(file), file.stat(), tool="t", did="d", opener=opener)

    def full(*args, **options):
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert count_lines(artifact) == 300_000
    assert not (session.directory / "a1.idx").exists()
    assert count_lines(artifact) == 300_000
    assert (session.directory / "a1.idx").exists()
