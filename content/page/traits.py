"""What a page declares about its own kind: Open Graph, schema.org and its address."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from turbohtml import Document

TYPES = ("article", "product", "list", "forum", "docs", "service")
"""Groups of schema.org types."""


@dataclass(frozen=True, slots=True)
class PageTraits:
    """What the whole page says about itself.

    Attributes:
        article: its metadata calls it an article.
        types: the groups of `TYPES` it declares.
        path_depth: segments in the address's path.
    """

    article: bool = False
    types: frozenset[str] = frozenset()
    path_depth: int = 0


_GROUPS = (
    ("article", r'"(News|Blog|Tech|Scholarly|Report)?(Article|Posting)"'),
    ("product", r'"(Product|ProductGroup|Offer|AggregateOffer|IndividualProduct)"'),
    ("list", r'"(ItemList|CollectionPage|SearchResultsPage|OfferCatalog)"'),
    ("forum", r'"(QAPage|DiscussionForumPosting|Question|Comment)"'),
    ("docs", r'"(TechArticle|APIReference|HowTo|FAQPage|SoftwareSourceCode)"'),
    ("service", r'"(Service|LocalBusiness|Organization|SoftwareApplication|Corporation)"'),
)
_PATTERNS = tuple((group, re.compile(r'"@type"\s*:\s*\[?\s*' + pattern)) for group, pattern in _GROUPS)
_ITEM = re.compile(r"schema\.org/(\w+)")


def traits(document: Document, url: str) -> PageTraits:
    """Collect what the page declares; nothing of it is believed by itself, the trees weigh it."""
    declared = " ".join(script.text[:200_000] for script in document.select('script[type="application/ld+json"]')[:20])
    items = {
        found
        for element in document.select("[itemtype]")[:200]
        for found in _ITEM.findall(element.attr("itemtype") or "")
    }
    declared += " ".join(f'"@type":"{item}"' for item in sorted(items))
    types = frozenset(group for group, pattern in _PATTERNS if pattern.search(declared))
    kind = document.select_one('meta[property="og:type"]')
    article = kind is not None and (kind.attr("content") or "").lower() == "article"
    path = urlsplit(url).path if "://" in url else ""
    return PageTraits(article, types, len([part for part in path.split("/") if part]))
