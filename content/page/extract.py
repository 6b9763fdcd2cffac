"""Reads a web page: its main content as Markdown, and what it says about itself.

Everything here runs in a worker process, on input that may be made to hurt.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from turbohtml import Document, Node

from ..charset import decode
from .candidates import candidate_texts
from .choice import choose, fill, keep_heading, prune, whole_tables, words_left_out
from .documentation import is_full_of_listings, is_generated, main_element
from .features import VOTERS
from .formulas import formulas_to_tex
from .hidden import hidden_by_sheet, remove_hidden
from .judge import judge
from .markdown import clean_lines, to_markdown
from .metadata import Metadata, metadata
from .prepare import parse_page, prepare
from .segments import segment, words_of
from .traits import traits
from .votes import Candidate

MAX_BYTES = 16_000_000
"""As much of a page is read: some 2 s and 600 MB even in the simplest way; all of it is kept as received."""

MAX_CHARACTERS = 2_000_000
MAX_ELEMENTS = 20_000
MAX_DEPTH = 250
"""Above any of these, once scripts are removed, a page is rendered whole: the extractors need tens of seconds there."""

_FEW_WORDS = 12
_HIDDEN_WORDS = 60


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was read.

    Attributes:
        markdown: its main content.
        words: how many there are in the Markdown.
        found: `main content`; `whole page` when that cannot be told from the rest; `metadata` when the text is only
            there; `text` when the page could not be rendered.
        encoding: as it was decoded.
        broken: characters that could not be decoded.
        left_out: words of text that stand in the main element and were not taken for content.
        date: `YYYY-MM-DD`, of publication where that is known.
    """

    markdown: str
    words: int
    found: str
    title: str = ""
    byline: str = ""
    date: str = ""
    language: str = ""
    encoding: str = ""
    broken: int = 0
    left_out: int = 0


_SAMPLE = (
    b"<html><head><title>A page</title><meta name=date content=2020-01-02></head><body><nav><a href=/>Home</a></nav>"
    b"<article><h1>A page</h1>" + b"<p>Some words, caf\xe9 and more of them, to be found.</p>" * 20 + b"</article>"
    b"<table><tr><td>1<td>2</table></body></html>"
)


def load() -> None:
    """Load everything that reading a page needs, by reading one."""
    extract(_SAMPLE, "https://example.com/a")


def run(source: str, target: str, url: str = "", charset: str = "") -> dict[str, str | int]:
    """Read the page in the file `source`, write its Markdown to the file `target`, and return the rest of `Page`."""
    return _read(source, target, url, charset)


def run_plain(source: str, target: str, url: str = "", charset: str = "") -> dict[str, str | int]:
    """Do as `run`, without looking for the main content: for a page that `run` could not finish."""
    return _read(source, target, url, charset, whole=True)


def run_whole(source: str, target: str, url: str = "", charset: str = "") -> dict[str, str | int]:
    """Do as `run` with all that a reader sees of the page, menus and notices too."""
    return _read(source, target, url, charset, whole=True, declared=False)


def _read(
    source: str, target: str, url: str, charset: str, *, whole: bool = False, declared: bool = True
) -> dict[str, str | int]:
    with Path(source).open("rb") as file:
        html = file.read(MAX_BYTES)
        is_cut = bool(file.read(1))
    page = extract(html, url, charset, whole=whole, declared=declared)
    Path(target).write_bytes(page.markdown.encode("utf-8", "replace"))
    facts = asdict(page)
    del facts["markdown"]
    return facts | ({"note": f"only the first {MAX_BYTES:,} bytes of the page were read"} if is_cut else {})


def extract(html: bytes | str, url: str = "", charset: str = "", *, whole: bool = False, declared: bool = True) -> Page:
    """Read a page.

    Args:
        html: as received, or decoded already.
        url: where it came from; links are made absolute with it.
        charset: from the HTTP header, if it named one.
        whole: do not look for the main content, unless the page says where it is.
        declared: take the main element of documentation for its main content.
    """
    if isinstance(html, str):
        text, encoding, broken = html.encode("utf-8", "replace").decode("utf-8"), "", 0
    else:
        decoded = decode(html, charset)
        text, encoding, broken = decoded.text, decoded.encoding, decoded.broken
    document = parse_page(text.replace("\0", ""))
    base = document.base_url(url) or url
    within_limits = _within_limits(document, 8 * MAX_ELEMENTS)
    about = metadata(document) if within_limits and not whole else Metadata(title=_plain_title(document))
    left_out = 0
    if not within_limits:
        markdown, found = _whole_page(document, base)
    else:
        with _no_collection():
            markdown, found, left_out = _main_content(document, url, base, about, whole=whole, declared=declared)
    return Page(
        markdown=markdown + "\n" if markdown else "",
        words=len(words_of(markdown)),
        found=found,
        title=about.title,
        byline=about.byline,
        date=about.date,
        language=about.language,
        encoding=encoding,
        broken=broken,
        left_out=left_out,
    )


@contextmanager
def _no_collection() -> Generator[None]:
    """Put off the garbage collector: a page makes many small objects and next to no garbage; a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _main_content(
    document: Document, url: str, base: str, about: Metadata, *, whole: bool, declared: bool
) -> tuple[str, str, int]:
    """Return the Markdown, how it was found, and how many words of the main element are not in it."""
    said, generated = traits(document, url), declared and is_generated(document)
    by_sheet = hidden_by_sheet(document)
    prepare(document)
    formulas_to_tex(document)
    remove_hidden(document, by_sheet)
    if generated and (main := main_element(document)) is not None:
        return to_markdown(main, base, url), "main content", 0
    if not _within_limits(document, MAX_ELEMENTS) or len(document.html) > MAX_CHARACTERS or (whole and declared):
        return *_whole_page(document, base), 0
    if whole:
        return to_markdown(document, base, url), "whole page", 0
    segments = segment(document)
    texts = candidate_texts(document)
    candidates = [Candidate.of(texts.get(voter, "")) for voter in VOTERS]
    probabilities = judge().probabilities(segments, candidates, said)
    kept = choose(segments.blocks, probabilities)
    whole_tables(segments, kept, probabilities)
    if generated or is_full_of_listings(document, said):
        fill(segments, kept, probabilities)
    words = sum(len(block.words) for block, stays in zip(segments.blocks, kept, strict=True) if stays)
    if words < _FEW_WORDS and len(words_of(about.text)) >= _HIDDEN_WORDS:
        return clean_lines(about.text), "metadata", 0
    if not words:
        return to_markdown(document, base, url), "whole page", 0
    keep_heading(segments, kept, about.title)
    left_out = words_left_out(segments, kept)
    prune(segments, kept)
    return to_markdown(document, base, url), "main content", left_out


def _whole_page(document: Document, base: str) -> tuple[str, str]:
    """Render everything, by the one renderer that no page slows down; if even that fails, the bare text."""
    document.remove("script, style, template, noscript, svg")
    try:
        if base:
            document.resolve_links(base)
        return clean_lines(document.to_markdown()), "whole page"
    except (ValueError, RecursionError):
        return clean_lines(document.to_text()), "text"


def _plain_title(document: Document) -> str:
    element = document.find("title")
    return " ".join(element.text.split())[:200] if element is not None else ""


def _within_limits(document: Document, most: int) -> bool:
    """Count elements and depth, only as far as the limits."""
    count = 0
    stack = [iter(document.children)]
    while stack:
        child: Node | None = next(stack[-1], None)
        if child is None:
            stack.pop()
            continue
        count += 1
        if count > 3 * most or len(stack) > MAX_DEPTH:
            return False
        stack.append(iter(child.children))
    return True
