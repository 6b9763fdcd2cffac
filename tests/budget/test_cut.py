import subprocess
import sys
import tracemalloc
from itertools import accumulate

import pytest
import regex
from bursar.budget import tokens
from bursar.budget.clean import utf8
from bursar.budget.cut import Allowance, fits, head, tail
from bursar.budget.json_size import dumps
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sample_texts import KINDS, REPEATED, ordinary, repeated

NASTY = (
    *('"', "\\", "\\n", "\n", "\r\n", "\r", "\t", "\0", "\x01", "\x1b[0m", "\x7f", "\x9b", "/", "</script>", "\u2028"),
    *("\ud800", "\udfff", "\udc80", "\ufffd", "\ufeff", "\u200b", "\u200d", "\u202e", "\u0600"),
    *("שלום", "العربية", "हिन्दी", "क्षि", "한국어", "각", "中文", "\u3000", "é", "e\u0301", "a\u0301\u0323\u0316"),
    *("😀", "👩‍👩‍👧", "👍🏽", "🇫🇷", "🇩", "1️⃣", "🏳️‍🌈", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "𝒜"),
    *("a", "word ", "    ", "123456", "hello", "hel", "0x7f", "ABCdef", "=" * 40, "aGVsbG8gd29ybGQ="),
)
pieces = st.tuples(st.sampled_from(NASTY), st.integers(1, 6) | st.just(150))
rough = st.lists(pieces, max_size=60).map(lambda parts: "".join(part * times for part, times in parts))
of_one_kind = st.tuples(st.sampled_from(NASTY), st.integers(1, 3000)).map(lambda part: part[0] * part[1])
texts = st.text(st.characters(), max_size=300) | rough | of_one_kind
allowances = st.builds(Allowance, tokens=st.integers(0, 400), bytes=st.integers(0, 2000))
shares = st.floats(0.1, 0.99) | st.just(9)
ends = pytest.mark.parametrize("end", [head, tail])


def form(text: str) -> str:
    """What is sent for a text."""
    return dumps(utf8(text))


def cost(text: str) -> tuple[int, int]:
    return tokens.count(form(text)), len(form(text).encode())


def is_within(text: str, allowance: Allowance) -> bool:
    spent, size = cost(text)
    return spent <= allowance.tokens and size <= allowance.bytes


def graphemes(text: str) -> list[str]:
    return regex.findall(r"\X", text)


class TestEveryCut:
    @ends
    @given(texts, allowances)
    def test_is_within_the_allowance(self, end, text, allowance):
        kept = end(text, allowance)
        assert kept == "" or is_within(kept, allowance)

    @given(texts, allowances)
    def test_is_the_start_or_the_end_of_the_text_unchanged(self, text, allowance):
        assert text.startswith(head(text, allowance))
        assert text.endswith(tail(text, allowance))

    @given(texts, allowances)
    def test_fits_exactly_when_the_json_form_is_within_both_ceilings(self, text, allowance):
        assert fits(text, allowance) == is_within(text, allowance)

    @ends
    @given(texts, allowances)
    def test_is_the_whole_text_when_that_fits(self, end, text, allowance):
        assert end(text, allowance) == text or not is_within(text, allowance)

    @ends
    @given(texts)
    def test_is_the_whole_text_when_that_fits_to_the_byte_and_to_the_token(self, end, text):
        assert end(text, Allowance(*cost(text))) == text

    @given(texts, allowances)
    @example("👩‍👩‍👧", Allowance(20, 30))
    @example("e\u0301" * 9, Allowance(4, 100))
    @example("🇫🇷" * 500, Allowance(400, 1999))
    @example("\r\n" * 50, Allowance(100, 61))
    def test_keeps_whole_graphemes_and_at_least_one_if_that_fits(self, text, allowance):
        whole = graphemes(text)
        assume(whole and max(map(len, whole)) <= 256)
        for kept, parts in ((head(text, allowance), whole), (tail(text, allowance), whole[::-1])):
            if not is_within(parts[0], allowance):
                assert len(kept) < len(parts[0])
            else:
                assert len(kept) in accumulate(map(len, parts))

    @given(texts.map(lambda text: text.replace("\n", "")).filter(bool), shares, shares)
    def test_leaves_only_a_few_tokens_or_a_grapheme_unused(self, text, share_of_tokens, share_of_bytes):
        spent, size = cost(text)
        allowance = Allowance(int(spent * share_of_tokens), int(size * share_of_bytes))
        costs = [cost(grapheme) for grapheme in set(graphemes(text))]
        most_tokens, most_bytes = max(spent for spent, _ in costs), max(size for _, size in costs)
        for end in (head, tail):
            kept = end(text, allowance)
            spent, size = cost(kept)
            is_full = spent >= 0.98 * allowance.tokens - 4 - most_tokens or size > allowance.bytes - most_bytes
            assert is_full or kept == text

    @ends
    @pytest.mark.parametrize("grapheme", [text for text in NASTY if len(graphemes(text)) == 1])
    def test_is_one_grapheme_when_just_that_fits(self, end, grapheme):
        spent, size = cost(grapheme)
        assert len(end(grapheme * 9, Allowance(spent, 1_000))) >= len(grapheme)
        assert len(end(grapheme * 9, Allowance(1_000, size))) >= len(grapheme)

    @ends
    @pytest.mark.parametrize("allowance", [Allowance(0, 0), Allowance(1, 1), Allowance(-5, 900), Allowance(900, -5)])
    def test_is_empty_when_nothing_is_allowed(self, end, allowance):
        assert end("some text", allowance) == ""

    @ends
    @given(texts, allowances)
    def test_cut_again_stays_as_it_is(self, end, text, allowance):
        kept = end(text, allowance)
        assert end(kept, allowance) == kept

    @given(rough, allowances)
    def test_of_a_text_with_lone_surrogates_takes_what_their_replacements_take(self, text, allowance):
        assert utf8(head(text, allowance)) == head(utf8(text), allowance)


