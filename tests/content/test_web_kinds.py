"""What a server sent is told by its bytes first, then by its word, then by the address."""

import pytest
from bursar.content.kinds import kind_of

HTML = b"<!DOCTYPE html><html><body>x</body></html>"


@pytest.mark.parametrize(
    ("content_type", "path", "head", "kind"),
    [
        ("text/html", "/", HTML, "html"),
        ("", "/", HTML, "html"),
        ("application/octet-stream", "/x", HTML, "html"),
        ("text/plain", "/page.txt", HTML, "text"),
        ("text/html", "/paper", b"%PDF-1.7\n", "pdf"),
        ("text/html", "/pic", b"\x89PNG\r\n\x1a\n\0\0", "image"),
        ("image/png", "/pic.png", HTML, "image"),
        ("application/json", "/api", b'{"a":1}', "json"),
        ("application/vnd.api+json", "/api", b'{"a":1}', "json"),
        ("", "/data.json", b'{"a":1}', "json"),
        ("text/csv", "/t", b"a,b\n", "csv"),
        ("text/plain", "/t.csv", b"a,b\n", "csv"),
        ("application/xml", "/f", b'<?xml version="1.0"?><rss version="2.0">', "feed"),
        ("text/xml", "/f", b'<feed xmlns="http://www.w3.org/2005/Atom">', "feed"),
        ("application/xml", "/sitemap.xml", b"<?xml version='1.0'?><urlset>", "xml"),
        ("text/plain", "/robots.txt", b"User-agent: *", "text"),
        ("application/javascript", "/a.js", b"let a = 1", "text"),
        ("application/zip", "/a.zip", b"PK\x03\x04\x14\0\0\0", "binary"),
        ("text/html", "/", b"\0" * 40, "binary"),
        ("text/html", "/", b"<html>\0<p>one NUL is a hostile page and no binary</p>" + b" " * 60, "html"),
        ("text/html", "/", "<html>".encode("utf-16"), "html"),
        ("text/html", "/", b"", "empty"),
    ],
)
def test_kinds(content_type: str, path: str, head: bytes, kind: str) -> None:
    assert kind_of(content_type, f"https://example.org{path}", head).name == kind


@pytest.mark.parametrize(
    ("content_type", "path", "head", "suffix"),
    [
        ("text/html", "/index.php", HTML, "html"),
        ("text/plain", "/notes.md", b"# a", "md"),
        ("text/plain", "/notes", b"a", "txt"),
        ("application/zip", "/a.zip", b"PK\x03\x04\0", "zip"),
        ("", "/a.b/../../etc", b"\0\1", "bin"),
        ("text/tab-separated-values", "/t.tsv", b"a\tb", "tsv"),
    ],
)
def test_the_suffix_is_what_the_content_is(content_type: str, path: str, head: bytes, suffix: str) -> None:
    assert kind_of(content_type, f"https://example.org{path}", head).suffix == suffix
