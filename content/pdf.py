"""Reads the text of a PDF, page by page; runs in a worker process, because the decoder is native code."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from .page.segments import words_of

_MAX_PAGES = 3_000
_MAX_CHARACTERS = 40_000_000
_DATE = re.compile(r"^D:(\d{4})(\d{2})?(\d{2})?")
_HYPHEN = "\ufffe"
"""What PDFium writes for a hyphen at the end of a line that only the line break made necessary."""


class _TextPage(Protocol):
    def get_text_bounded(self) -> str: ...
    def close(self) -> None: ...


class _Page(Protocol):
    def get_textpage(self) -> _TextPage: ...
    def close(self) -> None: ...


class _Pdf(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, number: int) -> _Page: ...
    def get_metadata_dict(self) -> dict[str, str]: ...
    def close(self) -> None: ...


def load() -> None:
    """Load the reader."""
    import_module("pypdfium2")


def run(source: str, target: str, url: str = "", charset: str = "") -> dict[str, str | int]:
    """Write the text of the PDF in the file `source` to the file `target`, each page under a heading.

    Returns:
        `title`, `byline`, `date`, `pages`, `words`, `pages_without_text`; `bad` (`encrypted` or `damaged`) and nothing
        else when it cannot be read.
    """
    import pypdfium2  # pyright: ignore[reportMissingTypeStubs]

    opener = cast("Any", pypdfium2)
    try:
        document = cast("_Pdf", opener.PdfDocument(source))
    except opener.PdfiumError as error:
        return {"bad": "encrypted" if "assword" in str(error) else "damaged"}
    try:
        return _read(document, target)
    finally:
        document.close()


def _read(document: _Pdf, target: str) -> dict[str, str | int]:
    about = document.get_metadata_dict()
    pages = len(document)
    words = characters = bare = 0
    with Path(target).open("w", encoding="utf-8", errors="replace", newline="\n") as out:
        for number in range(min(pages, _MAX_PAGES)):
            text = _text(document, number)
            words += len(words_of(text))
            characters += len(text)
            bare += not text
            out.write(f"## Page {number + 1}\n\n{text}\n\n" if text else f"## Page {number + 1}\n\n")
            if characters > _MAX_CHARACTERS:
                break
    day = _DATE.match(about.get("CreationDate", ""))
    return {
        "title": " ".join(about.get("Title", "").split()),
        "byline": " ".join(about.get("Author", "").split()),
        "date": "-".join(part for part in day.groups() if part) if day else "",
        "pages": pages,
        "pages_without_text": bare,
        "words": words,
    }


def _text(document: _Pdf, number: int) -> str:
    try:
        page = document[number]
        try:
            content = page.get_textpage()
            try:
                found = content.get_text_bounded()
            finally:
                content.close()
        finally:
            page.close()
    except RuntimeError:
        return ""
    joined = re.sub(rf"{_HYPHEN}\r?\n?", "", found).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    # A line of the PDF's text that starts with # is no heading.
    return "\n".join(line.rstrip() for line in re.sub(r"(?m)^#", r"\\#", joined).split("\n")).strip("\n")
