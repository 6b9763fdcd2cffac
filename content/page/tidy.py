"""Brings the kept part of a page into the shape from which Markdown comes out right."""

import re
from urllib.parse import urljoin, urlsplit

from turbohtml import Document, Element, Node, Text

from .listings import tidy_listings
from .tables import tidy_tables

_HEADINGS = "h1, h2, h3, h4, h5, h6"
_BLOCKS = "p, div, h1, h2, h3, h4, h5, h6, ul, ol, dl, table, section, article, header, footer, figure, blockquote, pre"
_BLOCK_TAGS = frozenset(_BLOCKS.split(", ")) | {"li", "td", "th", "dd", "dt", "main", "body", "figcaption", "aside"}
_PERMALINK = re.compile(r"^[\s#¶§🔗\u200b\ue000-\uf8ff]*$|^(link to|permalink|copy link|anchor)\b", re.IGNORECASE)
_SUPERSCRIPT = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_SUBSCRIPT = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_SIGN = re.compile(r"^\s*[#¶§🔗\u200b\ue000-\uf8ff]+\s*$")
_CODE = "code, kbd, samp, tt, var"
_NEEDS_ESCAPING = re.compile(r"[\\`*_\[\]<>~|]")
_RAISED = re.compile(r"^[0-9+\-−=()ni]{1,8}$")
_LOWERED = re.compile(r"^[0-9+\-−=()]{1,8}$")
_LONG_DEFINITION = 400
_MAX_ADDRESS = 2_000


def tidy(root: Document | Element, base_url: str, page_url: str) -> None:
    """Tidy everything inside `root`, in place: listings, tables, links, pictures, headings, definitions, breaks.

    Links are resolved with `base_url`, and short where they lead to the site of `page_url`.
    """
    body = root.select_one("body") if isinstance(root, Document) else root
    if body is None:
        return
    tidy_listings(body)
    _inner_links(body)
    _scripts(body)
    _pictures(body, base_url)
    _links(body, base_url, page_url)
    _headings(body)
    _definitions(body)
    tidy_tables(body)
    _breaks(body)
    _bare_items(body)
    for element in body.select("summary"):
        element.tag = "p"
    for element in body.iter_elements():
        if "-" in element.tag:
            element.tag = "div"
    body.remove("select, datalist, textarea, svg, rp:empty")


def _scripts(body: Element) -> None:
    """Raised and lowered characters keep their meaning: 10⁶ is not 106."""
    for element in body.select("sup"):
        text = element.text.strip()
        if element.select_one("a") is None and _RAISED.match(text):
            element.replace_with(Text(text.translate(_SUPERSCRIPT)))
    for element in body.select("sub"):
        text = element.text.strip()
        if _LOWERED.match(text):
            element.replace_with(Text(text.translate(_SUBSCRIPT)))
    for run in body.select("b + b, strong + strong, i + i, em + em"):
        before = run.previous_sibling
        if isinstance(before, Element) and before.tag == run.tag:
            before.extend(list(run.children))
            run.extract()


def _pictures(body: Element, base_url: str) -> None:
    for picture in body.select("picture"):
        if picture.select_one("img") is None:
            source = picture.select_one("source[srcset]")
            if source is not None:
                source.replace_with(Element("img", {"src": _largest(source.attr("srcset") or "")}))
    for image in body.select("img"):
        src = image.attr("src") or ""
        if not src or src.startswith("data:") or "placeholder" in src:
            lazy = next(
                (said for name in ("data-src", "data-original", "data-lazy-src") if (said := image.attr(name))), ""
            )
            src = lazy or _largest(image.attr("srcset") or image.attr("data-srcset") or "")
        address = _absolute(src, base_url)
        if not address or _is_pixel(image):
            image.decompose()
            continue
        alt = " ".join((image.attr("alt") or "").split())
        image.replace_with(Element("img", {"src": address, "alt": alt}))


def _is_pixel(image: Element) -> bool:
    return (image.attr("width") or "").strip("px ") in {"0", "1"} or (image.attr("height") or "").strip("px ") in {
        "0",
        "1",
    }


def _largest(srcset: str) -> str:
    """The last address of a set; they are written from small to large."""
    addresses = [part.split()[0] for part in re.split(r",\s+", srcset) if part.split()]
    return addresses[-1].rstrip(",") if addresses else ""


def _absolute(href: str, base_url: str) -> str:
    href = href.strip()
    if not href:
        return ""
    try:
        address = urljoin(base_url, href)
        scheme = urlsplit(address).scheme.lower()
    except ValueError:
        return ""
    if scheme not in {"http", "https", "mailto", "tel", "ftp", ""} or len(address) > _MAX_ADDRESS:
        return ""
    return re.sub(r"\s", "%20", address)


def _inner_links(body: Element) -> None:
    """A link within the page is its text; a sign that only marks its own place is nothing."""
    for anchor in body.select('a[href^="#"]'):
        if _SIGN.match(anchor.text):
            anchor.decompose()
        else:
            anchor.unwrap()


