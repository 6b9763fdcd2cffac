"""A character is drawn or replaced, and every replacement is listed."""

import collections
import random
import unicodedata

import pytest
from bursar.pdf.characters import Characters, emoji_name
from hypothesis import given
from hypothesis import strategies as st
from rendered import rendered

LATIN = frozenset(map(chr, range(32, 0x250))) | {"\ufffd"}


def characters(emoji="name", known=LATIN) -> Characters:
    return Characters(known.__contains__, emoji)


def replaced(made: Characters) -> dict[str, tuple[int, str]]:
    return {one.text: (one.count, one.replacement) for one in made.report()}


@given(st.text())
def test_what_is_fit_can_be_drawn(text):
    made = characters()
    fit = made.fit(made.prepare(text))
    assert all(c in LATIN or c in "\n\u00a0\u200b" for c in fit)


@given(st.text(alphabet=st.characters(blacklist_categories=["Zs", "Zl", "Zp"])))
def test_every_character_that_is_gone_is_listed(text):
    made = characters()
    fit = collections.Counter(made.fit(made.prepare(text)))
    listed = collections.Counter()
    for one in made.report():
        for character in one.text:
            listed[character] += one.count
    for character, count in collections.Counter(text).items():
        if not character.isspace():
            assert fit[character] + listed[character] >= count, ascii(character)


@pytest.mark.parametrize(
    ("cluster", "name"),
    [
        ("😀", "grinning face"),
        ("👍🏽", "thumbs up sign, medium skin tone"),
        ("👨\u200d👩\u200d👧", "family: man, woman, girl"),
        ("🇫🇷", "flag FR"),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "flag GB-ENG"),
        ("1\ufe0f\u20e3", "keycap 1"),
    ],
)
def test_an_emoji_is_one_replacement_however_many_code_points_it_has(cluster, name):
    made = characters()
    assert made.fit(f"a{cluster}b{cluster}") == f"a[{name}]b[{name}]"
    assert replaced(made) == {cluster: (2, f"[{name}]")}
    assert emoji_name(cluster) == name


def test_the_policy_for_emoji_is_kept():
    assert characters("drop").fit("a😀b") == "ab"
    assert characters("box", LATIN | {"□"}).fit("a😀b") == "a□b"
    assert characters("box").fit("a😀b") == "a?b"


def test_an_emoji_that_a_font_has_is_drawn_without_its_selector():
    made = characters(known=LATIN | {"❤"})
    assert made.fit("❤\ufe0f") == "❤"
    assert replaced(made) == {"\ufe0f": (1, "")}


def test_a_word_of_a_foreign_script_is_transliterated_as_a_whole():
    made = characters(known=LATIN | set("தமி"))
    assert made.fit("தமிழ்") == "tmil"
    assert replaced(made)["த"] == (1, "t")


def test_scripts_without_a_font_are_known_by_their_letters():
    made = characters()
    made.fit("中文, 中 Ꙁ 😀 ﬁ ∀")
    assert made.without_font() == (("CJK", 3), ("CYRILLIC", 1))


def test_a_joiner_joins_nothing_where_nothing_is_before_it():
    assert characters().fit("\u200c") == ""


def test_compatible_characters_become_what_they_mean():
    assert characters().fit("𝒜ﬁ①") == "Afi1"


@pytest.mark.parametrize("character", ["\0", "\x07", "\x1b", "\u202e", "\u2066", "\ufeff"])
def test_controls_and_overrides_are_left_out(character):
    made = characters()
    assert made.prepare(f"a{character}b") == "ab"
    assert replaced(made) == {character: (1, "")}


def test_lone_surrogates_and_noncharacters_are_shown_as_damage():
    made = characters()
    assert made.prepare("a\ud800b\ufffe") == "a\ufffdb\ufffd"


def test_every_kind_of_line_end_is_one():
    assert characters().prepare("a\r\nb\rc\x85d\u2028e\x0bf") == "a\nb\nc\nd\ne\nf"


def test_the_report_names_code_points_and_characters():
    made = characters()
    made.fit("🇫🇷 \u0e01")
    names = {one.code_points: one.name for one in made.report()}
    assert names == {
        "U+1F1EB U+1F1F7": "REGIONAL INDICATOR SYMBOL LETTER F, REGIONAL INDICATOR SYMBOL LETTER R",
        "U+0E01": "THAI CHARACTER KO KAI",
    }


@pytest.mark.needs("pdftotext")
def test_whatever_is_written_is_drawn_or_listed():
    chance = random.Random(3)
    known = [c for c in map(chr, range(0x20000)) if unicodedata.category(c) not in ("Cn", "Cs", "Co")]
    pools = [
        known,
        [c for c in known if c < "\u0900"],
        list("שלוםعربيةहिन्दीไทย中日本한국 abc,.()[]{}\"'"),
        [chr(i) for i in range(0x1F300, 0x1F700)] + list("\u200d\ufe0f\u20e3🇫🇷🏽"),
        [chr(i) for i in range(0xD800, 0xE000, 97)] + list("ab\0\x1b\t\u202e\ufeff"),
    ]
    lines = ["".join(chance.choice(chance.choice(pools)) for _ in range(chance.randint(1, 25))) for _ in range(60)]
    source = "\n".join(lines)
    made = rendered(source, plain=True, page_numbers=False)
    drawn, listed = collections.Counter(made.text("-raw")), collections.Counter()
    for one in made.report.replaced:
        for character in one.text:
            listed[character] += one.count
    for character, count in collections.Counter(source).items():
        assert character.isspace() or drawn[character] + listed[character] >= count, ascii(character)


KEYCAP = "1️⃣"
WORDS = "x" * 200


@pytest.mark.parametrize(
    "text",
    [
        KEYCAP,
        f"# {KEYCAP}",
        f"| {KEYCAP} |\n|---|",
        f"|{KEYCAP}|b|\n|-|-|\n|{WORDS}|{WORDS}{KEYCAP}|",
        f"x^[{KEYCAP}]",
        f"`{KEYCAP}`",
    ],
)
def test_a_replacement_is_counted_as_often_as_it_is_written(text):
    made = rendered(text, toc=True)
    assert [(one.text, one.count) for one in made.report.replaced] == [(KEYCAP, text.count(KEYCAP))]
