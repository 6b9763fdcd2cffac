"""Writes names and texts as SQL has them."""

import re

WHOLE = "_"
"""The table of a content's own rows, among those that are made of it; the others are its parts."""

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII | re.IGNORECASE)
_RESERVED = frozenset(
    "all analyse analyze and anti any array as asc asof asymmetric at both case cast check collate column concurrently "
    "constraint create cross default deferrable desc describe distinct do else end except false fetch for foreign "
    "freeze from full glob grant group having ilike in initially inner intersect into is isnull join lambda lateral "
    "leading left like limit map natural not notnull null offset on only or order outer overlaps pivot pivot_longer "
    "pivot_wider placing positional primary qualify references returning right select semi show similar some struct "
    "summarize symmetric table tablesample then to trailing true try_cast union unique unpivot using variadic verbose "
    "when where window with".split()
)


def literal(text: object) -> str:
    """Write a text."""
    return "'" + str(text).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Write a name, in quotes if it needs them."""
    if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'
