"""Every file name has one written form, and the written form names the file."""

import os
import sys
import unicodedata

import pytest
from bursar.budget.clean import clean
from bursar.guard.names import readings, rewritten, written
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.skipif(os.name == "nt", reason="names are bytes on POSIX only")

names = st.binary(min_size=1, max_size=40).map(lambda raw: raw.replace(b"/", b"").replace(b"\0", b"") or b"x")
spelled = st.text(alphabet=st.sampled_from("\\x5cef9a01\xe9\u202e\n"), min_size=1, max_size=12).map(os.fsencode)


@given(st.one_of(names, spelled))
def test_the_written_form_of_any_name_leads_back_to_it(raw: bytes):
    name = os.fsdecode(raw)
    assert os.fsencode(readings(written(name))[0]) == raw


@given(names, names)
def test_two_names_are_never_written_alike(one: bytes, other: bytes):
    assert (written(os.fsdecode(one)) == written(os.fsdecode(other))) == (one == other)


@given(names)
def test_a_written_name_is_one_line_of_valid_text_without_control_or_direction_characters(raw: bytes):
    text = written(os.fsdecode(raw))
    text.encode()
    assert len(text.splitlines()) == 1
    assert not any(character in text for character in "\x1b\x7f\u202a\u202e\u2066\u200f\u2028\x85")


def test_ordinary_names_are_written_as_they_are():
    for name in ("main.py", "docs/naïve.md", "数据/报告.txt", "e\u0301", "👩‍👩‍👧", "a b'c", r"a\b", "C:\\x"):
        assert written(name) == name
        assert readings(name)[0] == name


@pytest.mark.parametrize("text", ["a" + "\u0301\u0316" * 2_000_000, "\x85" * 4_000_000])
def test_what_is_too_long_to_be_a_path_is_not_put_into_another_form(text: str):
    """The first would take hours: combining marks are sorted by insertion."""
    assert readings(text) == [text]
    assert len(rewritten(text)) < 40_000


@given(st.text(max_size=60))
def test_any_text_at_all_can_be_written(text: str):
    written(text).encode()


def test_whatever_hides_or_reverses_text_is_escaped_as_it_is_in_facts():
    hiding = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(character) in hiding and clean(character) != character:
            assert written(f"a{character}b") != f"a{character}b", hex(ord(character))
