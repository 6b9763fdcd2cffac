"""Which session a call over HTTP works in, and whose it must be."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread

from ...artifacts import Session, Store, handle_from, refusals
from ...errors import BursarError
from ..callers import ANYBODY, SCHEME, SESSION_META_KEY, Client, handle_in

_ATTACHED_MAX = 200
"""Sessions kept open between calls; each takes two descriptors, and many systems allow a process 1,024."""

_ATTACHED_S = 600.0
"""One that was unused for so long is let go of: the store sweeps none that is open, so it would never expire."""

_LOOK_S = 60.0

_Key = tuple[str, str]
"""Handle and owner."""


@dataclass
class HttpCallers:
    """The callers of an HTTP server: any number of principals, each with sessions that nobody else can attach to.

    Attributes:
        store: where sessions live.
        key: a secret of this server that outlives it; sessions of the transport's own ids are derived with it.
    """

    store: Store
    key: bytes
    _attached: OrderedDict[_Key, tuple[Session, float]] = field(
        default_factory=OrderedDict[_Key, tuple[Session, float]]
    )

    @property
    def are_remote(self) -> bool:
        """They may be anywhere."""
        return True

    def session(self, arguments: Mapping[str, Any], client: Client) -> Session:
        """Return the session that a call names, else the one of its transport session, else a new one.

        Named is it by the argument `session`, by an artifact's reference, or in the request's `_meta`.

        Raises:
            BursarError: `unknown_session` or `unknown_artifact`, whatever is wrong with what was given.
        """
        owner = client.principal or ANYBODY
        named = arguments.get("session")
        if _is_given(named):
            return self._attach(named, owner)
        reference = arguments.get("artifact")
        if handle := handle_in(reference):
            try:
                return self._attach(handle, owner)
            except BursarError:
                raise refusals.unknown_artifact() from None
        named = client.meta.get(SESSION_META_KEY)
        if _is_given(named):
            return self._attach(named, owner)
        if client.transport_session:
            return self._derived(client.transport_session, owner)
        if _is_given(reference):
            raise refusals.unknown_artifact()  # a new session has none that could be meant
        return self._keep(self.store.create(owner))

    def current(self, client: Client) -> Session | None:
        """Return the session named in `_meta`, else that of the transport session, if there is one already."""
        owner = client.principal or ANYBODY
        named: object = client.meta.get(SESSION_META_KEY)
        if not _is_given(named):
            if not client.transport_session:
                return None
            named = self._handle_of(client.transport_session, owner)
        try:
            return self._attach(named, owner)
        except BursarError:
            return None

    async def remove(self, handle: str, owner: str) -> None:
        """Remove a session with everything in it.

        Raises:
            BursarError: `unknown_session`, whatever is wrong with the handle; `store_failed`.
        """
        await anyio.to_thread.run_sync(self.store.remove, handle, owner)
        self._attached.pop((handle, owner), None)

    async def let_go(self) -> None:
        """Let go of sessions that were not used for a while, for as long as the server lives."""
        while True:
            await anyio.sleep(_LOOK_S)
            while self._attached and next(iter(self._attached.values()))[1] < time.monotonic() - _ATTACHED_S:
                self._attached.popitem(last=False)

    def _attach(self, handle: object, owner: str) -> Session:
        if not isinstance(handle, str):
            raise refusals.unknown_session()
        handle = handle.strip().removeprefix(SCHEME).partition("/")[0]  # models give whole references too
        known, _ = self._attached.pop((handle, owner), (None, 0.0))
        if known is not None and known.directory.is_dir():
            return self._keep(known)
        return self._keep(self.store.attach(handle, owner))

    def _derived(self, transport_session: str, owner: str) -> Session:
        """Return the session that belongs to a transport session: the same one at every call and after a restart."""
        handle = self._handle_of(transport_session, owner)
        try:
            return self._attach(handle, owner)
        except BursarError:
            return self._keep(self.store.create(owner, handle))

    def _handle_of(self, transport_session: str, owner: str) -> str:
        return handle_from(hmac.digest(self.key, f"{owner}\0{transport_session}".encode(), "sha256"))

    def _keep(self, session: Session) -> Session:
        self._attached[session.handle, session.owner] = session, time.monotonic()
        if len(self._attached) > _ATTACHED_MAX:
            # Not closed: a call may still work in it. It closes itself when the last of them lets go.
            self._attached.popitem(last=False)
        return session


def _is_given(value: object) -> bool:
    return value is not None and value != ""
