"""Tables: columns as wide as their words need, smaller letters before words are broken, parts when columns are many."""

from __future__ import annotations

from typing import TypeVar

from .inline import Node, Runs, broadest, fitted, plain
from .measure import longest, width

_PADDING = 5.5
"""White on the left and the right of a cell, in points."""

_NARROWEST = 38.0
"""Of a column, in points; a table with more columns than fit comes in parts."""

_SIZES = (0.92, 0.84, 0.76, 0.66)
"""Of text in a table, in sizes of the text around it: it shrinks before words are broken."""

_HEAD_LINES = 12
"""A longer header is not repeated on every page."""

_SAFE = 1.04
"""What is measured may be a little wider."""

Row = list[Runs]
T = TypeVar("T")


def parts_of(rows: list[Row], aligned: list[str], room: float, size: float) -> tuple[list[Node], str]:
    """Return the nodes of a table, and a sentence if it had to be divided.

    Args:
        rows: of which the first is the header; all as long as that.
        aligned: how each column is aligned; empty as its text runs.
        room: width of the whole in points.
        size: of the text around it in points.
    """
    columns, most = len(rows[0]), max(int(room // _NARROWEST), 1)
    texts = [[plain(cell) for cell in row] for row in rows]
    if columns <= most:
        return [_part(rows, texts, aligned, room, _letter(texts, room, size), "")], ""
    step = max(most - 1, 1)
    parts: list[tuple[list[Row], list[list[str]], list[str], str]] = []
    for first in range(1, columns, step):
        end = min(first + step, columns)
        chosen = [0, *range(first, end)]

        def cut(rows: list[list[T]], chosen: list[int] = chosen) -> list[list[T]]:
            return [[row[i] for i in chosen] for row in rows]

        name = f"Columns {first + 1 if first > 1 else 1} to {end} of {columns}"
        parts.append((cut(rows), cut(texts), [aligned[i] for i in chosen], name))
    # All of a table has letters of one size.
    letter = min(_letter(texts, room, size) for _, texts, _, _ in parts)
    nodes = [_part(rows, texts, aligned, room, letter, name) for rows, texts, aligned, name in parts]
    return nodes, f"A table of {columns} columns was divided into parts of at most {most} columns."


def _letter(texts: list[list[str]], room: float, size: float) -> float:
    """Return the largest size of letters of which no word has to be broken, or else the smallest, in points."""
    words = sum(max(map(longest, column)) for column in zip(*texts, strict=True))
    room -= 2 * _PADDING * len(texts[0])
    return size * next((factor for factor in _SIZES if words * _SAFE * size * factor <= room), _SIZES[-1])


def _part(rows: list[Row], texts: list[list[str]], aligned: list[str], room: float, letter: float, name: str) -> Node:
    columns = list(zip(*texts, strict=True))
    whole = [max(max(map(width, text.split("\n"))) for text in column) for column in columns]
    words = [max(map(longest, column)) for column in columns]
    room -= 2 * _PADDING * len(columns)
    # No column is narrower than its pictures, which are given no more than an equal share of the room.
    least = [max(4.0, *(broadest(row[i]) for row in rows)) for i in range(len(columns))]

    def in_points(sizes: list[float]) -> list[float]:
        return [max(size * _SAFE * letter, narrowest) for size, narrowest in zip(sizes, least, strict=True)]

    widths = _shared(in_points(words), in_points(whole), room)
    rows = [
        [
            fitted(cell, share / letter) if word * letter > share else cell
            for cell, word, share in zip(row, words, widths, strict=True)
        ]
        for row in rows
    ]
    lines = max(text * letter / share for text, share in zip(map(width, texts[0]), widths, strict=True))
    has_head = any(text.strip() for text in texts[0])
    head = "" if not has_head else "repeated" if lines <= _HEAD_LINES else "long"
    return ["table", name, letter, [w + 2 * _PADDING for w in widths], aligned, head, rows if has_head else rows[1:]]


def _shared(words: list[float], texts: list[float], room: float) -> list[float]:
    """Divide the room among columns: each gets its longest word, then what is left goes where text is long."""
    if sum(texts) <= room:
        return texts
    if sum(words) > room:
        return _fair(words, room)
    wishes = _fair([max(text - word, 0.0) for word, text in zip(words, texts, strict=True)], room - sum(words))
    return [word + wish for word, wish in zip(words, wishes, strict=True)]


def _fair(wishes: list[float], room: float) -> list[float]:
    """Divide the room: no share is larger than its wish, or larger than that of a larger wish."""
    shares = [0.0] * len(wishes)
    for done, index in enumerate(sorted(range(len(wishes)), key=lambda i: wishes[i])):
        shares[index] = min(wishes[index], room / (len(wishes) - done))
        room -= shares[index]
    return shares
