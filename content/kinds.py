"""Tells what a server sent: from its word, the address and the first bytes."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from ..budget.formats import is_image, recognise

HEAD_BYTES = 4096
"""As much of the start as a decision needs."""

_BY_TYPE = {
    "text/html": "html", "application/xhtml+xml": "html", "application/pdf": "pdf", "application/x-pdf": "pdf",
    "application/json": "json", "text/json": "json", "application/ld+json": "json", "text/csv": "csv",
    "application/csv": "csv", "text/tab-separated-values": "csv", "application/rss+xml": "xml",
    "application/atom+xml": "xml", "application/rdf+xml": "xml", "application/xml": "xml", "text/xml": "xml",
    "application/javascript": "text", "application/x-ndjson": "text", "application/yaml": "text",
    "application/x-yaml": "text", "application/toml": "text", "application/x-sh": "text", "application/sql": "text",
    "application/feed+json": "json", "application/x-javascript": "text", "application/graphql": "text",
}  # fmt: skip
_VAGUE = frozenset({"", "text/plain", "application/octet-stream", "binary/octet-stream", "application/download"})
_SUFFIXES = {
    "json": "json", "csv": "csv", "tsv": "csv", "xml": "xml", "rss": "xml", "atom": "xml", "html": "html",
    "htm": "html", "md": "text", "txt": "text", "log": "text", "yaml": "text", "yml": "text",
}  # fmt: skip
_HTML = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|script|div|p|h1|table|frameset)[\s>]", re.IGNORECASE
)
_FEED = re.compile(rb"<(?:rss|feed|rdf:RDF)[\s>]")
_CONTROL = bytes({*range(32)} - {8, 9, 10, 12, 13, 27})


@dataclass(frozen=True, slots=True)
class Kind:
    """What a content is.

    Attributes:
        name: `html`, `feed`, `json`, `xml`, `csv`, `text`, `pdf`, `image`, `binary` or `empty`.
        suffix: what a file of it is called.
    """

    name: str
    suffix: str


def kind_of(content_type: str, url: str, head: bytes) -> Kind:
    """Tell what a content is; `head` is its start, at least 4 KiB if there is so much."""
    if not head:
        return Kind("empty", "txt")
    name = _by_bytes(head) or _BY_TYPE.get(content_type, "")
    if not name and content_type.endswith("+json"):
        name = "json"
    if not name and content_type.endswith("+xml"):
        name = "xml"
    if not name and content_type.startswith("image/") and content_type != "image/svg+xml":
        name = "image"
    if _is_binary(head):
        name = name if name in {"pdf", "image"} or _is_wide(head) else "binary"
    if not name or content_type in _VAGUE:
        name = name or _by_text(head, url, content_type)
    if name == "xml" and _FEED.search(head):
        name = "feed"
    return Kind(name, _suffix(name, url))


def _by_bytes(head: bytes) -> str:
    if b"%PDF-" in head[:1024]:  # readers look for it there, whatever stands before
        return "pdf"
    return "image" if is_image(recognise(head)) else ""


def _by_text(head: bytes, url: str, content_type: str) -> str:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    suffix = _SUFFIXES.get(PurePosixPath(urlsplit(url).path).suffix.lower().removeprefix("."), "")
    if start.startswith(b"<?xml") and not _HTML.search(start[:1024]):
        return "xml"
    if content_type != "text/plain" and _HTML.match(start):
        return "html"
    if suffix and suffix != "html":
        return suffix
    return "json" if start[:1] in (b"{", b"[") and content_type != "text/plain" else "text"


def _is_binary(head: bytes) -> bool:
    return b"\0" in head or len(head.translate(None, _CONTROL)) < 0.98 * len(head)


def _is_wide(head: bytes) -> bool:
    """UTF-16 and UTF-32 have zero bytes, and are text."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return True
    # Some NULs in a page are a hostile page, not a binary.
    return head.count(0) < len(head) // 20 and _HTML.search(head) is not None


def _suffix(name: str, url: str) -> str:
    given = PurePosixPath(urlsplit(url).path).suffix.lower().removeprefix(".")
    given = given if re.fullmatch(r"[a-z0-9]{1,8}", given) else ""
    fixed = {"html": "html", "feed": "xml", "json": "json", "xml": "xml", "pdf": "pdf", "empty": "txt"}
    if name in fixed:
        return fixed[name]
    if name == "csv":
        return given if given in {"csv", "tsv"} else "csv"
    if name == "text":
        return given if given and given not in {"php", "asp", "aspx", "html", "htm"} else "txt"
    return given or "bin"
