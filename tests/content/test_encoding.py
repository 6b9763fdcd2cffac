"""The encoding of a file is told right, and its text survives the way to UTF-8."""

import codecs
import os
import random
import subprocess
import sys

import pytest
from bursar.content.encoding import BINARY, UTF_8, Encoding, ToUtf8, detect
from hypothesis import given
from hypothesis import strategies as st

SIMPLIFIED = (
    "在这个报告中,我们讨论了数据库的备份策略。请检查服务器的日志文件,确认没有错误。\n明天上午开会,请大家准时参加。\n"
)
TRADITIONAL = (
    "在這個報告中,我們討論了資料庫的備份策略。請檢查伺服器的日誌檔案,確認沒有錯誤。\n明天上午開會,請大家準時參加。\n"
)
JAPANESE = "このレポートでは、データベースのバックアップ戦略について説明します。ログファイルを確認してください。\n"
KOREAN = "이 보고서에서는 데이터베이스 백업 전략에 대해 설명합니다. 서버 로그 파일을 확인하십시오.\n"
RUSSIAN = "В этом отчёте мы обсуждаем стратегию резервного копирования. Проверьте журналы сервера.\n"
FRENCH = (
    "Ce rapport décrit la stratégie de sauvegarde ; vérifiez les journaux où l'erreur a été trouvée. À bientôt, café.\n"
)
GERMAN = "Der Prüfbericht enthält Größenangaben für die Straße. Überprüfen Sie bitte die Protokolle.\n"
POLISH = "Sprawdź, proszę, dzienniki serwera; wystąpił błąd podczas tworzenia kopii zapasowej. Zażółć gęślą jaźń.\n"
GREEK = "Ελέγξτε τα αρχεία καταγραφής του διακομιστή· παρουσιάστηκε σφάλμα κατά τη δημιουργία αντιγράφων.\n"

