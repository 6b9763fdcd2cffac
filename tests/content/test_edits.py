"""Every edit is made, or none, and whatever is not edited stays as it was to the last byte."""

from itertools import pairwise

import pytest
from bursar.content.edits import Edit, Text
from bursar.errors import BursarError
from hypothesis import example, given
from hypothesis import strategies as st

MARKS = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-8": b"\xef\xbb\xbf"}
LETTERS = st.text(st.sampled_from("ab \n中é"), min_size=1, max_size=4)


def code(text: str, **edit) -> str:
    with pytest.raises(BursarError) as refused:
        Text(text.encode()).edited([Edit(**edit)] if edit else [])
    return refused.value.code


def made(text: str, edits: list[Edit]) -> str | None:
    """Edit a text slowly and plainly; None if it is to be refused."""
    crlf = "\r\n" in text
    spans = []
    for edit in edits:
        old, new = ((t.replace("\n", "\r\n") if crlf else t) for t in (edit.old, edit.new))
        places = [at for at in range(len(text)) if text.startswith(old, at)]
        if edit.everywhere:
            apart: list[int] = []
            for at in places:
                if not apart or at >= apart[-1] + len(old):
                    apart.append(at)
            places = apart
        elif len(places) != 1:
            return None
        if not places:
            return None
        spans += [(at, at + len(old), new) for at in places]
    spans.sort()
    if any(one[1] > other[0] for one, other in pairwise(spans)):
        return None
    if all(text[start:end] == new for start, end, new in spans):
        return None
    for start, end, new in reversed(spans):
        text = text[:start] + new + text[end:]
    return text


@given(
    text=st.text(st.sampled_from("ab \n中é"), max_size=30),
    edits=st.lists(st.builds(Edit, LETTERS, st.one_of(st.just(""), LETTERS), st.booleans()), min_size=1, max_size=3),
    codec=st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]),
    is_crlf=st.booleans(),
    has_mark=st.booleans(),
)
@example(text="ab", edits=[Edit("a", "b"), Edit("b", "a")], codec="utf-8", is_crlf=False, has_mark=False)
@example(text="aaa", edits=[Edit("aa", "b", everywhere=True)], codec="utf-8", is_crlf=False, has_mark=False)
def test_what_is_edited_is_what_a_plain_way_makes(text, edits, codec, is_crlf, has_mark):
    text = text.replace("\n", "\r\n") if is_crlf else text
    mark = MARKS[codec] if has_mark or codec != "utf-8" else b""
    wanted = made(text, edits)
    held = Text(mark + text.encode(codec))
    try:
        data, hunks = held.edited(edits)
    except BursarError:
        assert wanted is None
        return
    assert wanted is not None
    assert data == mark + wanted.encode(codec)
    assert patched(held.text, hunks) == wanted


def patched(text: str, hunks) -> str:
    """Apply hunks as a reader of them would."""
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    for hunk in reversed(hunks):
        assert lines[hunk.first - 1 : hunk.first - 1 + len(hunk.gone)] == list(hunk.gone)
        lines[hunk.first - 1 : hunk.first - 1 + len(hunk.gone)] = hunk.come
    shift = 0
    for hunk in hunks:
        assert hunk.now_first == hunk.first + shift
        shift += len(hunk.come) - len(hunk.gone)
    return "".join(lines)


@given(data=st.binary(max_size=400), new=st.sampled_from(["", "x", "中", "\r\n"]))
def test_a_file_of_any_bytes_is_refused_or_keeps_every_other_byte(data, new):
    data = b"begin [here] end " + data
    try:
        text = Text(data)
        edited, _ = text.edited([Edit("[here]", new)])
    except BursarError:
        return
    written = new.encode(text.encoding.codec or "utf-8")
    assert edited == data.replace(b"[here]", written, 1)


