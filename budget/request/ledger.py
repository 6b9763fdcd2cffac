"""What stands for messages that were dropped: what the user said, what was done and how it ended, names, errors."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, cast

from ..clean import clean
from .facts import decided
from .recall import shortened
from .state import Measured, count
from .wire import Part, dumps

_DID_MAX_CHARACTERS = 160
_SAID_MAX_CHARACTERS = 400
_ERROR_MAX_CHARACTERS = 200
_SEARCHED_MAX_CHARACTERS = 64 << 10
_ERROR_WORDS = ("Error:", "error:", "ERROR", "FAILED", "Exception: ", "fatal: ", "panic: ", "失败", "错误")
_SHARES = {"did": 0.3, "files": 0.25, "names": 0.2, "decided": 0.15, "errors": 0.1}
"""Of the ledger, what each may take; what one leaves goes to the next."""

_EXIT_CODE = re.compile(r"(?i)(?:exit[_ ](?:code|status)|returncode)\W{1,4}(\d{1,3})")
_EXIT_CODE_WITHIN = 300


def build(span: Sequence[Measured], allowance: int, of_user: int) -> dict[str, Any]:
    """Tell what messages held, each kind by use and the latest first, within `allowance` tokens.

    Args:
        span: the messages that are dropped.
        allowance: tokens for all but what the user said.
        of_user: tokens for what the user said, which stays verbatim but for what takes more than a quarter of them.
    """
    calls: list[tuple[Part, int | None]] = []
    made: dict[str, int] = {}
    for part in (part for one in span for part in one.parts):
        if part.kind == "call":
            made[part.call] = len(calls)
            calls.append((part, None))
        elif (code := exit_code(part)) is not None and part.call in made:
            calls[made[part.call]] = (calls[made[part.call]][0], code)
    known: Counter[str] = Counter()
    for one in span:
        if one.role == "assistant":
            known.update(one.names)
    ranked = [name for name, _ in known.most_common()]
    gathered: dict[str, Iterable[str]] = {
        "did": (_did(part, code) for part, code in reversed(calls)),
        "files": (name for name in ranked if "/" in name),
        "names": (name for name in ranked if "/" not in name),
        "decided": (found for one in reversed(span) if one.role == "assistant" for found in _sentences(one)),
        "errors": (line for one in reversed(span) for line in _errors(one)),
    }
    told: dict[str, Any] = {}
    said = (part.text for one in span if one.has_prompt for part in one.of_user if part.text)
    if user := _first(
        (text if 4 * count(text) <= of_user else shortened(text, _SAID_MAX_CHARACTERS) for text in said), of_user
    ):
        told["user"] = user
    left = 0
    for kind, share in _SHARES.items():
        left += int(share * allowance)
        if items := _first(gathered[kind], left):
            told[kind] = items
            left -= count(dumps(items))
    return told


def exit_code(part: Part) -> int | None:
    """Return how a command ended, if its result says so at its start or end."""
    if part.kind != "result":
        return None
    for end in (part.text[:_EXIT_CODE_WITHIN], part.text[-_EXIT_CODE_WITHIN:]):
        if (found := _EXIT_CODE.search(end)) is not None:
            return int(found.group(1))
    return None


def _first(items: Iterable[str], allowance: int) -> list[str]:
    """Return the first items, none twice, that have so many tokens together."""
    taken: dict[str, None] = {}
    for item in items:
        if item in taken:
            continue
        cost = count(item) + 3
        if cost > allowance:
            break
        allowance -= cost
        taken[item] = None
    return list(taken)


def _did(call: Part, code: int | None) -> str:
    try:
        given: Any = json.loads(call.text)
    except ValueError:
        given = call.text
    values = list(cast("dict[str, Any]", given).values()) if isinstance(given, dict) else []
    # The only argument of a call is known by itself.
    text = str(values[0]) if len(values) == 1 else call.text
    return shortened(f"{call.name}: {text}", _DID_MAX_CHARACTERS) + (f" → {code}" if code else "")


def _sentences(one: Measured) -> Iterable[str]:
    return (found for part in one.parts if part.kind == "text" for found in decided(part.text))


def _errors(one: Measured) -> Iterable[str]:
    """Yield the lines of results in which tools tell of failures, the last first."""
    for part in one.parts:
        text = part.text[-_SEARCHED_MAX_CHARACTERS:]
        words = [word for word in _ERROR_WORDS if word in text]
        if part.kind == "result" and words:
            for line in reversed(text.splitlines()):
                if any(word in line for word in words):
                    yield clean(line.strip(), _ERROR_MAX_CHARACTERS)
