"""What errors tell their reader to do is a sentence."""

import ast
from collections.abc import Iterator
from pathlib import Path

import bursar.errors
import pytest

ROOMS = Path(bursar.errors.__file__).parent.parent
FILES = [
    path
    for room in ("agent", "artifacts", "budget", "guard", "history", "server", "tools")
    for path in sorted((ROOMS / room).rglob("*.py"))
]


def beginnings(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may begin with."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from beginnings(one)
            yield from beginnings(other)
        case ast.Dict(values=values):
            for value in values:
                yield from beginnings(value)
        case _:
            return


def fixes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="BursarError" | "Failure" | "FetchError"), args=[_, _, *_, last]):
                yield from beginnings(last)
            case ast.Assign(targets=[ast.Name(id="fix" | "_FIXES")], value=value):
                yield from beginnings(value)
            case _:
                continue


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOMS)))
def test_every_fix_begins_with_a_capital_letter(path: Path):
    told = list(fixes(ast.parse(path.read_text())))
    assert [fix for fix in told if fix[:1].islower()] == []
