"""Conversations with a model that outlive their program: kept in a checked file, their requests within a limit."""

from ..budget.request import Limit, Request, State, Usage, fit
from .conversation import Attempt, Conversation, delete
from .file import Damage
from .shelf import MemoryShelf, Shelf

__all__ = [
    "Attempt",
    "Conversation",
    "Damage",
    "Limit",
    "MemoryShelf",
    "Request",
    "Shelf",
    "State",
    "Usage",
    "delete",
    "fit",
]
