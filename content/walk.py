"""Walks a directory tree: to a depth for a picture of it, and below that for the figures and the listing of all."""

import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..budget.previews.tree import Branch, Leaf, Total, size, suffix
from ..guard.names import written
from ..guard.opened import OpenedDirectory
from .ignore import RULES_BYTES, Rules

COUNT_S = 2.0
"""Time for what lies below the depth; then the figures say `≥`."""

LISTED_MAX = 1_000_000
"""Entries; a listing of more would be some 100 MB."""

DEEPEST = 100
"""Levels below the depth: each costs an open descriptor."""

_LEAVES_KEPT = 1_000
"""Of one directory, for the picture; no reply shows more."""

_IGNORED_NAMED = 3
_BEAT_EVERY = 256

Beat = Callable[[float], None]
"""Given how many entries were seen; raises to stop."""


@dataclass(slots=True)
class Node:
    """A directory while it is walked.

    Attributes:
        path: as it is written in the listing, with its closing slash; empty for the directory that relative paths
            start from.
        way: the names that lead to it from the top.
        rules: what its .gitignore and those above it hide; None if everything is shown.
        ignored: names of its own entries that the rules hide.
        hidden: entries that the rules hide, in it and below.
        lines: stretches of the listing: its entries that are not directories, or below the depth all that it holds.
        listed: how many entries those are.
    """

    name: str
    path: str
    way: tuple[str, ...]
    rules: Rules | None
    files: int = 0
    bytes: int = 0
    directories: int = 0
    at_least: bool = False
    note: str = ""
    ignored: list[str] = field(default_factory=list[str])
    hidden: int = 0
    children: list["Node"] = field(default_factory=list["Node"])
    leaves: list[Leaf] = field(default_factory=list[Leaf])
    kinds: Counter[str] = field(default_factory=Counter[str])
    last_leaf: str = ""
    lines: list[str] = field(default_factory=list[str])
    listed: int = 0


class _TimeUpError(Exception):
    """Listing or counting took as long as it may."""


