"""What the budget needs to know of a content: its size, and any stretch of its bytes."""

from typing import Protocol


class Content(Protocol):
    """Bytes that can be read at any offset without holding them all in memory."""

    @property
    def size(self) -> int:
        """Length in bytes."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only at the end."""
        ...
