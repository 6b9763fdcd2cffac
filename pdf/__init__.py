"""Markdown and plain text to PDF: a character is drawn, or replaced and listed; text can be searched and copied out."""

from .engine import render
from .options import EmojiPolicy, Missing, Options, Pictures, Replaced, Report, page_size

__all__ = ["EmojiPolicy", "Missing", "Options", "Pictures", "Replaced", "Report", "page_size", "render"]