LEGACY = [
    (SIMPLIFIED, "gb18030"),
    (SIMPLIFIED, "gb2312"),
    (TRADITIONAL, "big5"),
    (JAPANESE, "shift_jis"),
    (JAPANESE, "euc_jp"),
    (JAPANESE, "iso2022_jp"),
    (KOREAN, "euc_kr"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8-r"),
    (FRENCH, "latin-1"),
    (GERMAN, "latin-1"),
    (FRENCH, "cp1252"),
    (POLISH, "cp1250"),
    (GREEK, "cp1253"),
]

WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


class Held:
    """Bytes in memory, as a content."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def read(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


def told(data: bytes) -> Encoding:
    return detect(Held(data))


def converted(data: bytes, block: int = 1 << 20) -> str:
    converter = ToUtf8(told(data))
    out = [converter.feed(data[at : at + block]) for at in range(0, len(data), block)]
    return (b"".join(out) + converter.feed(b"", last=True)).decode()


@pytest.mark.parametrize("times", [1, 40, 2000])
@pytest.mark.parametrize(("text", "encoding"), LEGACY)
def test_text_in_an_old_encoding_comes_out_as_it_was(text: str, encoding: str, times: int):
    assert converted((text * times).encode(encoding)) == text * times


@pytest.mark.parametrize("text", [SIMPLIFIED, FRENCH, RUSSIAN, JAPANESE, "plain words\n", '{"a": 1}'])
@pytest.mark.parametrize("encoding", WIDE)
def test_utf16_and_utf32_are_recognised_with_and_without_a_mark(text: str, encoding: str):
    assert converted((text * 3).encode(encoding)) == text * 3


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("café\n", "latin-1"),
        ("错误\n", "gb18030"),
        ("エラー\n", "cp932"),
        ("Ошибка\n", "cp1251"),
        ("連線失敗\n", "big5"),
    ],
)
@pytest.mark.parametrize("before", ["", "2026-01-01 12:00:00 INFO started worker 17\n" * 100_000])
def test_a_few_words_are_enough_even_behind_megabytes_of_ascii(text: str, encoding: str, before: str):
    assert converted((before + text).encode(encoding)) == before + text


@pytest.mark.parametrize("text", [SIMPLIFIED, FRENCH, RUSSIAN, "plain\n", "", "👩‍👩‍👧"])
def test_utf8_is_never_touched(text: str):
    data = text.encode() * 50
    assert told(data) == UTF_8
    assert ToUtf8(UTF_8).feed(data) == data


def test_utf8_with_a_mark_is_told_and_kept_byte_for_byte():
    data = codecs.BOM_UTF8 + FRENCH.encode()
    assert told(data).name == "utf-8 with BOM"
    assert ToUtf8(told(data)).feed(data) == data


@pytest.mark.parametrize("text", [SIMPLIFIED, FRENCH * 3])
def test_utf8_with_three_bad_bytes_stays_utf8(text: str):
    data = bytearray((text * 30).encode())
    for at in (100, 700, 1500):
        data.insert(at, 0xFF)
    assert told(bytes(data)) == UTF_8


def test_ascii_with_a_few_stray_bytes_is_left_as_it_is():
    data = b"log line ok\n" * 1000 + b"\xff\xfe bad \x80\n" + b"more lines\n" * 1000
    assert told(data) == UTF_8


@pytest.mark.parametrize(
    "declaration",
    [
        "# -*- coding: {} -*-\n",
        "#!/usr/bin/python\n# vim: set fileencoding={} :\n",
        '<?xml version="1.0" encoding="{}"?>\n',
        '<!doctype html><html><head><meta charset="{}">\n',
        '<meta http-equiv="Content-Type" content="text/html; charset={}">\n',
        '@charset "{}";\n',
    ],
)
def test_what_a_file_declares_decides_where_its_bytes_do_not(declaration: str):
    text = declaration.format("iso-8859-7") + "x = 'ώ'\n"
    assert converted(text.encode("iso-8859-7")) == text


def test_a_declaration_that_the_bytes_contradict_is_not_believed():
    text = "# coding: ascii\n" + JAPANESE * 20
    assert converted(text.encode("shift_jis")) == text
    assert told(("# coding: latin-1\n" + JAPANESE).encode()) == UTF_8


@pytest.mark.parametrize("label", ["gb2312", "gbk", "GBK"])
def test_a_narrow_label_is_read_as_the_wider_encoding_that_files_really_have(label: str):
    text = f"# coding: {label}\n" + "镕€㐀" * 3
    assert converted(text.encode("gb18030")) == text


@pytest.mark.parametrize(
    "data",
    [
        os.urandom(100_000),
        bytes(range(256)) * 100,
        b"\x89PNG\r\n\x1a\n" + b"\xaa" * 50,
        b"%PDF-1.7\n\xe2\xe3\xcf\xd3\n" + b"text " * 100,
        b"\xff\xfe" + os.urandom(4000),
        b"\x00\xff\x01 binary",
        b"\x00\x01\x02\x03" * 2000,
        b"".join(number.to_bytes(2, "little") for number in range(0, 60_000, 7)),
        b"ascii and then \x00 zeros \x00\x00\x00 in it",
        b"PK\x03\x04" + b"\xe9" * 40,
    ],
    ids=["random", "every byte", "png", "pdf", "mark by chance", "short", "counters", "numbers", "zeros", "zip"],
)
def test_what_is_no_text_is_never_converted(data: bytes):
    assert told(data) == BINARY


def test_a_program_is_binary():
    with open(sys.executable, "rb") as program:
        assert told(program.read(1 << 20)) == BINARY


@given(st.sampled_from(LEGACY + [(SIMPLIFIED, encoding) for encoding in WIDE]), st.integers(1, 97))
def test_the_size_of_the_blocks_does_not_change_the_text(case: tuple[str, str], block: int):
    text, encoding = case
    assert converted((text * 2).encode(encoding), block) == text * 2


def test_broken_characters_are_counted():
    converter = ToUtf8(Encoding("gb18030", "gb18030"))
    out = converter.feed("错误".encode("gb18030") + b"\xff") + converter.feed(b"", last=True)
    assert (out.decode(), converter.replaced) == ("错误\ufffd", 1)


@given(st.binary(max_size=300))
def test_any_bytes_at_all_become_valid_utf8_or_stay_as_they_are(data: bytes):
    encoding = told(data)
    converter = ToUtf8(encoding)
    out = converter.feed(data) + converter.feed(b"", last=True)
    if encoding.codec is None:
        assert out == data
    else:
        out.decode()


def test_utf8_and_binary_files_are_told_without_loading_the_guesser():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_encoding import told\n"
        "assert told(b'abc').codec is None and told('é'.encode()).codec is None and told(bytes(99)).codec is None\n"
        "assert told('caf\\xe9 au lait'.encode('latin-1')).codec == 'cp1252'\n"
        "assert 'charset_normalizer' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, os.path.dirname(__file__)], check=True)


@pytest.mark.parametrize(
    "text",
    [
        "Größe: naïve café, señor, Übermaß\n" * 50,
        "name;city;amount\nMüller;Köln;12,50\nGroß;Düsseldorf;13\nLefèvre;Orléans;1\n",
        "Temp: 25°C ±1\n" * 5,
        "Copyright © 2026\n",
    ],
)
def test_western_names_and_signs_are_read_as_such_and_called_a_guess(text: str):
    encoding = told(text.encode("latin-1"))
    assert (encoding.codec, encoding.name) == ("cp1252", "cp1252 (guessed)")


@pytest.mark.parametrize("encoding", ["cp1250", "iso8859-2"])
def test_both_encodings_of_polish_are_told_apart(encoding: str):
    assert converted(POLISH.encode(encoding)) == POLISH


def _with_stray_bytes(text: bytes, count: int) -> bytes:
    damaged, dice = bytearray(text), random.Random(1)
    for _ in range(count):
        damaged[dice.randrange(len(damaged))] = dice.randrange(0x80, 0x100)
    return bytes(damaged)


@pytest.mark.parametrize(
    "data",
    [
        b"plain ascii log line number\n" * 10_000 + b"\xff" + b"plain ascii log line number\n" * 10_000,
        b"plain \xc3 ascii\n" + b"log line\n" * 20_000 + b"\xff\xfe log line\n",
        _with_stray_bytes(b"2026-01-01 12:00:00 INFO a line of a log in plain ascii\n" * 36_000, 500),
        b"\xff" * 100,
        b"\xed\xa0\x80abc",
    ],
    ids=["one", "three", "scattered", "nothing else", "lone surrogate"],
)
def test_stray_bytes_are_no_encoding(data: bytes):
    assert told(data) == UTF_8
