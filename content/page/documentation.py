"""Tells pages that a generator of documentation made, and finds their main element: all of it is content."""

import re

from turbohtml import Document, Element

from .segments import words_of
from .traits import PageTraits

_GENERATORS = re.compile(
    r"antora|asciidoc|docbook|docfx|docusaurus|docutils|doxygen|exdoc|gitbook|gtk-doc|javadoc|makeinfo|mdbook|mkdocs|"
    r"nextra|rustdoc|sphinx|starlight|typedoc|vitepress|vuepress|yard",
    re.IGNORECASE,
)
_SIGNS = "#documentation_options, .sphinxsidebar, .sidebar-scrollbox, .docusaurus-highlight-code-line, body.rustdoc"
_MAINS = "[role=main], main, article, #main-content, .theme-doc-markdown, .vp-doc"
_MAIN_SHARE, _MAIN_MIN_WORDS = 0.9, 40
_BESIDE = (
    "nav, [role=navigation], footer, button, form, .toc, .contents.topic, .contents.local, .breadcrumb, .breadcrumbs, "
    ".test-arrow, .information, .viewcode-link, .srclink, a.src, .md-content__button, .theme-doc-toc-mobile"
)
_MANY_LISTINGS = 6


def is_generated(document: Document) -> bool:
    """Tell whether a generator of documentation made the page; as received, before it is prepared."""
    said = " ".join(meta.attr("content") or "" for meta in document.select("meta[name=generator i]")[:5])
    return _GENERATORS.search(said) is not None or document.select_one(_SIGNS) is not None


def is_full_of_listings(document: Document, declared: PageTraits) -> bool:
    """Tell whether a page explains programs by showing them; a thread may do so too, but is more than that."""
    return "forum" not in declared.types and len(document.select("pre")) >= _MANY_LISTINGS


def main_element(document: Document) -> Element | None:
    """Return the innermost element that is declared to be the main one, without what stands beside the text in it."""
    mains = [(len(words_of(element.text)), element) for element in document.select(_MAINS)[:50]]
    most = max((words for words, _ in mains), default=0)
    if most < _MAIN_MIN_WORDS:
        return None
    main = min((one for one in mains if one[0] >= _MAIN_SHARE * most), key=lambda one: one[0])[1]
    for beside in main.select(_BESIDE):
        beside.extract()
    return main
