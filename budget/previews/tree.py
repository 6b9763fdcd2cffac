"""The picture of a directory tree: as much of it, breadth first, as fits an allowance."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .. import cut
from ..cut import Allowance
from .base import Preview

PICTURE_TOKENS = 450
"""A picture that is not the whole tree takes no more: beyond it a question (`grep`, a deeper path) is cheaper."""

_ROUNDS = ((60, 20, 12, 5), (300, 40, 40, 20), (1 << 30, 200, 1 << 30, 40))
"""How many directories and files of the root, and of any other directory, are shown before the next round begins."""

_CROWD = 200
"""Files in one directory of which only the second round's share is shown: more names of a kind say nothing new."""

_KINDS_SHOWN = 4

_LEAST_LINE_BYTES = 4

_ALIKE_LEAST = 5
"""As many directories side by side that are alike but for digits are drawn as one."""

_NO_DIGITS = str.maketrans("", "", "0123456789")


@dataclass(frozen=True, slots=True)
class Total:
    """What lies below a directory, at any depth.

    Attributes:
        files: entries that are not directories.
        directories: not counting the directory itself.
        bytes: sizes of the files as the file system tells them.
        at_least: the counting was not finished.
    """

    files: int = 0
    directories: int = 0
    bytes: int = 0
    at_least: bool = False

    def __str__(self) -> str:
        if not self.files and not self.directories:
            return "≥0 files" if self.at_least else "empty"
        parts = [_count(self.files, "file")] if self.files else []
        parts += [_count(self.directories, "dir")] if self.directories else []
        parts += [size(self.bytes)] if self.files else []
        return ("≥" if self.at_least else "") + ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Leaf:
    """An entry that is not a directory; `text` is its line: name and size, or link and target."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A directory, listed or only counted.

    Attributes:
        name: as it is shown, one line, without the closing slash.
        total: what lies below it.
        branches: its directories, in the order of the listing; empty if it is not listed.
        leaves: its first other entries, in the order of the listing; empty if it is not listed.
        leaves_in_all: how many other entries it has; 0 if it is not listed.
        last_leaf: the name of the last of them.
        kinds: how many of them have which suffix.
        note: what else is to be said of it, such as `3 ignored`.
    """

    name: str
    total: Total
    branches: Sequence["Branch"] = ()
    leaves: Sequence[Leaf] = ()
    leaves_in_all: int = 0
    last_leaf: str = ""
    kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    note: str = ""


def size(count: int) -> str:
    """Write a number of bytes in at most five characters: `812`, `1.2K`, `45K`, `3.0M`, in powers of 1,024."""
    if count < 1024:
        return str(count)
    amount = float(count)
    for unit in "KMGTPE":
        amount /= 1024
        if amount < 9.95:
            return f"{amount:.1f}{unit}"
        if amount < 1023.5:
            return f"{amount:.0f}{unit}"
    return f"{amount:.0f}E"


def suffix(name: str) -> str:
    """Return what kind of file a name tells: `.py`; the empty text if it tells nothing."""
    stem, dot, end = name.rpartition(".")
    return f".{end}" if dot and stem and 0 < len(end) <= 10 and end[0].isalpha() else ""


def picture(tree: Branch, allowance: Allowance) -> str:
    """Draw the tree: whole if it fits, else as much as fits; nearer entries first, fairly among directories.

    What is left out of a directory is counted in a line of its own, with its size or its commonest suffixes.
    """
    return _fitted(tree, allowance, _Folds())[0]


