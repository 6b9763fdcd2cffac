"""EPUB books: the chapters in the order in which they are read."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import unquote

from ..charset import decode
from ..page.extract import extract
from .parts import Parts, attribute, first, joined, local
from .text import Text


def read(parts: Parts) -> Text:
    """Read a book."""
    name = attribute(first(parts.tree("META-INF/container.xml"), "rootfiles", "rootfile"), "full-path")
    package = parts.tree(name)
    about = {local(one): " ".join((one.text or "").split()) for one in first(package, "metadata") or ()}
    files = {attribute(one, "id"): unquote(attribute(one, "href")) for one in first(package, "manifest") or ()}
    read_in_turn = [
        files[attribute(one, "idref")] for one in first(package, "spine") or () if attribute(one, "idref") in files
    ]
    chapters = [joined(str(PurePosixPath(name).parent), file) for file in read_in_turn]
    facts = {"title": about.get("title", ""), "byline": about.get("creator", ""), "date": about.get("date", "")[:10]}
    return Text(_chapters(parts, chapters), {**facts, "chapters": len(chapters)})


def _chapters(parts: Parts, names: list[str]) -> Iterator[str]:
    for name in names:
        if text := extract(decode(parts.read(name), "").text, "", whole=True).markdown.strip():
            yield text