@pytest.mark.parametrize("codec", ["gb18030", "shift_jis", "euc-kr", "big5", "koi8-r", "cp1252"])
def test_old_encodings_stay(codec):
    words = {
        "gb18030": "当前目录中的文件列表，请稍候。程序正在读取配置文件。",
        "shift_jis": "このファイルは日本語で書かれています。設定を読み込みます。",
        "euc-kr": "이 파일은 한국어로 작성되었습니다. 설정을 읽고 있습니다.",
        "big5": "目前目錄中的檔案清單，請稍候。程式正在讀取設定檔案。",
        "koi8-r": "Этот файл написан на русском языке. Программа читает настройки.",
        "cp1252": "Cette façon d'écrire était très répandue à l'époque où l'on préférait ça.",
    }[codec]
    data = f"{words}\nx = 1\n{words}\n".encode(codec)
    edited, _ = Text(data).edited([Edit("x = 1", "x = 2")])
    assert edited == data.replace(b"x = 1", b"x = 2")
    with pytest.raises(BursarError, match="cannot be written"):
        Text(data).edited([Edit("x = 1", "🙂" if codec != "gb18030" else "\ud800")])


def test_line_ends_stay_and_those_of_a_mixed_file_are_found():
    assert Text(b"a\r\nb\r\nc").edited([Edit("a\nb", "x\ny\nz")])[0] == b"x\r\ny\r\nz\r\nc"
    assert Text(b"a\r\nb\r\nc\n").edited([Edit("a\nb", "x\ny")])[0] == b"x\r\ny\r\nc\n"
    assert Text(b"a\r\nb\nc\n").edited([Edit("a\nb\n", "x\ny\n")])[0] == b"x\r\ny\r\nc\n"
    assert Text(b"a\r\nb\nc\n").edited([Edit("b\nc", "x\ny")])[0] == b"a\r\nx\ny\n"
    assert Text(b"a\r\nb\r\n").edited([Edit("\nb", "\nc")])[0] == b"a\r\nc\r\n"
    assert Text(b"a\nb\n").edited([Edit("b", "x\r\ny")])[0] == b"a\nx\r\ny\n"


def test_a_byte_order_mark_is_neither_lost_nor_doubled():
    text = Text(b"\xef\xbb\xbfa\r\nb\r\n")
    assert text.edited([Edit(text.text, "x\ny\n")])[0] == b"\xef\xbb\xbfx\r\ny\r\n"
    assert text.edited([Edit("a", "\ufeffx")])[0] == b"\xef\xbb\xbfx\r\nb\r\n"


def test_into_an_encoding_that_is_not_known_only_ascii_is_put():
    text = Text("caf\x8e cr\x8fme\n".encode("latin-1"))
    assert text.edited([Edit("caf", "Caf")])[0] == b"Caf\x8e cr\x8fme\n"
    with pytest.raises(BursarError, match="only ASCII"):
        text.edited([Edit("caf", "é")])
    mostly = Text(("é" * 100).encode() + b"\xff\n")
    assert mostly.edited([Edit("\n", "ü\n")])[0] == ("é" * 100).encode() + b"\xff" + "ü\n".encode()


def test_what_is_wrong_is_said():
    assert code("a b", old="c", new="") == "no_match"
    assert code("a a", old="a", new="") == "ambiguous"
    assert code("aaa", old="aa", new="") == "ambiguous"
    assert code("a", old="a", new="a") == "nothing_to_change"
    with pytest.raises(BursarError, match="line 2 has that text, but not with the white space"):
        Text(b"x\n\ty = 1\n").edited([Edit("    y = 1", "")])
    with pytest.raises(BursarError, match="first line of old stands in line 1, but what follows"):
        Text(b"x = 1\ny = 2\n").edited([Edit("x = 1\ny = 3", "")])
    with pytest.raises(BursarError, match=r"3 places \(lines 1, 2, 4\)"):
        Text(b"a\na\n\na\n").edited([Edit("a", "b")])
    with pytest.raises(BursarError, match="edits 1 and 2 overlap in line 2"):
        Text(b"a\nbc\n").edited([Edit("a\nb", ""), Edit("bc", "")])
    with pytest.raises(BursarError, match="10,000"):
        Text(b"a" * 10_001).edited([Edit("a", "b", everywhere=True)])
    with pytest.raises(BursarError, match="no text"):
        Text(bytes(range(256)) * 9)


def test_a_hunk_has_the_lines_that_changed_and_no_others():
    _, hunks = Text(b"one\ntwo\nthree\nfour").edited([Edit("two\nthree", "two\nand\nthree"), Edit("four", "4")])
    assert "".join(hunk.written() for hunk in hunks) == (
        "@@ -2,0 +3,1 @@\n+and\n"
        "@@ -4,1 +5,1 @@\n-four\n\\ No newline at end of file\n+4\n\\ No newline at end of file\n"
    )
