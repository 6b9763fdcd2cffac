"""The language of a text, as far as its letters and commonest words tell."""

import re
from functools import cache

_SAMPLE_CHARACTERS = 20_000

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

_LEAST_SHARE, _CLEARLY = 0.08, 1.3
"""How many of a text's words must be such ones, and how many more than of the next language."""

_SCRIPTS = (
    ("he", re.compile("[\u0590-\u05ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("el", re.compile("[\u0370-\u03ff]")),
)
_KANA, _HANGUL, _HAN = (re.compile(span) for span in ("[\u3041-\u30ff]", "[\uac00-\ud7a3]", "[\u3400-\u9fff]"))


def guess_language(text: str) -> str:
    """Return a language tag by script, or by the commonest words; empty when neither tells."""
    sample = text[:_SAMPLE_CHARACTERS]
    total = max(len(re.findall(r"\w", sample)), 1)
    for tag, letters in _SCRIPTS:
        if len(letters.findall(sample)) * 2 > total:
            return tag
    if sum(len(letters.findall(sample)) for letters in (_KANA, _HANGUL, _HAN)) * 3 > total:
        return guess_locale(sample, "").replace("hans", "Hans").replace("hant", "Hant")
    words = re.findall(r"[^\W\d_]+", sample.casefold())
    counts = sorted((sum(word in common for word in words), tag) for tag, common in _COMMON.items())
    (second, _), (most, tag) = counts[-2:]
    return tag if most >= 2 and most > _LEAST_SHARE * len(words) and most > _CLEARLY * second else ""


def guess_locale(text: str, language: str) -> str:
    """Return ja, ko, zh-hans or zh-hant: whose shapes the Han characters of a document should have."""
    tag = language.casefold().replace("_", "-")
    if tag.startswith(("ja", "ko")):
        return tag[:2]
    if tag.startswith("zh"):
        return "zh-hant" if any(part in tag for part in ("hant", "-tw", "-hk", "-mo")) else "zh-hans"
    sample = text[:_SAMPLE_CHARACTERS]
    kana, hangul, han = (letters.findall(sample) for letters in (_KANA, _HANGUL, _HAN))
    if len(kana) * 8 > len(han) and len(kana) >= len(hangul):
        return "ja"
    if len(hangul) > len(han):
        return "ko"
    simplified, traditional = (sum(_has(encoding, character) for character in han) for encoding in ("gb2312", "big5"))
    return "zh-hant" if traditional > simplified else "zh-hans"


@cache
def _has(encoding: str, character: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
