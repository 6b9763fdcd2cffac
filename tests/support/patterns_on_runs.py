"""Run every pattern that the server's own process may match on long runs of the signs that are in it.

A program of its own, because a search that goes back and forth cannot be stopped but by ending its process: each search
has a bound of processor time that linear ones miss by far and quadratic ones cannot keep.
"""

import ast
import importlib
import itertools
import os
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from re import _constants, _parser
from typing import Any

import regex

SIGNS = 30_000
CPU_S = 0.25
_PAIRED = 5
_CLASSES = {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}
_OTHERWISE = {"CATEGORY_NOT_DIGIT": "a", "CATEGORY_NOT_SPACE": "a", "CATEGORY_NOT_WORD": " "}
_METHODS = {"match", "search", "fullmatch", "finditer", "findall", "sub", "subn", "split"}
_FOREIGN = {"bursar.guard.windows_commands"}
"""Of Windows alone; loads nowhere else, and has no patterns."""

_MODULE = re.compile(r"bursar(\.\w+)+")


def own_modules(start: str = "bursar.server.cli") -> set[str]:
    """Return the modules that the server may import; those that only workers do are named in texts, not imported."""
    found: set[str] = set()
    waiting = [start, "bursar.server.http.serve", "bursar.server.stdio", "bursar.budget.request"]
    while waiting:
        module = waiting.pop()
        spec = find_spec(module) if _MODULE.fullmatch(module) else None
        if module in found or spec is None or spec.origin is None:
            continue
        found.add(module)
        package = module if spec.submodule_search_locations else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                waiting += [base, *(f"{base}.{alias.name}" for alias in node.names if _is_module(base, alias.name))]
    return found


def _is_module(package: str, name: str) -> bool:
    if not package.startswith("bursar"):
        return False
    spec = find_spec(package)
    return spec is not None and bool(spec.submodule_search_locations) and find_spec(f"{package}.{name}") is not None


@dataclass(frozen=True)
class Use:
    """A pattern of Python's engines, where it stands, and the methods that are called on it there."""

    place: str
    pattern: Any
    methods: frozenset[str]


def uses(modules: set[str]) -> Iterator[Use]:
    """Yield each pattern that is kept in a module, or written in a call."""
    for module in sorted(modules - _FOREIGN):
        loaded = importlib.import_module(module)
        calls = [
            (node.func.value.id, node.func.attr, node)
            for node in ast.walk(ast.parse(Path(str(loaded.__file__)).read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ]
        for name, value in vars(loaded).items():
            direct = {method for owner, method, _ in calls if owner == name and method in _METHODS}
            # One of several is used by the name of a loop, whose texts have a method `split` too.
            by_loop = {method for owner, method, _ in calls if owner not in vars(loaded) and method != "split"}
            for pattern in _within(value):
                yield Use(f"{module}.{name}", pattern, frozenset(direct or by_loop & _METHODS))
        for owner, method, call in calls:
            first = call.args[0] if call.args else None
            if owner in ("re", "regex") and method in _METHODS and isinstance(first, ast.Constant):
                compiled = (re if owner == "re" else regex).compile(first.value)
                yield Use(f"{module}:{call.lineno}", compiled, frozenset({method}))


def _within(value: object) -> Iterator[Any]:
    if isinstance(value, re.Pattern | regex.Pattern):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _within(one)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _within(one)
    elif getattr(value, "__self__", None).__class__ is re.Pattern:  # a bound method, such as `search`
        yield value.__self__


def texts(pattern: Any) -> Iterator[str]:
    """Yield long texts of the signs of a pattern: runs, pairs, and runs behind what it begins with."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    signs, sample = [" ", "a", "1", '"', "\\", "\n"], ""
    try:
        sample = _sample(_parser.parse(text, pattern.flags & re.VERBOSE), signs)
    except re.error:  # what only `regex` has
        signs += list("é🙂\u0301\u200d")
    signs = list(dict.fromkeys(signs))[-_PAIRED * 4 :]
    for sign in signs:
        yield sign * SIGNS
        yield sample + sign * SIGNS + "x"
        yield sample[: len(sample) // 2] + sign * SIGNS
    for first, second in itertools.permutations(signs[:_PAIRED] + signs[-_PAIRED:], 2):
        yield (first + second) * (SIGNS // 2)
    for length in range(1, min(len(sample), 40) + 1):
        yield sample[:length] * (SIGNS // length)


def _sample(parsed: Any, signs: list[str]) -> str:
    """Return a text that about fits, and gather the signs that take part."""
    text = ""
    for kind, value in parsed:
        name = str(kind)
        if kind in (_constants.LITERAL, _constants.NOT_LITERAL):
            signs.append(chr(value))
            text += chr(value) if kind is _constants.LITERAL else "x"
        elif kind is _constants.ANY:
            text += "x"
        elif kind is _constants.IN:
            members = [member for member in (_member(*one) for one in value) if member]
            signs += members
            text += members[0] if members and str(value[0][0]) != "NEGATE" else "x"
        elif "REPEAT" in name:
            least, _, inner = value
            text += _sample(inner, signs) * max(1, min(least, 50))
        elif kind is _constants.BRANCH:
            text += next(iter([_sample(branch, signs) for branch in value[1]]))
        elif kind is _constants.SUBPATTERN:
            text += _sample(value[3], signs)
        elif kind is _constants.ATOMIC_GROUP:
            text += _sample(value, signs)
        elif kind in (_constants.ASSERT, _constants.ASSERT_NOT):
            _sample(value[1], signs)
    return text


def _member(kind: Any, value: Any) -> str:
    if kind is _constants.LITERAL:
        return chr(value)
    if kind is _constants.RANGE:
        return chr(value[0])
    return {**_CLASSES, **_OTHERWISE}.get(str(value), "")


def ends(use: Use) -> bool:
    """Tell whether every use of a pattern ends within its bound; a child that does not is killed by its timer."""
    child = os.fork()
    if child == 0:
        for text in texts(use.pattern):
            given = text if isinstance(use.pattern.pattern, str) else text.encode("latin-1", "replace")
            signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
            if use.methods & {"search", "sub", "subn", "split", "finditer", "findall"}:
                use.pattern.findall(given)
            use.pattern.match(given)
            use.pattern.fullmatch(given)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def main() -> None:
    """Print where the patterns stand that do not keep the bound; to standard error, how many were tried."""
    tried: set[tuple[Any, int, frozenset[str]]] = set()
    for use in uses(own_modules()):
        one = (use.pattern.pattern, use.pattern.flags, use.methods)
        if one not in tried and not ends(use):
            print(use.place, use.pattern.pattern, *use.methods)
        tried.add(one)
    print(len(tried), file=sys.stderr)


if __name__ == "__main__":
    main()
