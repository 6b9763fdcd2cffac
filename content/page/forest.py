"""Evaluates boosted trees in plain Python; the weights come as JSON written by `bench/train_blocks.py`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Node = float | tuple[int, float, "Node", "Node"]
"""A leaf, or a column, the highest value that goes low, and the nodes on both sides."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees whose leaves add up to the log odds.

    Attributes:
        columns: the names of the values it looks at, by their place in a row.
        first: the trees that are always asked.
        rest: the trees that are asked when the first leave it open.
        sure: log odds of the first trees beyond which it is settled.
        stretch: what the log odds of the first trees are multiplied with then; the rest would have gone on like that.
    """

    columns: dict[int, str]
    first: tuple[Node, ...]
    rest: tuple[Node, ...]
    sure: float
    stretch: float

    @classmethod
    def parse(cls, weights: dict[str, Any]) -> "Forest":
        """Read the compact form: per tree the columns and cuts in preorder, -1 for a leaf, and the leaves' values."""
        columns = list(zip(weights["places"], weights["cuts"], strict=True))
        trees = tuple(_tree(nodes, leaves, columns, weights["unit"]) for nodes, leaves in weights["trees"])
        names = dict(zip(weights["places"], weights["names"], strict=True))
        early = weights["early"]
        return cls(names, trees[:early], trees[early:], weights["sure"], weights["stretch"])

    def probabilities(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """Return the probability of each row."""
        return [1 / (1 + math.exp(-self._odds(row))) for row in rows]

    def _odds(self, row: Sequence[float]) -> float:
        odds = _sum(self.first, row)
        return odds + _sum(self.rest, row) if -self.sure < odds < self.sure else odds * self.stretch


def _sum(trees: Sequence[Any], row: Sequence[float]) -> float:
    """Add up a row's leaves; nodes are told apart in the cheapest way, because a forest spends its time here."""
    total = 0.0
    for tree in trees:
        node = tree
        while node.__class__ is tuple:
            column, cut, low, high = node
            node = low if row[column] <= cut else high
        total += node
    return total


def _tree(nodes: list[int], leaves: list[int], columns: list[tuple[int, list[float]]], unit: float) -> Node:
    """Rebuild a tree from preorder; `nodes` alternates column and cut, with a single -1 for a leaf."""
    places = iter(nodes)
    values = iter(leaves)

    def grow() -> Node:
        number = next(places)
        if number < 0:
            return next(values) * unit
        column, cuts = columns[number]
        cut = cuts[next(places)]
        low = grow()
        return (column, cut, low, grow())

    return grow()
