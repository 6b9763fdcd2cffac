"""Jupyter notebooks: texts, code and what it printed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from .text import Text, fenced

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_SHOWN = ("text/markdown", "text/plain", "text/latex", "application/json")
_TEXT_MAX = 200_000
"""Characters of an output."""


def read(data: bytes) -> Text:
    """Read a notebook.

    Raises:
        ValueError: it is none.
    """
    notebook = _mapping(json.loads(data))
    if not isinstance(notebook.get("cells"), list):
        raise ValueError("it has no cells")  # noqa: TRY004 - it is the content that is wrong
    about = _mapping(notebook.get("metadata"))
    language = str(
        _mapping(about.get("kernelspec")).get("language") or _mapping(about.get("language_info")).get("name") or ""
    )
    cells = [_mapping(cell) for cell in notebook["cells"]]
    return Text(_blocks(cells, language), {"language": language, "cells": len(cells)})


def _blocks(cells: Sequence[Mapping[str, Any]], language: str) -> Iterator[str]:
    for cell in cells:
        source = _joined(cell.get("source"))
        if cell.get("cell_type") != "code":
            yield source.rstrip()
            continue
        count = cell.get("execution_count")
        yield f"In [{count if isinstance(count, int) else ' '}]:\n{fenced(source, language)}"
        yield from filter(None, (_output(_mapping(output)) for output in cell.get("outputs") or ()))


def _output(output: Mapping[str, Any]) -> str:
    match output.get("output_type"):
        case "stream":
            return fenced(_plain(output.get("text")))
        case "error":
            traceback = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
            return fenced(_plain("\n".join(map(str, traceback))))
        case _:
            data = _mapping(output.get("data"))
            shown = next((kind for kind in _SHOWN if kind in data), "")
            others = [
                f"[{kind}, {len(_joined(data[kind])):,} characters]"
                for kind in data
                if kind.startswith(("image/", "video/"))
            ]
            text = [fenced(_plain(data[shown]))] if shown else [] if others else [f"[{kind}]" for kind in data]
            return "\n".join(text + others)


def _plain(text: object) -> str:
    shown = _joined(text)
    more = f"\n… {len(shown) - _TEXT_MAX:,} characters left out" if len(shown) > _TEXT_MAX else ""
    return _COLOURS.sub("", shown[:_TEXT_MAX]) + more


def _joined(text: object) -> str:
    """Return a text that may be kept as a list of its lines."""
    if isinstance(text, list):
        return "".join(map(str, cast("list[object]", text)))
    return text if isinstance(text, str) else json.dumps(text)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