class Walk:
    """One walk over one tree.

    Attributes:
        seen: entries met so far.
        listed: entries in the listing, the top included.
        in_time: every directory was listed and counted to the end.
    """

    def __init__(self, top: OpenedDirectory, node: Node, *, depth: int, beat: Beat, list_s: float) -> None:
        self._top = top
        self._node = node
        self._depth = depth
        self._beat = beat
        self._start = time.monotonic()
        self._list_until = self._start + list_s
        self._pending: list[Node] = []
        self.seen = 0
        self.listed = 1
        self.in_time = True

    @property
    def ignored(self) -> int:
        """Entries hidden by rules where the walk came along; known when it has run."""
        return self._node.hidden

    def run(self) -> Branch:
        """Walk, and return the tree."""
        if self._depth:
            self._list(self._top, self._node, self._depth)
        else:
            self._pending.append(self._node)
        self._count_all(max(self._start + COUNT_S, time.monotonic() + COUNT_S / 4))
        _add_up(self._node)
        return _branch(self._node)

    def _count_all(self, until: float) -> None:
        """Count below every directory that is not listed: each has its share of the time, the big ones what is left."""
        pending = self._pending
        while pending:
            unfinished: list[Node] = []
            for number, node in enumerate(pending):
                now = time.monotonic()
                if not self._count(node, now + max(0.0, until - now) / (len(pending) - number)):
                    unfinished.append(node)
            if time.monotonic() >= until:
                self.in_time &= not unfinished
                return
            pending = unfinished

    def listing(self) -> Iterator[str]:
        """Yield the listing in stretches: each directory, then its files by name, then its directories likewise.

        Only directories down to the depth are told with their figures.
        """
        pending = [(self._node, "./")]
        while pending:
            node, shown = pending.pop()
            yield _line(size(node.bytes), f"{node.path or shown}  ({_total(node)}{_noted(node)})")
            yield from node.lines
            pending += [(child, "") for child in reversed(node.children)]

    def _list(self, at: OpenedDirectory, node: Node, depth: int) -> None:
        if time.monotonic() > self._list_until or self.listed > LISTED_MAX:
            node.at_least, node.note, self.in_time = True, "not listed: too much", False
            return
        for entry in self._entries(at, node):
            name = written(entry.name)
            self.listed += 1
            if self.listed % _BEAT_EVERY == 0:
                self._beat(self.seen)
            if entry.is_dir(follow_symlinks=False):
                child = Node(name, f"{node.path}{name}/", (*node.way, entry.name), node.rules)
                node.children.append(child)
                continue
            label, shown = _measured(at, node, entry, name)
            node.kinds[suffix(name)] += 1
            node.last_leaf = name
            node.lines.append(_line(shown, node.path + label))
            if len(node.leaves) < _LEAVES_KEPT:
                node.leaves.append(Leaf(name, label if shown == "-" else f"{label} {shown}"))
        for child in node.children:
            self._descend(at, child, depth - 1)

    def _descend(self, at: OpenedDirectory, child: Node, depth: int) -> None:
        if child.way[-1] == ".git" and child.rules is not None:
            child.note = "not opened; all=true opens it"
            return
        if depth <= 0:
            self._pending.append(child)
            return
        try:
            with at.enter(child.way[-1]) as below:
                self._list(below, child, depth)
        except OSError as error:
            child.at_least, child.note = True, _reason(error)

    def _entries(self, at: OpenedDirectory, node: Node) -> list[os.DirEntry[str]]:
        """Return the entries that are to be shown, by name; code points decide, as in the C locale."""
        found: list[os.DirEntry[str]] = []
        try:
            for entry in self._met(at, self._list_until):
                if self.listed + len(found) > LISTED_MAX:
                    raise _TimeUpError
                if not at.is_closed(entry):
                    found.append(entry)
        except _TimeUpError:
            node.at_least, node.note, self.in_time = True, "not all listed: too much", False
        except OSError as error:
            node.at_least, node.note = True, _reason(error)
            return []
        found.sort(key=_name)
        rules = node.rules = _rules_in(at, node.rules, node.path)
        if not rules:
            return found
        shown: list[os.DirEntry[str]] = []
        for number, entry in enumerate(found):
            if number % _BEAT_EVERY == 0:
                self._beat(self.seen)
            is_directory = entry.is_dir(follow_symlinks=False)
            if rules.hides(node.path + written(entry.name), is_directory=is_directory):
                node.ignored.append(written(entry.name) + "/" * is_directory)
            else:
                shown.append(entry)
        node.hidden = len(node.ignored)
        return shown

    def _count(self, node: Node, until: float) -> bool:
        """Add up and list what lies below the depth; tell whether that was done in time."""
        self.listed -= node.listed
        node.files = node.bytes = node.directories = node.hidden = node.listed = 0
        node.at_least = False
        node.lines.clear()
        try:
            with self._reach(node.way) as at:
                self._count_below(at, node, until)
        except _TimeUpError:
            node.at_least = True
            return False
        except OSError as error:
            node.at_least, node.note = True, _reason(error)
        return True

    def _reach(self, way: tuple[str, ...]) -> OpenedDirectory:
        at = self._top.again()
        for name in way:
            with at:
                below = at.enter(name)
            at = below
        return at

    def _count_below(self, at: OpenedDirectory, node: Node, until: float) -> None:
        stack = [(at, self._count_one(at, node, node.path, node.rules, until))]
        try:
            while stack:
                here, (path, rules, names) = stack[-1]
                if not names:
                    stack.pop()[0].close()
                    continue
                name = names.pop()
                inner = f"{path}{written(name)}/"
                if time.monotonic() > until:
                    raise _TimeUpError
                self._put(node, [_line("", inner)])
                if len(stack) > DEEPEST:
                    node.at_least, node.note = True, f"counted {DEEPEST} levels down"
                    continue
                try:
                    below = here.enter(name)
                except OSError:
                    node.at_least = True
                    continue
                stack.append((below, (path, rules, [])))  # to be closed, should the next line be cancelled
                stack[-1] = (below, self._count_one(below, node, inner, rules, until))
        finally:
            for opened, _ in stack:
                opened.close()

    def _count_one(
        self, at: OpenedDirectory, node: Node, path: str, rules: Rules | None, until: float
    ) -> tuple[str, Rules | None, list[str]]:
        """Add the entries of one directory; return the names of the directories in it, the first one last."""
        rules = _rules_in(at, rules, path)
        names: list[str] = []
        rows: list[tuple[str, str]] = []
        try:
            for entry in self._met(at, until):
                name = written(entry.name)
                is_directory = entry.is_dir(follow_symlinks=False)
                if rules and rules.hides(path + name, is_directory=is_directory):
                    node.hidden += 1
                elif is_directory:
                    if at.is_closed(entry):
                        continue
                    node.directories += 1
                    if entry.name == ".git" and rules is not None:
                        rows.append((name, _line("", f"{path}{name}/")))
                    else:
                        names.append(entry.name)
                else:
                    label, shown = _measured(at, node, entry, name)
                    rows.append((name, _line(shown, path + label)))
        except OSError:
            node.at_least = True
        finally:
            self._put(node, [line for _, line in sorted(rows)])
        return path, rules, sorted(names, reverse=True)

    def _put(self, node: Node, lines: list[str]) -> None:
        """Put what lies below the depth into the listing, as far as there is room."""
        lines = lines[: max(0, LISTED_MAX - self.listed)]
        node.lines += lines
        node.listed += len(lines)
        self.listed += len(lines)

    def _met(self, at: OpenedDirectory, until: float) -> Iterator[os.DirEntry[str]]:
        """Yield the entries of a directory, which may have millions: none of that holds up a cancelled call.

        Raises:
            OSError: it cannot be listed.
            _TimeUpError: it is `until`.
        """
        self._beat(self.seen)
        for entry in at.entries():
            self.seen += 1
            if self.seen % _BEAT_EVERY == 0:
                self._beat(self.seen)
                if time.monotonic() > until:
                    raise _TimeUpError
            yield entry


