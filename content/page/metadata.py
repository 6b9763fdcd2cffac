"""Title, author, date and language of a page, from what it declares about itself."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any, cast

from turbohtml import Document
from turbohtml.extract import DateExtraction, dates

_MOST = 200
_DATE = re.compile(r"^\s*(\d{4})-(\d{2})-(\d{2})")
_LANGUAGE = re.compile(r"^[a-zA-Z]{2,3}(?:[-_][a-zA-Z0-9]{2,8})*$")
_BYLINE_PREFIX = re.compile(r"^\s*(?:by|von|par|por|di)\s+", re.IGNORECASE)
_SEPARATORS = (" | ", " – ", " — ", " - ", " · ", " » ", " :: ")
_AUTHORS = '[rel="author"], [itemprop="author"], .byline, .author-name, .post-author, .p-author'
_ARTICLE_TYPES = re.compile(r"Article|Posting|Report|Review|WebPage|HowTo|Product|Question", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page says about itself; empty texts where it says nothing. The date is `YYYY-MM-DD`."""

    title: str = ""
    byline: str = ""
    date: str = ""
    language: str = ""
    text: str = ""


def metadata(document: Document) -> Metadata:
    """Collect the metadata; before the page is prepared, which removes scripts."""
    found = list(_declared(document))
    return Metadata(
        title=_title(document),
        byline=_byline(document, found),
        date=_date(document, found),
        language=_language(document),
        text=max((_text(item.get("articleBody")) for item in found), key=len, default=""),
    )


def _text(value: object) -> str:
    """Some write entities into JSON or write them twice; no title or name means them."""
    return " ".join(unescape(value).split()) if isinstance(value, str) else ""


def _meta(document: Document, *names: str) -> str:
    for name in names:
        element = document.select_one(f'meta[property="{name}"], meta[name="{name}"], meta[itemprop="{name}"]')
        if element is not None and (said := _text(element.attr("content"))):
            return said
    return ""


def _title(document: Document) -> str:
    """The page's own heading if its title starts with it or holds it; else the title without the site's name."""
    element = document.select_one("head title") or document.select_one("title")
    full = _text(element.text) if element is not None else ""
    social = _meta(document, "og:title", "twitter:title")
    headings = [text for heading in document.select("h1")[:4] if 0 < len(text := _text(heading.text)) <= _MOST]
    for heading in headings:
        place = (full or social).lower().find(heading.lower())
        if len(heading) > 3 and (place == 0 or (place > 0 and 2 * len(heading) > len(full or social))):
            return heading
    title = social or full
    if not social:
        site = _meta(document, "og:site_name", "application-name")
        for separator in _SEPARATORS:
            head, found, tail = title.rpartition(separator)
            if found and (tail.lower() == site.lower() or len(head) > 2 * len(tail)):
                title = head
                break
    return (title or (headings[0] if len(headings) == 1 else ""))[:_MOST]


def _declared(document: Document) -> Iterator[dict[str, Any]]:
    """The schema.org items of a page that describe it as a whole."""
    for script in document.select('script[type="application/ld+json"]')[:20]:
        try:
            parsed: object = json.loads(script.text)
        except (ValueError, RecursionError):
            continue
        queue = [parsed]
        for _ in range(200):
            if not queue:
                break
            item = queue.pop(0)
            if isinstance(item, list):
                queue += cast("list[object]", item)
            elif isinstance(item, dict):
                record = cast("dict[str, Any]", item)
                queue += [record[name] for name in ("@graph", "mainEntity") if name in record]
                if _ARTICLE_TYPES.search(str(record.get("@type", ""))):
                    yield record


def _byline(document: Document, found: list[dict[str, Any]]) -> str:
    for item in found:
        names = list(dict.fromkeys(_names(item.get("author"))))
        if names:
            return ", ".join(names[:5])[:_MOST]
    said = _meta(document, "author", "article:author", "dc.creator", "DC.creator", "citation_author", "parsely-author")
    if said and not said.startswith("http"):
        return said[:_MOST]
    element = document.select_one('[itemprop="author"] [itemprop="name"]') or document.select_one(_AUTHORS)
    said = _BYLINE_PREFIX.sub("", _text(element.text)) if element is not None else ""
    return said if len(said) <= 80 and not re.search(r"\d{3}", said) else ""


def _names(author: object) -> Iterator[str]:
    if isinstance(author, str):
        if not author.startswith("http"):
            yield _text(author)
    elif isinstance(author, list):
        for one in cast("list[object]", author)[:20]:
            yield from _names(one)
    elif isinstance(author, dict):
        name = _text(cast("dict[str, Any]", author).get("name"))
        if name:
            yield name


def _date(document: Document, found: list[dict[str, Any]]) -> str:
    said = [str(item.get("datePublished", "")) for item in found]
    said.append(_meta(document, "article:published_time", "datePublished", "date", "dc.date", "DC.date.issued",
                      "citation_publication_date", "parsely-pub-date", "pubdate"))  # fmt: skip
    element = document.select_one(
        "time[pubdate], time[itemprop=datePublished], article time[datetime], time.entry-date"
    )
    said.append((element.attr("datetime") or "") if element is not None else "")
    said += [str(item.get("dateModified", "")) for item in found]
    said.append(_found_date(document))
    for one in said:
        day = _DATE.match(one)
        if day and "01" <= day.group(2) <= "12" and "01" <= day.group(3) <= "31":
            return "-".join(day.groups())
    return ""


def _found_date(document: Document) -> str:
    """Less usual places, such as the address and `time` elements; visible text is no evidence."""
    if document.select_one("article, .post, .entry-content, .article, time") is None:
        return ""
    found = dates(document.html, DateExtraction(original=True, extensive_search=False))
    return found.date if found is not None else ""


def _language(document: Document) -> str:
    root = document.root
    said = (root.attr("lang") or root.attr("xml:lang") or "") if root is not None else ""
    said = said or _meta(document, "og:locale", "language", "content-language")
    return said.replace("_", "-") if _LANGUAGE.match(said) else ""
