"""Markdown and plain text to PDF: a character is drawn, or replaced and told; text can be searched and copied out."""

from .engine import Cancelled, render
from .options import EmojiPolicy, Margins, Missing, Options, Pictures, Replaced, Report, page_size

__all__ = [
    "Cancelled",
    "EmojiPolicy",
    "Margins",
    "Missing",
    "Options",
    "Pictures",
    "Replaced",
    "Report",
    "page_size",
    "render",
]
