"""The JSON form of a value, in which all that a model is shown reaches it, and what that costs."""

import json

from . import tokens
from .clean import escaped
from .cut import Allowance

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def dumps(value: object) -> str:
    """Serialise on one line, compactly, with every character as itself, but escapes for those that act unseen.

    Raises:
        ValueError: NaN or an infinity is in it; JSON has no such numbers.
    """
    return escaped(_encode(value))


def cost(value: object) -> Allowance:
    """Return the tokens and the bytes of a value's JSON form."""
    text = dumps(value)
    return Allowance(tokens.count(text), len(text.encode()))


def within(value: object, allowance: Allowance) -> bool:
    """Tell whether a value's JSON form is within both ceilings."""
    return text_within(dumps(value), allowance)


def text_within(text: str, allowance: Allowance) -> bool:
    """Tell whether a text, as it stands, is within both ceilings."""
    size = len(text.encode())
    # There are never more tokens than bytes: what is small enough needs no counting.
    return size <= allowance.bytes and (size <= allowance.tokens or tokens.fits(text, allowance.tokens))


def less(allowance: Allowance, taken: Allowance) -> Allowance:
    """Return what remains of an allowance; never below nothing."""
    return Allowance(max(0, allowance.tokens - taken.tokens), max(0, allowance.bytes - taken.bytes))
