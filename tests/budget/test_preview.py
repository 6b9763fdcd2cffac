import json
import struct
import zipfile
import zlib
from io import BytesIO

import pytest
from bursar.budget.cut import Allowance
from bursar.budget.previews.preview import CaptureFacts, ContentView, Hint
from held import ROOMY, Held, known, parts, preview, seen, within
from hypothesis import given
from hypothesis import strategies as st

NAMES = [
    "",
    "a.json",
    "a.jsonl",
    "a.csv",
    "a.tsv",
    "a.py",
    "a.js",
    "a.md",
    "a.log",
    "a.txt",
    "a.diff",
    "a.html",
    "a.yml",
]

_NASTY = st.sampled_from(
    [
        '"',
        "\\",
        "\x00",
        "\x1b[31m",
        "\r",
        "\n",
        "\u202e",
        "😀",
        "👨‍👩‍👧",
        "e\u0301",
        "العربية",
        "中文",
        "\ufeff",
        "\u2028",
        "{",
        "[",
        ",",
        "\t",
        "ERROR ",
        "def x(",
        "# h\n",
        "x" * 700,
        "\n" * 40,
        " ",
        '{"a":1}\n',
        "a,b,c\n",
    ]
)
_TEXTS = st.lists(st.one_of(_NASTY, st.text(max_size=20)), max_size=60).map(
    lambda pieces: "".join(pieces).encode("utf-8", "replace")
)
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30)),
    lambda inner: st.one_of(st.lists(inner, max_size=8), st.dictionaries(st.text(max_size=12), inner, max_size=8)),
    max_leaves=60,
)
_DOCUMENTS = st.one_of(
    _JSON.map(lambda value: json.dumps(value).encode()),
    st.lists(_JSON, min_size=1, max_size=6).map(lambda rows: "\n".join(map(json.dumps, rows)).encode()),
)
_REPEATED = st.tuples(st.one_of(_TEXTS, st.binary(max_size=200), _DOCUMENTS), st.integers(1, 40)).map(
    lambda given: given[0] * given[1]
)
_ALLOWANCES = st.builds(Allowance, st.integers(0, 1500), st.integers(0, 7000))


@given(st.one_of(_TEXTS, st.binary(max_size=400), _DOCUMENTS, _REPEATED), st.sampled_from(NAMES), _ALLOWANCES)
def test_no_preview_exceeds_its_allowance_whatever_the_content(content: bytes, name: str, allowance: Allowance) -> None:
    found = preview(Held(content), CaptureFacts(), Hint(name=name), allowance)
    assert found.value in ({}, "") or within(found.value, allowance)
    if found.is_complete and found.value != {}:
        assert isinstance(found.value, dict) or found.value == content.decode()
    assert found.is_complete or found.left_out


@given(st.one_of(_TEXTS, st.binary(max_size=400)), _ALLOWANCES)
def test_a_text_is_called_complete_only_when_every_byte_of_it_is_shown(content: bytes, allowance: Allowance) -> None:
    found = preview(Held(content), CaptureFacts(), Hint(), allowance)
    if isinstance(found.value, str) and found.is_complete:
        assert found.value.encode() == content


@given(st.binary(max_size=300), st.lists(_ALLOWANCES, min_size=1, max_size=4))
def test_a_look_can_be_drawn_at_any_size_in_any_order(content: bytes, allowances: list[Allowance]) -> None:
    look = ContentView(Held(content * 30), CaptureFacts(), Hint())
    for allowance in allowances:
        found = look.part(allowance)
        assert found.value == {} or within(found.value, allowance)


def test_what_fits_is_shown_whole() -> None:
    text = 'line one\nline two: "quoted" 中文 😀\n'
    found = seen(text)
    assert (found.value, found.is_complete, found.left_out, dict(found.suggest)) == (text, True, "", {})


def test_an_empty_content_is_complete_and_says_so() -> None:
    found = seen(b"")
    assert (found.value, found.is_complete) == ("", True)


def test_invalid_bytes_are_never_passed_off_as_the_content() -> None:
    found = seen(b"caf\xe9 au lait\n" * 3)
    assert not found.is_complete
    assert found.value == {
        "not_utf8": "3 invalid sequences, shown as U+FFFD",
        "text": "caf\ufffd au lait\n" * 3,
    }
    assert "not UTF-8" in found.left_out


