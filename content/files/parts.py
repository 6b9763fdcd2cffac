"""Parts of a document that is a ZIP of XML, read within a bound, and the XML in them."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from .text import too_large

PARTS_BYTES = 256 << 20
"""Of all the parts of a document together that are read."""

_MAIN = "/officeDocument"


class Parts:
    """What a document consists of.

    Attributes:
        names: of the parts.
    """

    def __init__(self, archive: ZipFile) -> None:
        self.names = frozenset(archive.namelist())
        self._archive = archive
        self._left = PARTS_BYTES

    def read(self, name: str) -> bytes:
        """Return a part; nothing if there is none.

        Raises:
            BursarError: too_large.
        """
        if name not in self.names:
            return b""
        with self._archive.open(name) as part:
            data = part.read(self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise too_large(PARTS_BYTES)
        return data

    def tree(self, name: str) -> Element:
        """Return the root of a part; an empty one if there is none."""
        data = self.read(name)
        return ET.fromstring(data) if data else Element("none")

    def links(self, name: str) -> dict[str, tuple[str, str]]:
        """Return what a part, or the whole for no name, refers to: type and name or address, by the id of each."""
        place = PurePosixPath(name)
        found: dict[str, tuple[str, str]] = {}
        for link in self.tree(str(place.parent / "_rels" / f"{place.name}.rels")):
            target = link.get("Target", "")
            if link.get("TargetMode") != "External":
                target = joined(str(place.parent), target)
            found[link.get("Id", "")] = (link.get("Type", ""), target)
        return found

    def main(self) -> str:
        """Return the name of the part that is the document."""
        links = self.links("").values()
        return next((target for kind, target in links if kind.endswith(_MAIN)), "")

    def about(self) -> dict[str, str]:
        """Return the title, who wrote it and the day of the last change, as far as that is told."""
        told: dict[str, str] = {}
        for one in [*self.tree("docProps/core.xml"), *children(self.tree("meta.xml"), "meta")]:
            told.setdefault(local(one), " ".join((one.text or "").split()))
        author = told.get("creator") or told.get("initial-creator", "")
        day = told.get("modified") or told.get("date", "")
        return {"title": told.get("title", ""), "byline": author, "date": day[:10]}


def joined(place: str, target: str) -> str:
    """Return the name of the part that `target`, seen from `place`, means."""
    kept: list[str] = []
    for step in PurePosixPath("/", place, target).parts[1:]:
        if step != "..":
            kept.append(step)
        elif kept:
            kept.pop()
    return "/".join(kept)


def local(element: Element) -> str:
    """Return the name of an element without its namespace, of which Office has two for the same."""
    return element.tag.rpartition("}")[2]


def attribute(element: Element | None, name: str) -> str:
    """Return an attribute by its name without namespace; empty if it has none."""
    if element is None:
        return ""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def children(element: Element, *path: str) -> Iterator[Element]:
    """Return what lies in an element, through elements of these names."""
    if not path:
        yield from element
        return
    for child in element:
        if local(child) == path[0]:
            yield from children(child, *path[1:])


def first(element: Element | None, *path: str) -> Element | None:
    """Return the first element that these names lead to."""
    for name in path:
        if element is None:
            return None
        element = next((child for child in element if local(child) == name), None)
    return element