class _Folds:
    """Directories side by side that are alike: the first stands for them all, which frees room to go deeper.

    Alike are names that differ in digits only and equal numbers of files and directories, with sizes that differ by
    less than half and twice the middle one.
    """

    def __init__(self) -> None:
        self._drawn: dict[int, Sequence[Branch]] = {}
        self._alike: dict[int, Sequence[Branch]] = {}

    def branches(self, parent: Branch) -> Sequence[Branch]:
        """Return the directories of a directory that are drawn one by one."""
        if id(parent) not in self._drawn:
            self._drawn[id(parent)] = self._fold(parent.branches)
        return self._drawn[id(parent)]

    def alike(self, branch: Branch) -> Sequence[Branch]:
        """Return the directories that a drawn one stands for besides itself."""
        return self._alike.get(id(branch), ())

    def _fold(self, branches: Sequence[Branch]) -> Sequence[Branch]:
        groups: dict[tuple[object, ...], list[Branch]] = {}
        for each in branches:
            total = each.total
            key = (each.name.translate(_NO_DIGITS), total.files, total.directories, total.at_least, each.note)
            groups.setdefault(key, []).append(each)
        hidden: set[int] = set()
        for group in groups.values():
            middle = sorted(each.total.bytes for each in group)[len(group) // 2]
            same = [each for each in group if middle <= 2 * each.total.bytes <= 4 * middle]
            if len(same) >= _ALIKE_LEAST:
                self._alike[id(same[0])] = same[1:]
                hidden.update(id(each) for each in same[1:])
        return [each for each in branches if id(each) not in hidden] if hidden else branches


class _Unfolded(_Folds):
    """Every directory by itself."""

    def _fold(self, branches: Sequence[Branch]) -> Sequence[Branch]:
        return branches


def _fitted(tree: Branch, allowance: Allowance, folds: _Folds) -> tuple[str, "list[_Step] | None"]:
    """Return the picture and the entries it shows besides the root; None if not even that is shown in full."""
    steps = _reachable(tree, allowance, folds)

    def fits(count: int) -> bool:
        return cut.fits(_drawn(tree, steps[:count], folds), allowance)

    shown = steps if fits(len(steps)) else steps[: cut.longest(len(steps) - 1, fits)]
    drawn = _drawn(tree, shown, folds)
    return (drawn, shown) if cut.fits(drawn, allowance) else (cut.head(_line(tree, 0), allowance), None)


@dataclass(frozen=True, slots=True)
class TreeView:
    """Shows a tree in a reply.

    Attributes:
        tree: what is shown.
        entries: how many entries the listing has, the root included.
    """

    tree: Branch
    entries: int
    _folds: _Folds = field(default_factory=_Folds, repr=False, compare=False)

    def whole(self, allowance: Allowance) -> str | None:
        """Return the whole listing as a tree if it fits."""
        if self.entries * _LEAST_LINE_BYTES > allowance.bytes:
            return None
        unfolded = _Unfolded()
        drawn = _drawn(self.tree, list(_order(self.tree, unfolded)), unfolded)
        return drawn if cut.fits(drawn, allowance) else None

    def part(self, allowance: Allowance) -> Preview:
        """Show the picture, and where in the listing the first entry stands that is not in it."""
        room = Allowance(min(allowance.tokens, PICTURE_TOKENS), allowance.bytes)
        drawn, steps = _fitted(self.tree, room, self._folds)
        hidden = self.entries if steps is None else self.entries - 1 - len(steps)
        first = 1 if steps is None else _first_hidden(self.tree, steps, self._folds)
        return Preview(drawn, f"{hidden:,} of {_count(self.entries, 'entry')} not shown", {"lines": f"{first}-"})


def _count(number: int, noun: str) -> str:
    many = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


_Step = tuple[Branch, bool]
"""Shows one more entry of a directory: its next directory (True) or its next other entry."""


def _first_hidden(tree: Branch, steps: Sequence[_Step], folds: _Folds) -> int:
    """Return the line of the listing, from 1, on which the first entry stands that is not shown."""
    branches, leaves = _shown(steps)
    line = 0
    pending = [(tree, True)]
    while pending:
        branch, is_shown = pending.pop()
        line += 1
        if not is_shown:
            break
        if leaves[id(branch)] < branch.leaves_in_all:
            return line + leaves[id(branch)] + 1
        line += branch.leaves_in_all
        drawn = {id(each) for each in folds.branches(branch)[: branches[id(branch)]]}
        pending += [(each, id(each) in drawn) for each in reversed(branch.branches)]
    return line


def _order(tree: Branch, folds: _Folds) -> Iterator[_Step]:
    """Yield the steps that reveal the tree: round by round, in each level by level; in each directory by name."""
    shown: dict[int, tuple[int, int]] = {}
    for root_branches, root_leaves, branches, leaves in _ROUNDS:
        level = [tree]
        while level:
            below: list[Branch] = []
            for parent in level:
                inside = folds.branches(parent)
                had_branches, had_leaves = shown.get(id(parent), (0, 0))
                end_branches = min(root_branches if parent is tree else branches, len(inside))
                end_leaves = min(root_leaves if parent is tree else leaves, len(parent.leaves))
                end_leaves = min(end_leaves, _ROUNDS[1][1]) if parent.leaves_in_all > _CROWD else end_leaves
                end_branches, end_leaves = max(end_branches, had_branches), max(end_leaves, had_leaves)
                yield from ((parent, True) for _ in range(had_branches, end_branches))
                yield from ((parent, False) for _ in range(had_leaves, end_leaves))
                shown[id(parent)] = end_branches, end_leaves
                below += inside[:end_branches]
            level = below


def _reachable(tree: Branch, allowance: Allowance, folds: _Folds) -> list[_Step]:
    """Return the first steps, no more than could ever fit."""
    most = allowance.bytes // _LEAST_LINE_BYTES + 1
    steps: list[_Step] = []
    for step in _order(tree, folds):
        steps.append(step)
        if len(steps) >= most:
            break
    return steps


def _shown(steps: Sequence[_Step]) -> tuple[Counter[int], Counter[int]]:
    """Return how many of its directories, and of its other entries, each directory shows."""
    branches, leaves = Counter[int](), Counter[int]()
    for parent, is_branch in steps:
        (branches if is_branch else leaves)[id(parent)] += 1
    return branches, leaves


def _drawn(tree: Branch, steps: Sequence[_Step], folds: _Folds) -> str:
    branches, leaves = _shown(steps)
    lines: list[str] = []
    pending: list[tuple[Branch | str, int]] = [(tree, 0)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, str):
            lines.append(" " * depth + item)
            continue
        lines.append(_line(item, depth))
        shown_branches, shown_leaves = branches[id(item)], leaves[id(item)]
        inside: list[tuple[Branch | str, int]] = []
        for branch in folds.branches(item)[:shown_branches]:
            inside.append((branch, depth + 1))
            inside += [(text, depth + 1) for text in _alike(folds.alike(branch))]
        if shown_branches or shown_leaves or not depth:
            inside += [(text, depth + 1) for text in _rest_of_branches(item, shown_branches, folds)]
            inside += [(leaf.text, depth + 1) for leaf in item.leaves[:shown_leaves]]
            inside += [(text, depth + 1) for text in _rest_of_leaves(item, shown_leaves)]
        pending += reversed(inside)
    return "\n".join(lines)


def _line(branch: Branch, depth: int) -> str:
    total = branch.total
    said = [str(total)] if total.files or total.directories or not branch.note else []
    return f"{' ' * depth}{branch.name.removesuffix('/')}/  {'; '.join([*said, branch.note] if branch.note else said)}"


def _alike(branches: Sequence[Branch]) -> list[str]:
    if not branches:
        return []
    one, total = branches[0].total, _sum(branches)
    each = Total(one.files, one.directories, total.bytes // len(branches), one.at_least)
    about = "" if all(branch.total.bytes == one.bytes for branch in branches) else " on average"
    named = f"{branches[0].name}/ to {branches[-1].name}/"
    return [f"… {_count(len(branches), 'more dir')} alike, {named}: {each} each{about}"]


def _rest_of_branches(branch: Branch, shown: int, folds: _Folds) -> list[str]:
    drawn = folds.branches(branch)[:shown]
    told = {id(each) for one in drawn for each in (one, *folds.alike(one))}
    rest = [each for each in branch.branches if id(each) not in told]
    if not rest:
        return []
    last = f" to {rest[-1].name}/" if len(rest) > 1 else ""
    return [f"… {_count(len(rest), 'more dir')}, {rest[0].name}/{last}: {_sum(rest)}"]


def _sum(rest: Sequence[Branch]) -> Total:
    return Total(
        sum(each.total.files for each in rest),
        sum(each.total.directories for each in rest),
        sum(each.total.bytes for each in rest),
        any(each.total.at_least for each in rest),
    )


def _rest_of_leaves(branch: Branch, shown: int) -> list[str]:
    rest = branch.leaves_in_all - shown
    if not rest:
        return []
    kinds = Counter(branch.kinds)
    kinds.subtract(suffix(leaf.name) for leaf in branch.leaves[:shown])
    named = sorted(
        ((kind, number) for kind, number in kinds.items() if kind and number > 0), key=lambda k: (-k[1], k[0])
    )
    texts = [f"{number:,} {kind}" for kind, number in named[:_KINDS_SHOWN]]
    others = rest - sum(number for _, number in named[:_KINDS_SHOWN])
    texts += [f"{others:,} other"] if others and texts else []
    last = f", last {branch.last_leaf}" if rest > 1 else ""
    return [f"… {_count(rest, 'more file')}{last}" + (f": {', '.join(texts)}" if texts else "")]
