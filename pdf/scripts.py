"""What the scripts of the world ask of a typesetter: which must be shaped, which run leftwards, where lines break."""

import re
import unicodedata
from functools import cache

import regex

CLUSTER = regex.compile(r"\X", regex.DOTALL)
"""A grapheme cluster: what a reader sees as one character."""

_MARKS = (
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

needs_rtl = re.compile(f"[{_RTL}]").search
needs_shaping = re.compile(f"[{_SHAPED}{_MARKS}]").search
is_shaped_script = re.compile(f"[{_SHAPED}]").match
is_mark = re.compile(f"[{_MARKS}]").match
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

_NO_START = frozenset(
    "!%),.:;?]}¢°·’”†‡›℃∶、。〃〆〕〗〞﹚﹜！＂％＇），．：；？］｝～〉》」』】〙〟｝｠»ヽヾーァィゥェォッャュョヮヵヶ"
    "ぁぃぅぇぉっゃゅょゎゕゖㇰㇱㇲㇳㇴㇵㇶㇷㇸㇹㇺㇻㇼㇽㇾㇿ々〻‐゠–〜‼⁇⁈⁉・…‥％‰′″゛゜ｧｨｩｪｫｬｭｮｯｰ｡｣､"
)
"""Characters that may not begin a line (kinsoku)."""

_NO_END = frozenset("([{£¥‘“‹〈《「『【〔〖〝﹙﹛＄（．［｛￡￥〘｟«＃＠$#@｢")
"""Characters that may not end a line."""

_SYLLABLE_START = re.compile("[\u0e40-\u0e44\u0ec0-\u0ec4]").match
_DASHES = "-\u2010\u2012\u2013\u2014/"


def may_break(before: str, after: str) -> bool:
    """Tell whether a line may break between two characters neither of which is a space."""
    if before == "\u200b" or before == "\u0f0b":
        return True
    if after in _NO_START or before in _NO_END:
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