def test_invalid_bytes_in_a_large_text_are_counted_in_the_sample() -> None:
    value = parts(b"caf\xe9 au lait, une fois\n" * 9000)
    assert value["not_utf8"].endswith("in the first 64 KiB, shown as U+FFFD")


def test_utf16_is_shown_as_the_text_it_is() -> None:
    small = seen("wörter in utf-16\r\n".encode("utf-16"))
    assert small.is_complete
    assert small.value == {"encoding": "utf-16-le", "text": "wörter in utf-16\r\n"}
    value = parts("".join(f"wörter in utf-16, zum {i}. mal\r\n" for i in range(4000)).encode("utf-16"))
    assert value["encoding"] == "utf-16-le"
    assert value["head"].startswith("wörter in utf-16")


def test_the_start_of_a_large_content_is_all_that_is_read_of_it() -> None:
    content = Held("a line of a log that goes on and on\n" * 300_000)
    preview(content, known(b"x\n"), Hint(), ROOMY)
    assert content.read_bytes < 1 << 20


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(99))) + chunk(b"IEND", b"")
    )


def test_an_image_tells_its_size() -> None:
    assert parts(png(640, 480)) == {"format": "PNG image", "pixels": "640x480"}


def test_an_archive_tells_what_is_in_it() -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for place in range(300):
            archive.writestr(f"folder/file_{place}.txt", "x" * place)
    value = parts(packed.getvalue())
    assert value["members"] == 300
    assert value["entries"][7] == "folder/file_7.txt 7"
    assert value["entries"][-1].startswith("… ")


def test_a_binary_shows_what_is_readable_in_it() -> None:
    value = parts(b"\x7fELF" + bytes(500) + b"usage: frobnicate FILE" + bytes(500))
    assert value["strings"] == ["usage: frobnicate FILE"]


def test_a_broken_header_is_no_failure() -> None:
    for start in (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"PK\x03\x04", b"\x1f\x8b", b"SQLite format 3\x00"):
        assert "format" in parts(start + b"\x00" * 5)


@pytest.mark.parametrize("allowance", [Allowance(0, 0), Allowance(2, 9), Allowance(20, 80), Allowance(5000, 10)])
def test_the_smallest_allowance_still_tells_what_was_left_out(allowance: Allowance) -> None:
    found = seen("some line of text\n" * 5000, allowance=allowance)
    assert found.left_out
    assert found.value == {} or within(found.value, allowance)


@pytest.mark.parametrize(
    "content", [b"abc\0def\n", b"./a.txt\0./b.txt\0./\xc3\xa9\0", b"/bin/sh\0-c\0echo\0", b"name\0" * 100]
)
def test_items_that_nul_separates_are_shown_whole(content: bytes) -> None:
    found = seen(content)
    assert (found.value, found.is_complete) == (content.decode(), True)


def test_a_binary_of_which_every_byte_is_shown_leaves_nothing_out() -> None:
    found = seen(b"\0\xff\x01\x02")
    assert (found.is_complete, found.left_out, dict(found.suggest)) == (True, "", {})
    assert found.value == {"format": "unknown binary", "hex": "00ff0102"}


def test_of_what_is_no_text_no_reading_is_suggested() -> None:
    for content in (bytes(100_000), b"\x7fELF" + bytes(56)):
        found = seen(content)
        assert (found.left_out, dict(found.suggest)) == (f"{len(content):,} bytes not shown", {})


def test_of_text_with_a_bad_byte_the_bytes_about_it_are_suggested() -> None:
    assert dict(seen(b"log line\n" * 60 + b"\xff" + b"log line\n" * 60).suggest) == {"bytes": "508-571"}


def test_source_code_without_a_name_has_no_errors() -> None:
    code = "import os\n\n\n" + "def fail():\n    raise ValueError('fatal error: killed')\n\n\n" * 400
    value = parts(code)
    assert "notable" not in value
    assert "notable_total" not in value
    assert "grep" not in seen(code).suggest


def test_words_in_a_listing_or_a_patch_are_no_errors() -> None:
    listing = "".join(f"-rw-r--r-- 1 me me {size} Nov  5 2025 error_{size}.py\n" for size in range(900))
    patch = "diff -u a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n" + "-fatal error\n+ERROR: failed\n" * 900
    for text in (listing, patch):
        assert "notable" not in parts(text)
