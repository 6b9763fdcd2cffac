"""Judges one line: does it tell of something fatal, of an error, of a warning, or only mention such words?"""

import re
from functools import lru_cache

from .pattern import compile_bytes

WARNING, ERROR, FATAL = 1, 2, 3

_GRADED = {
    FATAL: (
        "traceback|fatal|panic(?:ked)?|segfault|segmentation fault|core dumped|out of memory|critical|emergency"
        "|致命|崩溃|段错误"
    ),
    ERROR: (
        "errors?|errno|err|exceptions?|fail(?:ed|ures?|s|ing)?|crit|severe|assertion|abort(?:ed|ing)?|killed|unhandled"
        "|corrupt(?:ed|ion)?|undefined reference|exit(?:ed with)?(?: code| status)"
        "|错误|錯誤|异常|異常|失败|失敗|エラー|例外|오류|실패|ошибк|Ошибк|ОШИБК|خطأ|فشل|שגיאה|✗|✖|✕|❌"
        "|erreur|échec|fehler|fehlgeschlagen"
    ),
    WARNING: (
        "warn(?:ings?)?|deprecat(?:ed|ion)|denied|refused|timed out|not found|cannot|unable to"
        "|警告|경고|предупрежд|Предупрежд|تحذير"
    ),
}

CANDIDATE_WORDS = (
    "error|errno|\\berr\\b|exception|traceback|fatal|panic|fail|critical|\\bcrit\\b|severe|emergency|assertion"
    "|segfault|segmentation fault|core dumped|out of memory|abort|\\bkilled\\b|unhandled|corrupt|undefined reference"
    "|\\bexit(?:ed with)?(?: code| status)|warn|deprecat|denied|refused|timed out|not found|\\bcannot\\b|unable to"
    "|致命|崩溃|段错误|错误|錯誤|异常|異常|失败|失敗|エラー|例外|오류|실패|ошибк|Ошибк|ОШИБК|خطأ|فشل|שגיאה|✗|✖|✕|❌"
    "|erreur|échec|fehler|fehlgeschlagen|警告|경고|предупрежд|Предупрежд|تحذير"
)
"""Whatever `severity` may grade holds one of these, in any case of letters; cheap to search for, and too broad."""

_TOKEN_BYTES = 64

ZEROS = (
    r"(?:errors?|exceptions?|fail(?:ed|ures?)?|warnings?|exit(?:ed with)?(?: code| status))(?:\(s\))?[\"']?\s?[:= ]\s?"
    r"[\"']?0\b|[ (\[\"']0[ \"':]{1,3}(?:[a-z]+ )?(?:error|exception|fail|warning)"
)
"""Counts of nothing, which make a line harmless that equals a bad one but for its digits."""


_WORD = compile_bytes("|".join(_GRADED[grade] for grade in (FATAL, ERROR, WARNING)), any_case=True)
_WHOLE = {grade: compile_bytes(words, any_case=True) for grade, words in _GRADED.items()}

_NONE = frozenset((b"0", b"no", b"zero", b"without", b"any", b"ignore", b"ignoring"))
_BETWEEN = frozenset((b"test", b"tests", b"checks", b"files", b"known", b"new", b"unexpected", b"further", b"other"))
_NONE_FOREIGN = re.compile("(?:没有(?:发现|任何)?|无|未发生|未发现|未见|(?<![0-9])0 ?个|без )$".encode())
_NOTHING_BEHIND = re.compile(
    rb"(?:\(s\))?[\"']?\s{0,2}[:=]\s{0,2}"
    rb"(?:[\"']?0[\"']?(?![\d.x])|null|none|nil|false|undefined|no\b|\[\s?\]|\{\}|\"\"|'')",
    re.IGNORECASE,
)
_NAME_BEHIND = re.compile(rb"[A-Za-z0-9/]|[.-][a-z]")
_ENCODED = re.compile(rb"(?=[A-Za-z/+]*[0-9])(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9+/]{40,}={0,2}")
_NONZERO_BEHIND = re.compile(rb"[ :=]{1,3}-?[1-9]")


def severity(line: bytes) -> int:
    """Grade a line, or a stretch of a long one: 0 when nothing stands out, else WARNING, ERROR or FATAL.

    Zero counts (`0 errors`, `failed: 0`, `"error": null`) and names (`error_handler.py`, `--fail-fast`) do not.
    """
    return max((grade for grade, _, _ in _words(line)), default=0)


def word(line: str) -> str:
    """Return the word for which a line stands out, as it is written there; empty when it does not stand out."""
    raw = line.encode("utf-8", "replace")
    _, start, end = max(_words(raw), key=lambda found: found[0], default=(0, 0, 0))
    return raw[start:end].decode("utf-8", "replace")


def _words(line: bytes) -> list[tuple[int, int, int]]:
    """Return (grade, start, end) of each word that counts."""
    found: list[tuple[int, int, int]] = []
    for match in _WORD.finditer(line):
        start, end = match.start(), match.end()
        named = line[start:end].lower()
        if not named.isascii():
            counts = not _NONE_FOREIGN.search(line[max(0, start - 24) : start])
        elif named.startswith(b"exit"):
            counts = _NONZERO_BEHIND.match(line, end) is not None
        else:
            counts = _counts(line, start, end)
        if counts:
            found.append((_grade(named), start, end))
    return found


def _token(line: bytes, start: int, end: int) -> bytes:
    """Return what stands between white space about a word, of a long one the part near to the word."""
    before = line[max(0, start - _TOKEN_BYTES) : start].split()
    behind = line[end : end + _TOKEN_BYTES].split()
    left = before[-1] if before and not line[start - 1 : start].isspace() else b""
    right = behind[0] if behind and not line[end : end + 1].isspace() else b""
    return left + line[start:end] + right


@lru_cache(maxsize=256)
def _grade(named: bytes) -> int:
    return next(grade for grade, whole in _WHOLE.items() if whole.fullmatch(named))


def _counts(line: bytes, start: int, end: int) -> bool:
    """Tell a word of a message from a part of a name, and from a count of nothing.

    `ValueError` and `SSL_ERROR` count; `on_error`, `terror`, `no errors` and what stands in base64 do not.
    """
    if _ENCODED.fullmatch(_token(line, start, end)):
        return False
    capital, shouted = line[start : start + 1].isupper(), line[start + 1 : start + 2].isupper()
    before = line[start - 1 : start] if start else b" "
    if before.isalnum() and (shouted or not capital):
        return False
    if before in b"_-/." and not capital:
        return False
    behind = line[end : end + 1]
    if behind == b"_":
        return shouted
    if _NAME_BEHIND.match(line, end):
        return False
    if before.isalnum():
        return True
    if _NOTHING_BEHIND.match(line, end):
        return False
    words = line[max(0, start - 24) : start].lower().replace(b":", b" ").split()[-2:]
    words = [one.strip(b"\"'([{,") for one in words]
    return not words or not (words[-1] in _NONE or (words[0] in _NONE and words[-1] in _BETWEEN))