class TestLines:
    @given(st.integers(1, 60), st.integers(2, 30), st.integers(0, 61))
    def test_as_many_whole_lines_are_kept_as_fit(self, width, lines, spare):
        line = "x" * width + "\n"
        allowance = Allowance(10_000, 2 + lines * (width + 2) + min(spare, width + 1))
        assert head(line * 100, allowance) == line * lines
        assert tail(line * 100, allowance) == line * lines

    def test_a_line_is_cut_where_keeping_lines_would_cost_more_than_half(self):
        text = "short\n" + "x" * 10_000 + "\nshort"
        assert len(head(text, Allowance(5_000, 1_000))) > 900
        assert len(tail(text, Allowance(5_000, 1_000))) > 900

    def test_a_line_break_that_keeps_just_half_is_taken(self):
        assert head("x" * 49 + "\n" + "y" * 1_000, Allowance(5_000, 103)) == "x" * 49 + "\n"
        assert tail("y" * 1_000 + "\n" + "x" * 50, Allowance(5_000, 102)) == "x" * 50

    @ends
    def test_lines_that_fill_the_allowance_to_the_byte_are_all_kept(self, end):
        assert end("ab\n" * 100, Allowance(1_000, 2 + 5 * len("ab\\n"))) == "ab\n" * 5

    def test_a_break_of_two_characters_stays_whole(self):
        assert head("x" * 50 + "\r\n" + "y" * 50, Allowance(1_000, 2 + 50 + len("\\r"))) == "x" * 50
        assert tail("x" * 50 + "\r\n" + "y" * 50, Allowance(1_000, 2 + 50 + len("\\n"))) == "y" * 50


class TestLongText:
    @ends
    @pytest.mark.parametrize("allowance", [Allowance(1000, 4000), Allowance(300, 8000), Allowance(5000, 900)])
    @pytest.mark.parametrize("kind", KINDS | REPEATED)
    def test_of_every_kind_is_filled_but_for_a_line(self, end, kind, allowance):
        text = ordinary(kind, 65_536) if kind in KINDS else repeated(kind, 65_536)
        kept = end(text, allowance)
        assert is_within(kept, allowance)
        whole_lines = kept.endswith("\n") if end is head else ("\n" + kept) in text
        spent, size = cost(kept)
        least = 0.5 if whole_lines else 0.98
        assert spent >= least * allowance.tokens - 4 or size >= least * allowance.bytes - 30

    @ends
    def test_a_grapheme_longer_than_the_allowance_is_cut_at_a_code_point(self, end):
        zalgo = "a" + "\u0301" * 10_000
        kept = end(zalgo, Allowance(1000, 4000))
        assert is_within(kept, Allowance(1000, 4000))
        assert len(kept) > 900

    @ends
    def test_flags_are_paired_from_the_start_of_their_row(self, end):
        row = "🇫🇷" * 5_000
        for size in range(4_000, 4_016):
            assert set(graphemes(end("x" + row, Allowance(9_000, size)))) == {"🇫🇷"} | ({"x"} if end is head else set())

    @ends
    def test_an_allowance_of_many_tokens_is_used(self, end):
        text = ordinary("log", 2_000_000)
        spent, _ = cost(end(text, Allowance(200_000, 10**9)))
        assert 195_000 < spent <= 200_000


class TestThrift:
    def test_small_texts_are_cut_without_the_vocabulary(self):
        code = """if True:
            import sys
            from bursar.budget.cut import Allowance, fits, head, tail
            small = "a small reply, ünïcode and all 😀\\n" * 9
            print(fits(small, Allowance(1000, 4000)), head(small, Allowance(1000, 4000)) == small, end=" ")
            print(len(head("x" * 9000, Allowance(1000, 500))), len(tail("x" * 9000, Allowance(1000, 500))), end=" ")
            print(sorted({"tiktoken", "regex"} & sys.modules.keys()))
        """
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "True True 498 498 []"

    @ends
    def test_a_huge_text_takes_no_memory_to_cut(self, end):
        text = "word " * 4_000_000
        tokens.warm()
        tracemalloc.start()
        try:
            end(text, Allowance(1000, 4000))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 1_000_000
