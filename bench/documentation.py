"""Measures what web_fetch loses of documentation: listings, headings and terms that its Markdown does not hold.

    python bench/documentation.py [PLACE]        PLACE: where `bench/corpus.py` keeps what it fetches

The pages are those of Debian packages. Of each, what stands in the main element (found by a selector for its
generator, contents lists apart) is looked for in the Markdown, as CommonMark reads it: listings exactly, to the last
space; headings as headings; terms of definition lists twice, as words and exactly as one would search for them.
Tokens are those of the Markdown, and seconds are of processor time.
"""

# ruff: noqa: E501 - a line for each package

from __future__ import annotations

import argparse
import json
import re
import subprocess
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from bursar.budget.tokens import count
from bursar.content.page.extract import extract
from corpus import DEFAULT
from markdown_it import MarkdownIt


@dataclass(frozen=True, slots=True)
class Source:
    """Pages of one Debian package: what made them, where they lie, and where their main content stands."""

    generator: str
    package: str
    folder: str
    main: str
    pages: str


SOURCES = [
    Source("Sphinx", "python3.11-doc", "python3.11/html", "[role=main]", "library/json library/subprocess library/stdtypes library/sqlite3 library/argparse library/asyncio-task library/itertools howto/logging tutorial/controlflow whatsnew/3.11 reference/datamodel library/zipfile library/glob"),
    Source("Sphinx, Django", "python-django-doc", "python-django-doc/html", "[role=main], #bd", "topics/db/queries ref/models/querysets ref/settings topics/cache howto/custom-management-commands"),
    Source("Sphinx, others", "python-sqlalchemy-doc", "python-sqlalchemy-doc/html", "[role=main]", "core/engines core/pooling orm/quickstart"),
    Source("Sphinx, others", "debian-policy", "debian-policy/policy.html", "[role=main]", "ch-source ch-relationships"),
    Source("DocBook", "postgresql-doc-15", "postgresql-doc-15/html", "body > div:not(.navheader, .navfooter)", "sql-select app-pgdump functions-json runtime-config-wal"),
    Source("AsciiDoc", "git-doc", "git/html", "body", "git-log git-rebase gittutorial git-config"),
    Source("javadoc", "openjdk-17-doc", "openjdk-17-jre-headless/api", "main", "java.base/java/util/HashMap java.base/java/util/stream/Collectors java.base/java/lang/String java.base/java/util/concurrent/package-summary java.net.http/java/net/http/HttpClient"),
    Source("mdBook", "rust-doc", "rust-doc/html", "main", "book/ch04-02-references-and-borrowing rustdoc/write-documentation/documentation-tests rust-by-example/error/result rustc/codegen-options/index"),
    Source("rustdoc", "rust-doc", "rust-doc/html", "#main-content", "std/option/index std/io/trait.Read std/string/struct.String std/collections/index"),
    Source("Node.js", "nodejs-doc", "nodejs/api", "#apicontent", "net path zlib"),
    Source("GTK-Doc", "libglib2.0-doc", "libglib2.0-doc/../../gtk-doc/html", "div.refentry", "gio/GDBusProxy glib/glib-Asynchronous-Queues"),
    Source("Doxygen", "doxygen-doc", "doxygen/html", "#doc-content", "docblocks commands grouping"),
    Source("MkDocs", "mkdocs-doc", "mkdocs/html", "[role=main]", "user-guide/configuration dev-guide/plugins user-guide/cli"),
    Source("MkDocs, Material", "mkdocs-literate-nav-doc", "mkdocs-literate-nav-doc/html", "article", "index reference"),
    Source("ErlDoc", "erlang-doc", "erlang-doc/doc", ".innertube", "efficiency_guide/maps design_principles/applications"),
    Source("Apache", "apache2-doc", "apache2-doc/manual/en", "#page-content", "mod/mod_rewrite rewrite/flags"),
    Source("Haddock", "libghc-aeson-doc", "libghc-aeson-doc/html", "#content", "Data-Aeson-Types"),
    Source("Texinfo", "bash-doc", "bash", "body", "bashref"),
]  # fmt: skip
_BESIDE = (
    "nav, [role=navigation], .navigation, .toc, #toc, .contents.topic, ul.contents, #table-of-contents, .sub-nav, "
    ".linenos, .linenodiv, .listing_lines, .navheader, .navfooter, #footer, .footer, script, style, template, button, "
    "dialog:not([open]), a.headerlink, a.anchor, a.permalink, a.selflink, a.srclink, .viewcode-link"
)
_LISTING = "pre, div.fragment"
_SPACE = re.compile(r"\s+")


def fetched(place: Path, package: str) -> Path:
    """Return where a package lies unpacked, after fetching it if need be."""
    unpacked = place / package
    if not unpacked.exists():
        downloads = place / "downloads"
        downloads.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-q", package], cwd=downloads, check=True)
        subprocess.run(["dpkg-deb", "-x", next(downloads.glob(f"{package}_*.deb")), unpacked], check=True)
    return unpacked


@dataclass(slots=True)
class Parts:
    """What is on a page, or in its Markdown."""

    code: Counter[str]
    headings: Counter[str]
    terms: list[str]
    text: str