def _links(body: Element, base_url: str, page_url: str) -> None:
    """Resolve links; a further page of the site keeps its address only where a text first leads to it."""
    known = {_shortened(page_url, page_url)}
    for anchor in body.select("a"):
        if anchor.parent is None:
            continue
        text = anchor.text.strip()
        address = _absolute(anchor.attr("href") or "", base_url)
        short = _shortened(address, page_url)
        if not address or short in known or (not text and anchor.select_one("img") is None):
            anchor.unwrap()
            continue
        if short != address and text:
            known.add(short)
        for name in list(anchor.attrs):
            del anchor.attrs[name]
        anchor.attrs["href"] = short
        if anchor.select_one(_BLOCKS) is not None:
            _move_inwards(anchor, short)


def _shortened(address: str, page_url: str) -> str:
    """Write an address on the page's own site as its path, from the page's folder or else the root, and no further."""
    page = urlsplit(page_url)
    site = f"{page.scheme}://{page.netloc}/"
    if not page.netloc or not address.startswith(site):
        return address
    address = address.partition("#")[0]
    folder = site + page.path[1:].rpartition("/")[0]
    inside = address.removeprefix(folder).lstrip("/") if address.startswith(f"{folder.rstrip('/')}/") else ""
    is_plain = inside[:1] not in {"", "?", "#"} and ":" not in inside.partition("/")[0]
    return inside if is_plain else address.removeprefix(site[:-1])


def _move_inwards(anchor: Element, address: str) -> None:
    """A link around whole blocks becomes a link in the heading among them, or else in the first text."""
    target = anchor.select_one(_HEADINGS)
    if target is None or not target.text.strip():
        target = next((b for b in anchor.select(_BLOCKS) if b.text.strip() and b.select_one(_BLOCKS) is None), None)
    if target is not None and target.tag not in {"ul", "ol", "table", "dl", "pre"}:
        target.wrap_children(Element("a", {"href": address}))
    anchor.unwrap()


def _headings(body: Element) -> None:
    for heading in body.select(_HEADINGS):
        for anchor in heading.select("a, button"):
            if _PERMALINK.match(anchor.text.strip()) and anchor.select_one("img") is None:
                anchor.decompose()
        for line in heading.select("br"):
            line.replace_with(Text(" "))
        if not heading.text.strip():
            heading.tag = "p"
        elif "code-header" in (heading.attr("class") or "").split():
            _as_code(heading)


def _definitions(body: Element) -> None:
    """A list of short definitions becomes a list; long ones become bold terms with their text below."""
    for listing in reversed(body.select("dl")):
        details = [child for child in listing.select("dd") if child.closest("dl") is listing]
        long = any(
            len(detail.text) > _LONG_DEFINITION or detail.select_one(f"pre, table, dl, li, {_HEADINGS}")
            for detail in details
        )
        for term in [child for child in listing.select("dt") if child.closest("dl") is listing]:
            _term(term)
        if long:
            for detail in details:
                detail.tag = "div"
            listing.tag = "div"
        else:
            _as_items(listing, details)


def _term(term: Element) -> None:
    """A signature or an option stands as one would search for it, any other term in bold."""
    term.tag = "p"
    if term.select_one(_BLOCKS) is not None or not term.text.strip():
        return
    if "sig" in (term.attr("class") or "").split() or _NEEDS_ESCAPING.search(term.text) or term.select_one(_CODE):
        _as_code(term)
    elif term.select_one("b, strong") is None:
        term.wrap_children(Element("strong"))


def _as_code(element: Element) -> None:
    """Put the text of an element in place of what marks it up, as code."""
    for line in element.select("br"):
        line.replace_with(Text(" "))
    text = " ".join(element.text.split())
    for child in list(element.children):
        child.extract()
    element.append(Element("code", {}, [Text(text)]))


def _as_items(listing: Element, details: list[Element]) -> None:
    for detail in details:
        for block in detail.select("p, div"):
            block.append(Text(" "))
            block.tag = "span"
        before = detail.previous_sibling
        while isinstance(before, Text) and not before.data.strip():
            before = before.previous_sibling
        items = Element("ul", {}, [])
        item = Element("li")
        item.extend(list(detail.children))
        items.append(item)
        detail.replace_with(items)
        if isinstance(before, Element) and before.tag == "ul":
            before.append(item)
            items.decompose()
    listing.tag = "div"


def _bare_items(body: Element) -> None:
    """An item that only holds a list has lost its own text: its list takes its place."""
    for item in body.select("li > ul:only-child, li > ol:only-child"):
        around = item.parent
        if isinstance(around, Element) and around.tag == "li" and around.text.strip() == item.text.strip():
            around.replace_with(*list(item.children))


def _breaks(body: Element) -> None:
    """Two line breaks in a row are how some pages write paragraphs."""
    for line in body.select("br"):
        parent = line.parent
        if not isinstance(parent, Element) or parent.tag not in _BLOCK_TAGS:
            continue
        following = _next_breaks(line)
        if following:
            line.replace_with(Element("div"))
            for further in following:
                further.extract()


def _next_breaks(line: Element) -> list[Element]:
    """The line breaks that follow with nothing but white space between."""
    found: list[Element] = []
    following: Node | None = line.next_sibling
    while following is not None:
        if isinstance(following, Element) and following.tag == "br":
            found.append(following)
        elif not (isinstance(following, Text) and not following.data.strip()):
            break
        following = following.next_sibling
    return found