_SPECIAL = {stat.S_IFIFO: "fifo", stat.S_IFSOCK: "sock", stat.S_IFCHR: "dev", stat.S_IFBLK: "dev"}


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _add_up(node: Node) -> None:
    """Add what lies below each listed directory to its own figures."""
    for child in node.children:
        _add_up(child)
        node.files += child.files
        node.bytes += child.bytes
        node.hidden += child.hidden
        node.directories += 1 + child.directories
        node.at_least |= child.at_least


def _measured(at: OpenedDirectory, node: Node, entry: os.DirEntry[str], name: str) -> tuple[str, str]:
    """Add a file to the figures of a directory; return how it is shown, and its size or what it is."""
    label, shown, count = name, "-", 0
    try:
        if entry.is_symlink():
            label = f"{name} -> {written(at.target(entry.name))}"
        else:
            status = entry.stat(follow_symlinks=False)
            special = _SPECIAL.get(stat.S_IFMT(status.st_mode))
            count = 0 if special else status.st_size
            shown = special or size(count)
    except OSError:
        shown = "?"
    node.files += 1
    node.bytes += count
    return label, shown


def _rules_in(at: OpenedDirectory, rules: Rules | None, path: str) -> Rules | None:
    if rules is None:
        return rules
    try:
        return rules.within(path, at.read(".gitignore", RULES_BYTES))
    except OSError:
        return rules


def _reason(error: OSError) -> str:
    return "permission denied" if isinstance(error, PermissionError) else "gone or not to be opened"


def _line(shown: str, text: str) -> str:
    return f"{shown:>6}  {text}\n"


def _noted(node: Node) -> str:
    notes = [node.note] if node.note else []
    if node.ignored:
        names = ", ".join(node.ignored[:_IGNORED_NAMED])
        more = ", …" if len(node.ignored) > _IGNORED_NAMED else ""
        notes.append(f"{len(node.ignored):,} ignored: {names}{more}")
    if below := node.hidden - len(node.ignored) - sum(child.hidden for child in node.children):
        notes.append(f"{below:,} ignored below")
    return "; " * bool(notes) + "; ".join(notes)


def _total(node: Node) -> Total:
    return Total(node.files, node.directories, node.bytes, node.at_least)


def _branch(node: Node) -> Branch:
    return Branch(
        name=node.name,
        total=_total(node),
        branches=[_branch(child) for child in node.children],
        leaves=node.leaves,
        leaves_in_all=sum(node.kinds.values()),
        last_leaf=node.last_leaf,
        kinds=node.kinds,
        note=_noted(node).removeprefix("; "),
    )
