"""Who is calling, what they can take, and which session is theirs."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..artifacts import HANDLE_PREFIX, Session, Store, refusals
from ..budget.ceilings import Ceiling
from ..errors import BursarError
from ..tools.base import Progress

_ATTACHED_MAX = 4
"""Other sessions kept attached; each takes two descriptors and keeps itself from being swept."""

SESSION_META_KEY = "bursar/session"
"""Key of a request's `_meta` under which a client may name its session."""

SCHEME = "artifact://"
"""What the address of an artifact begins with."""

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
    """

    name: str
    ceiling: Ceiling
    progress: Progress = _untold
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    principal: str = ""
    transport_session: str = ""


class Callers(Protocol):
    """Decides whose session a call works in."""

    @property
    def are_remote(self) -> bool:
        """Whether paths of this machine may mean nothing to callers; they name their session in an argument."""
        ...

    def session(self, arguments: Mapping[str, Any], client: Client) -> Session:
        """Return the session of a call.

        Raises:
            BursarError: `unknown_session`, whatever is wrong with the handle that was given.
        """
        ...

    def current(self, client: Client) -> Session | None:
        """Return the session of a call that names none itself, if there is one already; makes none."""
        ...


def handle_in(reference: object) -> str:
    """Return the handle that a self-contained reference to an artifact begins with; empty if it has none."""
    if not isinstance(reference, str):
        return ""
    handle, slash, _ = reference.strip().removeprefix(SCHEME).partition("/")
    return handle if slash and handle.startswith(HANDLE_PREFIX) else ""


def local_owner() -> str:
    """Name the principal of a process on this machine: its user."""
    if sys.platform == "win32":
        import getpass

        return f"local:{getpass.getuser()}"
    return f"local:{os.getuid()}"


@dataclass
class LocalCallers:
    """The callers of one process: one session of the local user, minted when it is first needed.

    Attributes:
        store: where sessions live.
        handle: of the session to go on with; empty to mint one.
    """

    store: Store
    handle: str = ""
    _own: Session | None = None
    _attached: dict[str, Session] = field(default_factory=dict[str, Session])

    @property
    def are_remote(self) -> bool:
        """They are processes of this machine."""
        return False

    def session(self, arguments: Mapping[str, Any], client: Client) -> Session:
        """Return an artifact's own session, else the one named by argument or `_meta`, else the process's.

        References to artifacts carry their session, because many clients start a new process for every call.

        Raises:
            BursarError: `unknown_session` or `unknown_artifact`, whatever is wrong with what was given.
        """
        if handle := handle_in(arguments.get("artifact")):
            try:
                return self._attach(handle)
            except BursarError:
                raise refusals.unknown_artifact() from None
        named = arguments.get("session") or client.meta.get(SESSION_META_KEY)
        if isinstance(named, str) and named:
            return self._attach(named)
        if self._own is None:
            self._own = self._attach(self.handle) if self.handle else self.store.create(local_owner())
        return self._own

    def current(self, client: Client) -> Session | None:
        """Return the session named in `_meta`, else the process's, if it has one already."""
        named = client.meta.get(SESSION_META_KEY)
        if self._own is None and not self.handle and not (isinstance(named, str) and named):
            return None
        try:
            return self.session({}, client)
        except BursarError:
            return None

    def _attach(self, handle: str) -> Session:
        if self._own is not None and handle == self._own.handle:
            return self._own
        session = self._attached.pop(handle, None) or self.store.attach(handle, local_owner())
        self._attached[handle] = session
        if len(self._attached) > _ATTACHED_MAX:
            # Not closed: a call may still work in it. It closes itself when the last of them lets go.
            del self._attached[next(iter(self._attached))]
        return session
