import unicodedata
from itertools import accumulate

import pytest
import regex
from bursar.budget.clean import clean, utf8
from hypothesis import given
from hypothesis import strategies as st

BREAKS = " \n\r\t\v\x85\u2028"
UNSEEN = "\0\x1b\x7f\x9b\ud800\udc00\u202e\u2066\u200f\u061c\U000e0041"
JOINED = 'ae\u0301👩\u200d👧🇫🇷❤\ufe0fक्"\\'
any_text = st.text(st.characters(), max_size=60) | st.text(st.sampled_from(BREAKS + UNSEEN + JOINED), max_size=60)


class TestUtf8:
    @given(any_text)
    def test_the_result_can_be_encoded(self, text):
        utf8(text).encode()

    @given(any_text)
    def test_nothing_but_surrogates_is_changed(self, text):
        for before, after in zip(text, utf8(text), strict=True):
            assert after == ("\ufffd" if "\ud800" <= before <= "\udfff" else before)


class TestClean:
    @given(any_text, st.integers(0, 70))
    def test_the_result_is_one_visible_line_of_valid_text(self, text, limit):
        line = clean(text, limit)
        line.encode()
        assert len(line.splitlines()) <= 1
        assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
        assert not [c for c in line if unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF")]
        assert not [c for c in line if unicodedata.bidirectional(c) in ("LRI", "RLI", "FSI", "PDI")]
        assert not set(line) & set("\u200e\u200f\u061c")

    @given(any_text, st.integers(0, 70))
    def test_the_result_is_never_longer_than_the_limit(self, text, limit):
        assert len(clean(text, limit)) <= limit

    @given(any_text)
    def test_cleaning_twice_changes_nothing_more(self, text):
        assert clean(clean(text, 40), 40) == clean(text, 40)

    @given(st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), max_size=300))
    def test_harmless_text_within_the_limit_stays_as_it_is(self, text):
        assert clean(text) == text

    @given(any_text.filter(lambda text: len(clean(text)) > 1), st.integers(1, 59))
    def test_a_cut_is_marked_and_splits_no_grapheme(self, text, missing):
        whole = clean(text)
        limit = max(1, len(whole) - missing)
        line = clean(text, limit)
        assert line.endswith("…")
        assert whole.startswith(line[:-1])
        assert len(line) - 1 in accumulate(map(len, regex.findall(r"\X", whole)), initial=0)

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("a\tb\nc\r\nd\re\vf\fg\x85h\u2028i\u2029j", "a b c d e f g h i j"),
            ("\x1b[31mred\x00\x07\x7f", "␛[31mred␀␇␡"),
            ("\x9b31m", "\ufffd31m"),
            ("invoice\u202efdp.exe", "invoice\ufffdfdp.exe"),
            ("\u2066a\u2069\u200eb\u200fc\u061cd", "\ufffda\ufffd\ufffdb\ufffdc\ufffdd"),
            ("caf\udce9.txt", "caf\ufffd.txt"),
            ("ok\U000e0041\U000e0042", "ok\ufffd\ufffd"),
            ("👩‍👩‍👧 ❤️ नमस्ते می‌خواهم", "👩‍👩‍👧 ❤️ नमस्ते می‌خواهم"),
        ],
    )
    def test_each_thing_that_could_mislead_is_seen(self, text, shown):
        assert clean(text) == shown

    def test_the_limit_is_300_characters_unless_said_otherwise(self):
        assert clean("x" * 300) == "x" * 300
        assert clean("x" * 301) == "x" * 299 + "…"

    def test_a_huge_text_costs_no_more_than_a_short_one(self):
        assert clean("\r\n" * 5_000_000, 10) == " " * 9 + "…"
