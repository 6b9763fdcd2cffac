"""What the scripts of the world ask of a typesetter: which must be shaped, which run leftwards, where lines break."""

import re
import unicodedata
from functools import cache

import regex

CLUSTER = regex.compile(r"\X", regex.DOTALL)
"""A grapheme cluster: what a reader sees as one character."""

MARKS = (
    "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302f\u3099\u309a\ua66f-\ua672\ua674-\ua67d"
    "\ua69e\ua69f\ua6f0\ua6f1\ufe20-\ufe2f\U0001d165-\U0001d169\U0001d16d-\U0001d172\U0001d17b-\U0001d182\U0001d185-\U0001d18b"
    "\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244"
)
"""Combining marks of scripts that need no shaping otherwise, as the inside of a character class."""

_RTL = "\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_SHAPED = (
    "\u0590-\u109f\u1100-\u11ff\u135d-\u135f\u1700-\u18af\u1900-\u1aad\u1b00-\u1c4f\u1cd0-\u1cff\u200c\u200d"
    "\ua800-\ua82f\ua840-\ua95f\ua960-\ua97f\ua980-\uaaff\uabc0-\uabff\ud7b0-\ud7ff\ufb1d-\ufdff\ufe00-\ufe0f\ufe70-\ufefc"
    "\U00010a00-\U00010a5f\U00010ac0-\U00010b7f\U00010d00-\U00010d3f\U00010e80-\U00010fff\U00011000-\U00011fff"
    "\U00016100-\U0001613f\U0001e100-\U0001efff\U000e0100-\U000e01ef"
)

is_special = re.compile(f"[{_RTL}{_SHAPED}{MARKS}]").search
needs_rtl = re.compile(f"[{_RTL}]").search
needs_shaping = re.compile(f"[{_SHAPED}{MARKS}]").search
is_shaped_script = re.compile(f"[{_SHAPED}]").match
is_mark = re.compile(f"[{MARKS}]").match
is_joining = re.compile("[\u200c\u200d\ufe00-\ufe0f\u034f\U000e0100-\U000e01ef]").match


def is_neutral(character: str) -> bool:
    """Tell whether the character has no direction of its own."""
    return unicodedata.bidirectional(character) not in ("L", "R", "AL", "AN", "EN")


_WIDE = (
    "\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6"
    "\U0001b000-\U0001b2ff\U00020000-\U0003fffd"
)
is_ideographic = re.compile(f"[{_WIDE}]").match
"""Between such characters a line may break."""

is_east_asian = re.compile(f"[{_WIDE}\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff\uff61-\uffdc]").match

has_breaks = re.compile(f"[{_WIDE}\u200b\u2010\u2012-\u2014/\\-\u0e40-\u0e44\u0ec0-\u0ec4\u0f0b]").search
"""Whether a line may break elsewhere than at a space."""

NO_START = frozenset(
    "!%),.:;?]}¢°·’”†‡›℃∶、。〃〆〕〗〞﹚﹜！＂％＇），．：；？］｝～〉》」』】〙〟｝｠»ヽヾーァィゥェォッャュョヮヵヶ"
    "ぁぃぅぇぉっゃゅょゎゕゖㇰㇱㇲㇳㇴㇵㇶㇷㇸㇹㇺㇻㇼㇽㇾㇿ々〻‐゠–〜‼⁇⁈⁉・…‥％‰′″゛゜ｧｨｩｪｫｬｭｮｯｰ｡｣､"
)
"""Characters that may not begin a line (kinsoku)."""

NO_END = frozenset("([{£¥‘“‹〈《「『【〔〖〝﹙﹛＄（．［｛￡￥〘｟«＃＠$#@｢")
"""Characters that may not end a line."""

_SYLLABLE_START = re.compile("[\u0e40-\u0e44\u0ec0-\u0ec4]").match
_DASHES = "-\u2010\u2012\u2013\u2014/"


def may_break(before: str, after: str) -> bool:
    """Tell whether a line may break between two characters neither of which is a space."""
    if before == "\u200b" or before == "\u0f0b":
        return True
    if after in NO_START or before in NO_END:
        return False
    if is_ideographic(before) or is_ideographic(after):
        return True
    if before in _DASHES:
        return after.isalnum()
    # A leading vowel of Thai or Lao begins a syllable; where words end, only a dictionary knows.
    return bool(_SYLLABLE_START(after)) and "\u0e00" <= before <= "\u0eff" and not _SYLLABLE_START(before)


