"""What the operator set, put around what the server serves: limits, metrics, traces."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from starlette.routing import Route
from starlette.types import ASGIApp

from ...errors import BursarError
from ..callers import Client
from ..config import Settings
from ..dispatch import CallRecord, Dispatcher
from .admission import Admission, Shares
from .limits import HttpLimits, Limits, OpenSessions
from .storage_quota import StorageQuota

METRICS_PATH = "/metrics"
"""Where Prometheus reads, with a token like everybody else."""


@dataclass
class Middleware:
    """Watches over a server.

    Attributes:
        settings: what the operator set.
        dispatcher: the choke point; it is told to take turns, and whom to tell of its calls.
        session_idle_s: seconds after which the transport ends a session that is not used.
    """

    settings: Settings
    dispatcher: Dispatcher
    session_idle_s: float
    limits: Limits = field(init=False)
    _turns: Admission = field(init=False)
    _holdings: StorageQuota = field(init=False)

    def __post_init__(self) -> None:
        self._sessions = OpenSessions(HttpLimits.of(self.settings), self.session_idle_s)
        self.limits = Limits(self.settings, self._sessions, self._hit)
        self._turns = Admission(Shares.of(self.settings), self._hit)
        self._holdings = StorageQuota(self.dispatcher.store.root, self.settings.principal_quota_bytes)
        self.dispatcher.turn = self._turn
        self._metrics = self._counting() if self.settings.metrics else None
        if self.settings.otel:
            from .tracing import describe

            self.dispatcher.observers.append(describe)

    def entered(self, app: ASGIApp) -> ASGIApp:
        """Put what every request passes first before the whole application."""
        if self._metrics is not None:
            from .metrics import Watched

            app = Watched(app, self._metrics.answered)
        return app

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
            calls=lambda: self._turns.queue.held,
            sessions=lambda: len(self._sessions),
            commands=lambda: self.dispatcher.commands.running,
            workers=lambda: self.dispatcher.workers.running + self.dispatcher.fitter.workers.running,
            store=self.dispatcher.store.root,
        )
        metrics = Metrics(gauges)
        self.dispatcher.observers.append(metrics.call)
        return metrics

    def _hit(self, limit: str) -> None:
        if self._metrics is not None:
            self._metrics.hit(limit)

    def _turn(self, account: CallRecord, client: Client, sharer: str) -> AbstractAsyncContextManager[None]:
        try:
            self._holdings.check(account.tool, client.principal)
        except BursarError:
            self._hit("principal_quota_bytes")
            raise
        return self._turns.turn(sharer, account.session, client.ceiling.patience_s)