def one_line(text: str) -> str:
    return _SPACE.sub(" ", text.replace("\u200b", "")).strip()


def exact(code: str) -> str:
    return code.replace("\r\n", "\n").replace("\u00a0", " ").strip("\n").rstrip()


def listing(element: Tag) -> str:
    lines = element.select("div.line")
    return exact("\n".join(line.get_text() for line in lines) if lines else element.get_text())


def _parsed(html: bytes | str) -> BeautifulSoup:
    """Parse a page, with the white space in listings that are no `pre` too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BeautifulSoup(html, "lxml", preserve_whitespace_tags={"pre", "textarea", "div"})


def of_page(html: bytes, main: str) -> Parts:
    page = _parsed(html)
    found = [
        element for element in page.select(main) if not any(around in page.select(main) for around in element.parents)
    ]
    for element in found:
        signs = [a for a in element.select("a") if a.get_text().strip() in {"¶", "#", "§"}]
        for beside in [*element.select(_BESIDE), *signs]:
            beside.extract()
        for line in element.select("dt br, h4 br"):
            line.replace_with(" ")
    inside = _parsed("".join(str(element) for element in found))
    code = Counter(
        text
        for element in inside.select(_LISTING)
        if element.find_parent(["pre"]) is None and (text := listing(element))
    )
    heads = Counter(text for h in inside.select("h1, h2, h3, h4, h5, h6") if (text := heading(h)))
    terms = [text for term in inside.select("dt") if (text := one_line(term.get_text()))]
    return Parts(code, heads, terms, one_line(inside.get_text(" ")))


def heading(element: Tag) -> str:
    return one_line(element.get_text()).rstrip("¶#").strip()


def of_markdown(markdown: str) -> Parts:
    code: Counter[str] = Counter()
    heads: Counter[str] = Counter()
    text: list[str] = []
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    for place, token in enumerate(tokens):
        if token.type in ("fence", "code_block"):
            code[exact(token.content)] += 1
        elif token.type == "inline":
            said = one_line("".join(said_by(child) for child in token.children or ()))
            text.append(said)
            if tokens[place - 1].type == "heading_open":
                heads[said.rstrip("¶#").strip()] += 1
    return Parts(code, heads, [], "\n".join(text))


def said_by(token: Any) -> str:
    return "\n" if token.type in ("softbreak", "hardbreak") else token.content if token.type != "image" else ""


def measure(source: Source, path: Path) -> dict[str, Any]:
    html = path.read_bytes()
    url = f"https://docs.example.org/{path.name}"
    started = time.process_time()
    page = extract(html, url)
    took = time.process_time() - started
    wanted, given = of_page(html, source.main), of_markdown(page.markdown)
    words = " ".join(re.findall(r"\w+", given.text))
    lines = one_line(page.markdown)
    terms = [term for term in wanted.terms if " ".join(re.findall(r"\w+", term)) in words]
    return {
        "generator": source.generator,
        "page": path.stem,
        "found": page.found,
        "tokens": count(page.markdown),
        "s": took,
        "code": (wanted.code & given.code).total(),
        "of_code": wanted.code.total(),
        "headings": (wanted.headings & given.headings).total(),
        "of_headings": wanted.headings.total(),
        "terms": len(terms),
        "literal": sum(term in lines for term in wanted.terms),
        "of_terms": len(wanted.terms),
        "lost_code": list((wanted.code - given.code).elements()),
        "lost_headings": list((wanted.headings - given.headings).elements()),
        "lost_terms": [term for term in wanted.terms if term not in lines],
    }


COLUMNS = (("code", "of_code"), ("headings", "of_headings"), ("terms", "of_terms"), ("literal", "of_terms"))


def report(results: list[dict[str, Any]], *, each: bool) -> None:
    print(f"{'':24} pages         code      headings         terms     literally   tokens      s")
    groups = [
        (name, [one for one in results if one["generator"] == name])
        for name in dict.fromkeys(one["generator"] for one in results)
    ]
    for name, chosen in [*groups, ("all", results)]:
        print(row(name, chosen))
        if each and name != "all":
            for one in chosen:
                print(row(f"  {one['page']}"[:23], [one]), "" if one["found"] == "main content" else one["found"])


def row(name: str, results: list[dict[str, Any]]) -> str:
    cells = [f"{name:24} {len(results):5}"]
    for given, wanted in COLUMNS:
        of = sum(one[wanted] for one in results)
        cells.append(f"{sum(one[given] for one in results) / of:7.3f} {of:5}" if of else f"{'-':>7} {0:5}")
    return " ".join(cells) + f" {sum(one['tokens'] for one in results):8} {sum(one['s'] for one in results):6.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--each", action="store_true", help="a line for each page too")
    parser.add_argument("--only", default="", help="only generators that begin so")
    parser.add_argument("--json", type=Path, help="write the results, with what was lost")
    given = parser.parse_args()
    results = [
        measure(source, fetched(given.place, source.package) / "usr/share/doc" / source.folder / f"{page}.html")
        for source in SOURCES
        if source.generator.startswith(given.only)
        for page in source.pages.split()
    ]
    report(results, each=given.each)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
