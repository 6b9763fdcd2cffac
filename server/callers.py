"""Who is calling, and what they can take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..artifacts import Session
from ..budget.ceilings import Ceiling
from ..tools.base import Progress

ANYBODY = "anonymous"
"""Principal of every request to a server that asks for no token."""


async def _untold(done: float, total: float | None = None, message: str = "") -> None:
    """Report progress to nobody."""


@dataclass(frozen=True, slots=True)
class Client:
    """What one request tells of its client.

    Attributes:
        name: as the client calls itself; empty if it did not say.
        ceiling: what it can take, and how long it waits.
        progress: tells it how far a call has come.
        meta: the request's `_meta`.
        principal: whose request it is, over HTTP; empty on standard input and output.
        transport_session: id of the transport's own session, checked by the transport; empty where there is none.
        shows_pictures: a picture beside the reply is a picture to its model, not the text of its base64.
    """

    name: str
    ceiling: Ceiling
    progress: Progress = _untold
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    principal: str = ""
    transport_session: str = ""
    shows_pictures: bool = True

    def sharer(self, session: Session) -> str:
        """Name whom a call is done for: its principal, or its session where principals are not told apart."""
        return session.directory.name if self.principal in ("", ANYBODY) else self.principal
