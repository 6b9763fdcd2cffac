"""What a reader who named a file that does not exist may have meant."""

import difflib
import os
import unicodedata
from collections.abc import Callable, Iterable
from heapq import nlargest
from operator import add
from typing import NamedTuple

from .names import written

LOOKED_AT = 5_000
"""Names in a directory that are looked at; more would make an error slow."""

COMPARED = 200
"""Of them, how many are compared letter by letter: those that share most pairs of letters with what was asked for."""

_NAME_CHARACTERS = 255
"""More than any file system's names have: Unicode's forms take time by the square of a run of marks."""

OFFERED = 3
"""Names that an error offers."""

_FALLBACK = "Check the path with directory_tree"


class Shelf(NamedTuple):
    """Where to look.

    Attributes:
        real: the path that does not exist.
        names: lists a directory up to a limit; None if it may not be seen.
    """

    real: str
    names: Callable[[str, int], list[str] | None]


def suggestion(shelf: Shelf) -> str:
    """Say in one line what to do about a path that does not exist, with close names where they may be told."""
    missing, parent = os.path.basename(shelf.real), os.path.dirname(shelf.real)  # noqa: PTH119, PTH120
    names = shelf.names(parent, LOOKED_AT)
    while names is None and parent != os.path.dirname(parent):  # noqa: PTH120
        missing, parent = os.path.basename(parent), os.path.dirname(parent)  # noqa: PTH119, PTH120
        names = shelf.names(parent, LOOKED_AT)
    if names is None:
        return _FALLBACK
    close = _close(missing, names)
    if close:
        return "Did you mean " + " or ".join(f"'{written(os.path.join(parent, name))}'" for name in close)  # noqa: PTH118
    return f"There is no '{written(missing)[:100]}' in '{written(parent)}'; look at it with directory_tree"


def _close(missing: str, names: list[str]) -> list[str]:
    """Return the names closest to `missing`: other case or Unicode form first, then similar spelling."""
    plain = {name: unicodedata.normalize("NFKC", written(name)).casefold() for name in sorted(names)}
    wanted = unicodedata.normalize("NFKC", written(missing[:_NAME_CHARACTERS])).casefold()
    same = [name for name, form in plain.items() if form == wanted]
    if same:
        return same[:OFFERED]
    forms = {form: name for name, form in plain.items()}
    wanted = wanted[:255]
    likely = forms if len(forms) <= COMPARED else _likely(wanted, forms)
    return [forms[form] for form in difflib.get_close_matches(wanted, likely, n=OFFERED, cutoff=0.6)]


def _likely(wanted: str, forms: Iterable[str]) -> list[str]:
    """Return the most likely of many names by a measure that takes a microsecond or two, where difflib takes 50."""
    pairs = _pairs(wanted)

    def likeness(form: str) -> float:
        own = _pairs(form)
        return len(pairs & own) / (len(pairs) + len(own) or 1)

    return nlargest(COMPARED, forms, likeness)


def _pairs(text: str) -> set[str]:
    return set(map(add, text, text[1:]))
