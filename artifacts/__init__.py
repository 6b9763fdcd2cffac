"""The strong-room: every tool's full output, kept in its session's own directory and read a piece at a time."""

from .artifact import Artifact
from .calls import Exchange
from .limits import Limits
from .records import Source
from .reference import SCHEME, Reference
from .session import Session, source_of
from .spool import Spool
from .store import Store
from .writer import Writer

__all__ = [
    "SCHEME",
    "Artifact",
    "Exchange",
    "Limits",
    "Reference",
    "Session",
    "Source",
    "Spool",
    "Store",
    "Writer",
    "source_of",
]
