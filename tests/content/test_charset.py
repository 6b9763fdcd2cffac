"""Bytes become the text that their author wrote."""

import pytest
from bursar.content.charset import codec_of, decode

RUSSIAN = "Привет, мир! Это страница, достаточно длинная для того, чтобы угадать её кодировку. " * 4
CHINESE = "这是一个用来检测编码的中文网页，里面有足够多的汉字。" * 8
JAPANESE = "日本語のページです。文字コードを検出できますか。" * 8
GERMAN = "Füße, größer, Maße, über alles, und noch mehr Wörter. " * 6


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (RUSSIAN, "utf-8"), (RUSSIAN, "utf-8-sig"), (RUSSIAN, "utf-16"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"),
        (CHINESE, "gb18030"), (JAPANESE, "cp932"), (JAPANESE, "euc_jp"), (GERMAN, "cp1252"),
    ],
)  # fmt: skip
def test_text_that_declares_nothing_is_read(text: str, codec: str) -> None:
    assert decode(text.encode(codec)).text == text


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("ISO-8859-1", "cp1252"), ("latin1", "cp1252"), ("us-ascii", "cp1252"), ("gb2312", "gb18030"),
        ("Shift_JIS", "cp932"), ("x-sjis", "cp932"), ("EUC-KR", "cp949"), ('"utf-8"', "utf-8"), ("UTF8", "utf-8"),
        ("big5", "big5hkscs"), ("iso-8859-9", "cp1254"), ("no-such", ""), ("", ""), ("base64", ""), ("rot13", ""),
    ],
)  # fmt: skip
def test_labels_mean_what_browsers_take_them_for(label: str, codec: str) -> None:
    assert codec_of(label) == codec


def test_the_page_says_how_it_is_to_be_read() -> None:
    page = '<meta charset="windows-1251"><p>Да</p>'.encode("cp1251")
    assert (decode(page).text[-6:-4], decode(page).told_by) == ("Да", "page")


def test_the_header_goes_before_the_page() -> None:
    page = "<meta charset=koi8-r>Да, конечно".encode("cp1251")
    assert decode(page, "windows-1251").text.endswith("Да, конечно")


def test_a_header_is_not_believed_against_whole_utf8() -> None:
    assert decode("Füße über größere".encode(), "iso-8859-1").text == "Füße über größere"


def test_a_byte_order_mark_goes_before_everything_and_is_no_text() -> None:
    assert decode(b"\xef\xbb\xbfa\xc3\xa9", "koi8-r").text == "aé"
    assert decode("aé".encode("utf-16"), "utf-8").text == "aé"


def test_a_page_cut_inside_a_character_is_still_utf8() -> None:
    found = decode("grün".encode()[:3])
    assert (found.text, found.encoding, found.broken) == ("gr�", "utf-8", 1)


def test_what_no_encoding_fits_is_text_with_marks() -> None:
    assert "\ufffd" in decode(b"ok \xff\xfe\xfd \x81 \xc3(" * 20, "utf-8").text or decode(b"\xff" * 9).text


@pytest.mark.parametrize(
    "name", ["idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "undefined", "\0"]
)
def test_a_codec_that_no_browser_knows_is_not_used(name: str) -> None:
    found = decode(b"\\ud800 xn--\xff-+AGE- caf\xe9", name)
    assert found.told_by != "header"
    found.text.encode()
