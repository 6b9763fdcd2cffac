"""Which session a call works in: one order, whatever carries the call; and how a session ends."""

import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import anyio
import anyio.to_thread

from ..artifacts import Reference, Session, Store, errors
from ..artifacts.ownership import local_owner
from ..errors import BursarError
from .arguments import shown
from .callers import ANYBODY, Client

META_KEY = "bursar/session"
"""Key of a request's `_meta` under which a client may name its session."""

_CONNECTIONS_MAX = 50_000
"""Connections whose session is remembered: far more than are open at a time."""

_ENDING_S = 10.0
"""Waited at most for the calls of a session that is deleted: threads cannot be interrupted. Such a call finds nothing
left to store anything in."""

_LOCKED_S, _LOCKED_POLL_S = 1.0, 0.01
"""Waited at most for the lock of a session, and between two attempts."""

_Key = tuple[str, str]
"""Owner, and a handle or a connection."""


@dataclass
class Sessions(ABC):
    """The sessions of those who call over one transport.

    Attributes:
        store: where sessions live.
        handle: of the session that a connection begins with; empty to make one when it is first needed.
        are_remote: paths of this machine may mean nothing to the callers.
        kept_s: seconds after which an unused session is let go of: none that is open is ever swept.
        kept_most: so many stay open between calls; each takes two descriptors, and many systems allow a process 1,024.
    """

    store: Store
    handle: str = ""
    are_remote: ClassVar[bool]
    kept_s: ClassVar[float]
    kept_most: ClassVar[int]
    _attached: OrderedDict[_Key, tuple[Session, float]] = field(
        default_factory=OrderedDict[_Key, tuple[Session, float]]
    )
    _connections: OrderedDict[_Key, str] = field(default_factory=OrderedDict[_Key, str])
    _introduced: set[_Key] = field(default_factory=set[_Key])
    _calls: dict[str, dict[anyio.CancelScope, anyio.Event]] = field(
        default_factory=dict[str, dict[anyio.CancelScope, anyio.Event]]
    )
    _ending: set[str] = field(default_factory=set[str])
    _alone: set[str] = field(default_factory=set[str])

    @abstractmethod
    def owner(self, client: Client) -> str:
        """Return whose sessions a client may work in."""

    @abstractmethod
    def connection(self, client: Client) -> str:
        """Name the connection that a call came over; empty where each call stands alone."""

    def resolve(self, arguments: Mapping[str, Any], client: Client) -> Session:
        """Return the session that a call works in; what is said outright comes before what is only meant.

        1. the argument `session`: a handle, or any reference from that session;
        2. the session in the reference that the argument `artifact` is;
        3. `_meta`, as the argument;
        4. the session of the connection;
        5. a new one, which goes with the connection from then on. So does it when the connection's was deleted.

        Whoever is named in 1 to 3 must exist and belong to the caller; nothing is made or taken in its stead.

        Raises:
            BursarError: `unknown_session` or `unknown_artifact`, whatever is wrong with what was given; `bad_argument`
                for what is no text.
        """
        owner = self.owner(client)
        artifact = arguments.get("artifact")
        if named := _named(arguments.get("session"), "session"):
            return self._attach(named, owner)
        if isinstance(artifact, str) and (reference := Reference.parse(artifact)) is not None and reference.handle:
            return self._of_artifact(reference, owner)
        if named := _named(client.meta.get(META_KEY), META_KEY):
            return self._attach(named, owner)
        connection = self.connection(client)
        if (session := self._of_connection(connection, owner)) is not None:
            return session
        if artifact:
            raise errors.unknown_artifact()  # a new session has none that could be meant
        session = self._keep(self.store.create(owner))
        if not connection:
            self._alone.add(session.handle)
            return session
        self._connections[owner, connection] = session.handle
        self._introduced.discard((owner, connection))
        if len(self._connections) > _CONNECTIONS_MAX:
            self._introduced.discard(self._connections.popitem(last=False)[0])
        return session

    async def resolve_unlocked(self, arguments: Mapping[str, Any], client: Client) -> Session:
        """Resolve as `resolve` does, but wait a moment for a session that is being swept."""
        until = anyio.current_time() + _LOCKED_S
        while True:
            try:
                return self.resolve(arguments, client)
            except BursarError as error:
                if error.code != "session_locked" or anyio.current_time() > until:
                    raise
            await anyio.sleep(_LOCKED_POLL_S)

    def home(self, session: Session, client: Client) -> str:
        """Return a session's handle if its artifacts need not be named with it: the caller was told it before.

        That is so on a connection that has this session for its own. Empty where each call may be the first that
        somebody makes.
        """
        key = self.owner(client), self.connection(client)
        is_own = key in self._introduced and self._connections.get(key) == session.handle
        return session.handle if is_own else ""

    def introduce(self, session: Session, client: Client) -> None:
        """Take note that a caller was told the handle of a session, if it is the one of the connection."""
        key = self.owner(client), self.connection(client)
        if key[1] and self._connections.get(key) == session.handle:
            self._introduced.add(key)

    def current(self, client: Client) -> Session | None:
        """Return the session of a call that names none in its arguments, if there is one already; makes none."""
        owner = self.owner(client)
        try:
            if named := _named(client.meta.get(META_KEY), META_KEY):
                return self._attach(named, owner)
            return self._of_connection(self.connection(client), owner)
        except BursarError:
            return None

    @contextmanager
    def working(self, session: Session) -> Generator[None]:
        """Have the call in this block end with its session.

        Raises:
            BursarError: unknown_session; the session was deleted meanwhile.
        """
        with anyio.CancelScope() as scope:
            calls = self._calls.setdefault(session.handle, {})
            ended = calls[scope] = anyio.Event()
            try:
                yield
            finally:
                del calls[scope]
                if not calls:
                    self._calls.pop(session.handle, None)
                ended.set()
        if scope.cancelled_caught:
            raise errors.unknown_session()

    def end_call(self, session: Session, *, is_known: bool) -> None:
        """Leave nothing on the disk of a session that was made for one call which stored nothing.

        Args:
            session: that the call worked in.
            is_known: the reply named the session, so that the caller may come back to it.
        """
        if session.handle not in self._alone:
            return
        self._alone.discard(session.handle)
        if not is_known and session.is_empty:
            self._attached.pop((session.owner, session.handle), None)
            with suppress(BursarError):
                self.store.remove(session.handle, session.owner)

    async def remove(self, handle: str, owner: str, leave: Callable[[Session], Awaitable[None]]) -> None:
        """Delete a session: it takes no further call, those in it end, and then all that is stored in it goes.

        Args:
            handle: the key to it.
            owner: whom it must belong to.
            leave: ends what goes on in the session beside its calls.

        Raises:
            BursarError: `unknown_session`, whatever is wrong with the handle; `store_failed`.
        """
        session = self._attach(handle, owner)
        self._ending.add(handle)
        try:
            calls = dict(self._calls.get(handle, {}))
            for scope in calls:
                scope.cancel()
            with anyio.move_on_after(_ENDING_S):
                for ended in calls.values():
                    await ended.wait()
            await leave(session)
            await anyio.to_thread.run_sync(self.store.remove, handle, owner)
            self._attached.pop((owner, handle), None)
        finally:
            self._ending.discard(handle)

    def let_go(self) -> None:
        """Let go of sessions that were not used for a while."""
        while self._attached and next(iter(self._attached.values()))[1] < time.monotonic() - self.kept_s:
            self._attached.popitem(last=False)

    def _of_artifact(self, reference: Reference, owner: str) -> Session:
        try:
            return self._attach(reference.handle, owner)
        except BursarError as error:
            raise errors.unknown_artifact() if error.code == "unknown_session" else error from None

    def _of_connection(self, connection: str, owner: str) -> Session | None:
        """Return the session that goes with a connection; None if it has none yet, or that was deleted."""
        handle = self._connections.get((owner, connection))
        if handle is None and connection and self.handle:
            session = self._attach(self.handle, owner)
            self._connections[owner, connection] = session.handle
            return session
        if handle is None:
            return None
        self._connections.move_to_end((owner, connection))
        try:
            return self._attach(handle, owner)
        except BursarError as error:
            if error.code != "unknown_session":
                raise
            return None

    def _attach(self, handle: str, owner: str) -> Session:
        if handle in self._ending:
            raise errors.unknown_session()
        known, _ = self._attached.pop((owner, handle), (None, 0.0))
        if known is not None and not known.is_gone:
            return self._keep(known)
        return self._keep(self.store.attach(handle, owner))

    def _keep(self, session: Session) -> Session:
        self._attached[session.owner, session.handle] = session, time.monotonic()
        if len(self._attached) > self.kept_most:
            # Not closed: a call may still work in it. It closes itself when the last of them lets go.
            self._attached.popitem(last=False)
        return session


class StdioSessions(Sessions):
    """Those of one process, which is one connection of the user who started it."""

    are_remote = False
    kept_s = float("inf")
    kept_most = 4

    def owner(self, client: Client) -> str:
        """Return the user."""
        return local_owner()

    def connection(self, client: Client) -> str:
        """Name the process."""
        return "stdio"


class HttpSessions(Sessions):
    """Those of any number of principals, none of whom can attach to another's."""

    are_remote = True
    kept_s = 600.0
    kept_most = 200

    def owner(self, client: Client) -> str:
        """Return the principal of the request."""
        return client.principal or ANYBODY

    def connection(self, client: Client) -> str:
        """Name the transport session, of which protocols without a handshake have none."""
        return client.transport_session


def _named(value: object, where: str) -> str:
    """Return the handle that a caller named; empty if he named none.

    Raises:
        BursarError: bad_argument; it is no text.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        what = f"{where!r}: a session is named by a text, not {shown(value)}"
        raise BursarError("bad_argument", what, "Give its handle, ses_…, or a reference from it")
    reference = Reference.parse(value)  # models give whole references too
    return value.strip() if reference is None else reference.handle or value
