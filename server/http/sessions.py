"""Which session a call over HTTP works in, and whose it must be."""

import hmac
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...artifacts import HANDLE_PREFIX, Session, Store, handle_from, refusals
from ...errors import BursarError
from ..callers import ANYBODY, SESSION_META_KEY, Client

_ATTACHED_MAX = 200
"""Sessions kept open between calls; each takes two descriptors, and many systems allow a process 1,024."""

_SCHEME = "artifact://"


@dataclass
class HttpCallers:
    """The callers of an HTTP server: any number of principals, each with sessions that nobody else can attach to.

    Attributes:
        store: where sessions live.
        key: a secret of this server that outlives it; sessions of the transport's own ids are derived with it.
    """

    store: Store
    key: bytes
    _attached: OrderedDict[tuple[str, str], Session] = field(default_factory=OrderedDict[tuple[str, str], Session])

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
        if isinstance(reference, str) and (handle := _handle_in(reference)):
            try:
                return self._attach(handle, owner)
            except BursarError:
                raise refusals.unknown_artifact() from None
        named = client.meta.get(SESSION_META_KEY)
        if _is_given(named):
            return self._attach(named, owner)
        if client.transport_session:
            return self._derived(client.transport_session, owner)
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

    def remove(self, handle: str, owner: str) -> None:
        """Remove a session with everything in it. Blocks.

        Raises:
            BursarError: `unknown_session`, whatever is wrong with the handle; `store_failed`.
        """
        self.store.remove(handle, owner)
        self._attached.pop((handle, owner), None)

    def _attach(self, handle: object, owner: str) -> Session:
        if not isinstance(handle, str):
            raise refusals.unknown_session()
        handle = handle.strip().removeprefix(_SCHEME).partition("/")[0]  # models give whole references too
        known = self._attached.get((handle, owner))
        if known is not None and known.directory.is_dir():
            self._attached.move_to_end((handle, owner))
            return known
        self._attached.pop((handle, owner), None)
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
        self._attached[session.handle, session.owner] = session
        if len(self._attached) > _ATTACHED_MAX:
            # Not closed: a call may still work in it. It closes itself when the last of them lets go.
            self._attached.popitem(last=False)
        return session


def _is_given(value: object) -> bool:
    return value is not None and value != ""


def _handle_in(reference: str) -> str:
    """Return the handle that a self-contained reference begins with; empty if it has none."""
    handle, slash, _ = reference.strip().removeprefix(_SCHEME).partition("/")
    return handle if slash and handle.startswith(HANDLE_PREFIX) else ""