def continues_cluster(character: str) -> bool:
    """Tell whether a line may never begin with the character, because it belongs to the one before."""
    return unicodedata.category(character) in ("Mn", "Me", "Mc") or bool(is_joining(character))


def is_wide(character: str) -> bool:
    """Tell whether a terminal gives the character two columns."""
    return unicodedata.east_asian_width(character) in ("W", "F")


@cache
def script(character: str) -> str:
    """Return the script of a letter or mark: the first word of its Unicode name, empty for what all scripts share."""
    if unicodedata.category(character) not in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nl"):
        return ""
    name = unicodedata.name(character, "")
    first = name.partition(" ")[0].partition("-")[0]
    return "" if first in ("COMBINING", "MODIFIER", "VARIATION", "ZERO") else first


def guess_locale(text: str, language: str) -> str:
    """Return ja, ko, zh-hans or zh-hant: whose shapes the Han characters of a document should have."""
    tag = language.casefold().replace("_", "-")
    if tag.startswith(("ja", "ko")):
        return tag[:2]
    if tag.startswith("zh"):
        return "zh-hant" if any(part in tag for part in ("hant", "-tw", "-hk", "-mo")) else "zh-hans"
    sample = text[:20_000]
    kana = len(re.findall("[\u3041-\u30ff]", sample))
    hangul = len(re.findall("[\uac00-\ud7a3]", sample))
    han = re.findall("[\u4e00-\u9fff]", sample)
    if kana * 8 > len(han) and kana >= hangul:
        return "ja"
    if hangul > len(han):
        return "ko"
    simplified = sum(1 for c in han if _fits(c, "gb2312"))
    traditional = sum(1 for c in han if _fits(c, "big5"))
    return "zh-hant" if traditional > simplified else "zh-hans"


@cache
def _fits(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


_COMMON = {
    tag: frozenset(words.split())
    for tag, words in (
        ("en", "the of and to in is that it was for are with as this be from"),
        ("de", "der die das und ist nicht mit ein eine den von für auf sich dem werden"),
        ("fr", "le la les des et est une un dans que pour qui pas au sur du"),
        ("es", "el la los las que en un una por con para se del como más"),
        ("it", "il la che di non un una per con sono della gli nel del si"),
        ("pt", "os uma não que para com do da em são mais dos no na um"),
        ("nl", "het een van en dat niet zijn voor met op de is te aan ook bij"),
        ("pl", "na się nie że do jest to jak po od przez dla lub oraz"),
        ("sv", "och att det som en på är av för med den inte till ett om har"),
        ("tr", "bir ve bu için ile de da olarak çok daha gibi ne olan sonra"),
        ("ru", "не на что по это как для из от за все он его но"),
        ("uk", "не на що та до це як за від його але про для"),
    )
}
"""Words that hardly any sentence of a language is without."""

_LEAST_COMMON, _CLEARLY = 0.08, 1.3


def _by_words(sample: str) -> str:
    words = re.findall(r"[^\W\d_]+", sample.casefold())
    counts = sorted(
        ((sum(1 for word in words if word in common), tag) for tag, common in _COMMON.items()), reverse=True
    )
    (most, tag), (second, _) = counts[:2]
    return tag if most >= 2 and most > _LEAST_COMMON * len(words) and most > _CLEARLY * second else ""


def guess_language(text: str) -> str:
    """Return a language tag by script, or by the commonest words; empty when neither tells."""
    sample = text[:20_000]
    total = max(len(re.findall(r"\w", sample)), 1)
    spans = (
        *(("he", "\u0590-\u05ff"), ("ar", "\u0600-\u06ff"), ("th", "\u0e00-\u0e7f"), ("hi", "\u0900-\u097f")),
        ("el", "\u0370-\u03ff"),
    )
    for tag, span in spans:
        if len(re.findall(f"[{span}]", sample)) * 2 > total:
            return tag
    if len(re.findall("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]", sample)) * 3 > total:
        locale = guess_locale(sample, "")
        return {"zh-hans": "zh-Hans", "zh-hant": "zh-Hant"}.get(locale, locale)
    return _by_words(sample)
