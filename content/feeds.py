"""Reads RSS, Atom and RDF feeds as a list of entries."""

from pathlib import Path

from turbohtml import parse_xml
from turbohtml.extract import Entry, Feed
from turbohtml.extract import feed as read_feed

from .charset import decode
from .page.extract import extract
from .page.markdown import clean_lines
from .page.segments import words_of

_MAX_ENTRIES = 5_000
_SUMMARY_CHARACTERS = 4_000


def run(source: str, target: str, url: str = "", charset: str = "") -> dict[str, str | int]:
    """Read the feed in the file `source` and write it to the file `target` as Markdown, an entry under each heading.

    Returns:
        `title`, `entries`, `date` (of the feed or its newest entry, as the feed writes it), `words`; `entries` is 0 and
        nothing is written when it is no feed.
    """
    decoded = decode(Path(source).read_bytes(), charset)
    found = _read(decoded.text)
    if found is None:
        return {"entries": 0, "encoding": decoded.encoding}
    markdown = clean_lines("\n\n".join([_head(found), *(_entry(entry, url) for entry in found.entries[:_MAX_ENTRIES])]))
    Path(target).write_bytes((markdown + "\n").encode("utf-8", "replace"))
    newest = next((entry.published or entry.updated for entry in found.entries if entry.published or entry.updated), "")
    return {
        "title": _line(found.title),
        "entries": len(found.entries),
        "date": _line(found.updated or newest),
        "words": len(words_of(markdown)),
        "encoding": decoded.encoding,
    }


def _read(text: str) -> Feed | None:
    try:
        return read_feed(text)
    except ValueError:
        pass
    try:
        return parse_xml(text.lstrip()).feed()
    except ValueError:
        return None


def _head(found: Feed) -> str:
    lines = [f"# {_line(found.title) or 'Feed'}"]
    lines += [said for said in (_line(found.description), _line(found.link)) if said]
    return "\n\n".join(lines)


def _entry(entry: Entry, url: str) -> str:
    title = _line(entry.title) or "(no title)"
    about = " · ".join(
        said for said in (_line(entry.published or entry.updated), _line(entry.author), _line(entry.link)) if said
    )
    content = entry.content if isinstance(entry.content, str) else ""
    body = max(content, entry.summary or "", key=len)
    text = extract(f"<div>{body}</div>", entry.link or url, whole=True).markdown.strip() if body.strip() else ""
    if len(text) > _SUMMARY_CHARACTERS:
        text = text[:_SUMMARY_CHARACTERS].rpartition(" ")[0] + " …"
    # The entry's own headings must not look like further entries.
    text = "\n".join(f"##{line}" if line.startswith("#") else line for line in text.split("\n"))
    return "\n\n".join(part for part in (f"## {title}", about, text) if part)


def _line(text: str | None) -> str:
    return " ".join((text or "").split())
