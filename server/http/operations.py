"""What the operator set for one server process, put around what it serves: limits, metrics, traces, other processes."""

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, cast

from starlette.routing import Route
from starlette.types import ASGIApp

from ...errors import BursarError
from ..callers import ANYBODY, Client
from ..config import Settings
from ..dispatch import Account, Dispatcher
from .holdings import Holdings
from .limits import HttpLimits, Limited, OpenSessions
from .principal import principal_of
from .relay import Entrance, Post, Relay, was_relayed
from .turns import Shares, Turns

METRICS_PATH = "/metrics"
"""Where Prometheus reads, with a token like everybody else."""


@dataclass
class Operations:
    """Watches over one process of a server.

    Attributes:
        settings: what the operator set.
        dispatcher: the choke point; it is told to take turns, and whom to tell of its calls.
        sessions: the ids of the transport sessions that are open in this process.
        post: where this process is reached by its server's others; None if it is the only one.
    """

    settings: Settings
    dispatcher: Dispatcher
    sessions: Any  # a live view: anything with a length and `in`
    post: Post | None = None
    _turns: Turns = field(init=False)
    _holdings: Holdings = field(init=False)

    def __post_init__(self) -> None:
        self._turns = Turns(Shares.of(self.settings), self._hit)
        self._holdings = Holdings(self.dispatcher.store.root, self.settings.principal_quota_bytes)
        self.dispatcher.turn = self._turn
        self._metrics = self._counting() if self.settings.metrics else None
        if self.settings.otel:
            from .tracing import describe

            self.dispatcher.observers.append(describe)

    def limited(self, app: ASGIApp) -> ASGIApp:
        """Put the limits of requests before an application, and its server's other processes beside it."""
        if self.post is not None:
            app = Relay(app, self.post, self._holds)
        limits = HttpLimits.of(self.settings)
        sessions = OpenSessions(limits, lambda: cast("Collection[str]", self.sessions))
        return Limited(app, limits, principal_of, sessions, self._hit, was_relayed)

    def entered(self, app: ASGIApp) -> ASGIApp:
        """Put what every request passes first before the whole application."""
        if self._metrics is not None:
            from .metrics import Watched

            app = Watched(app, self._metrics.answered)
        return app if self.post is None else Entrance(app, self.post)

    def routes(self, guarded: Any) -> list[Route]:  # noqa: ANN401 - an application in, one out
        """Return the addresses that are the operator's, each behind the door for tokens."""
        if self._metrics is None:
            return []
        from starlette.routing import request_response

        return [Route(METRICS_PATH, endpoint=guarded(request_response(self._metrics.respond)))]

    async def keep_watch(self) -> None:
        """Do what there is to do beside the requests, for as long as the server lives."""
        await self._holdings.keep_measuring()

    def _counting(self) -> Any:  # noqa: ANN401 - imported only when asked for
        from .metrics import Gauges, Metrics

        gauges = Gauges(
            calls=lambda: self._turns.running,
            sessions=lambda: len(self.sessions),
            commands=lambda: self.dispatcher.commands.running,
            workers=lambda: self.dispatcher.workers.running,
            store=self.dispatcher.store.root,
        )
        metrics = Metrics(gauges)
        self.dispatcher.observers.append(metrics.call)
        return metrics

    def _hit(self, limit: str) -> None:
        if self._metrics is not None:
            self._metrics.hit(limit)

    def _turn(self, account: Account, client: Client) -> AbstractAsyncContextManager[None]:
        try:
            self._holdings.check(account.tool, client.principal)
        except BursarError:
            self._hit("principal_quota_bytes")
            raise
        principal = "" if client.principal == ANYBODY else client.principal
        return self._turns.turn(principal, account.session, client.ceiling.patience_s)

    def _holds(self, reference: str) -> bool:
        runs = getattr(self.dispatcher.tools.get("terminal"), "runs", None)
        return runs is not None and runs(reference)
