"""Asks several extractors what they take for the main text of a page; none is believed alone."""

import logging
from collections.abc import Callable
from copy import deepcopy
from importlib import import_module
from typing import Any, Protocol

from turbohtml import Document


class _Tree(Protocol):
    """An lxml tree; lxml has no types of its own, and nothing here looks inside."""

    def __len__(self) -> int: ...


def candidate_texts(document: Document) -> dict[str, str]:
    """Give the main text by every extractor, by name; empty for one that found nothing or failed.

    Parsed once; all of them change the tree they are given.
    """
    _quieten()
    html = document.html
    tree = _tree(html)
    texts = {"body": document.main_text(), "resiliparse": _settle(lambda: _resiliparse(html))}
    if tree is None:
        return texts
    texts["readability"] = _settle(lambda: _readability(deepcopy(tree)))
    texts["trafilatura"] = _settle(lambda: _trafilatura(tree))
    return texts


def _quieten() -> None:
    """Their log lines carry whole tracebacks on pages that are merely odd."""
    for name in ("readability", "trafilatura", "htmldate", "justext"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _settle(extract: Callable[[], str]) -> str:
    """Whatever an extractor stumbles over, the others still count."""
    try:
        return extract()
    except Exception:  # noqa: BLE001 - three foreign libraries on arbitrary input; the vote goes on without it
        return ""


def _load(module: str) -> Any:  # noqa: ANN401 - lxml and readability have no types
    """Import a heavy module where it is needed."""
    return import_module(module)


def _tree(html: str) -> _Tree | None:
    lxml = _load("lxml.html")
    parser = lxml.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return lxml.document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except (lxml.etree.ParserError, ValueError):
        return None


def _readability(tree: _Tree) -> str:
    summary = str(_load("readability").Document(tree).summary(html_partial=True))
    return "\n".join(_load("lxml.html").fromstring(summary).itertext())


def _trafilatura(tree: _Tree) -> str:
    """Its own algorithm alone: its fall-backs are a second readability and justext, and cost a third of the time."""
    extract = _load("trafilatura.core").bare_extraction
    found = extract(tree, fast=True, include_comments=False, with_metadata=False)
    return getattr(found, "text", None) or ""


def _resiliparse(html: str) -> str:
    extract = _load("resiliparse.extract.html2text").extract_plain_text
    return extract(html, main_content=True, alt_texts=False, list_bullets=False)
