"""What the server did and does, as numbers that Prometheus reads; no content, no handle, no principal is among them."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from ... import __version__
from ..dispatch import CallRecord

_DURATIONS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)

_STORE_EVERY_S = 60.0
"""The store is measured at most this often: it means a look at every file."""


@dataclass(frozen=True)
class Gauges:
    """What is looked at when the metrics are read.

    Attributes:
        calls: running now.
        sessions: transport sessions that are open.
        commands: running, those included whose call was answered.
        workers: processes for parsing.
        store: directory of the artifacts.
    """

    calls: Callable[[], int]
    sessions: Callable[[], int]
    commands: Callable[[], int]
    workers: Callable[[], int]
    store: Path


class Metrics:
    """Counts what the server does, and tells it."""

    def __init__(self, gauges: Gauges) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

        own = self._registry = CollectorRegistry()
        self._calls = Counter("bursar_calls", "Calls of tools, by how they ended", ["tool", "outcome"], registry=own)
        self._took = Histogram("bursar_call_seconds", "Time calls took", ["tool"], registry=own, buckets=_DURATIONS_S)
        self._replied = Counter("bursar_reply_bytes", "Bytes of replies to models", ["tool"], registry=own)
        self._stored = Counter("bursar_artifact_bytes", "Bytes of content stored by calls", ["tool"], registry=own)
        self._withheld = Counter(
            "bursar_withheld_bytes", "Bytes of stored content that no model had to read", ["tool"], registry=own
        )
        self._truncated = Counter("bursar_partial_replies", "Replies that show a part", ["tool"], registry=own)
        self._hits = Counter("bursar_limit_hits", "Requests and calls refused by a limit", ["limit"], registry=own)
        self._answers = Counter("bursar_http_responses", "Answers over HTTP, by status", ["status"], registry=own)
        for name, words, look in (
            ("bursar_calls_in_flight", "Calls that are running", gauges.calls),
            ("bursar_open_sessions", "Open transport sessions", gauges.sessions),
            ("bursar_commands", "Commands that are running", gauges.commands),
            ("bursar_parser_processes", "Processes for parsing", gauges.workers),
            ("bursar_store_bytes", "Bytes of all artifacts of all sessions", _StoreSize(gauges.store).bytes),
        ):
            Gauge(name, words, registry=own).set_function(look)
        Info("bursar", "The server", registry=own).info({"version": __version__})

    def call(self, account: CallRecord, took_s: float) -> None:
        """Count a call that has ended."""
        tool = account.tool
        self._calls.labels(tool, account.ended).inc()
        self._took.labels(tool).observe(took_s)
        self._replied.labels(tool).inc(account.reply_bytes)
        if account.artifact:
            self._stored.labels(tool).inc(account.content_bytes)
            self._withheld.labels(tool).inc(max(0, account.content_bytes - account.reply_bytes))
        if account.truncated:
            self._truncated.labels(tool).inc()

    def hit(self, limit: str) -> None:
        """Count that a limit was hit."""
        self._hits.labels(limit).inc()

    def answered(self, status: int) -> None:
        """Count an answer over HTTP."""
        self._answers.labels(str(status)).inc()

    async def respond(self, _request: Request) -> Response:
        """Answer a request for the metrics in the text format of Prometheus."""
        from prometheus_client import generate_latest

        text = await anyio.to_thread.run_sync(generate_latest, self._registry)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


class Watched:
    """Counts the answers of an application by their status."""

    def __init__(self, app: Any, answered: Callable[[int], None]) -> None:  # noqa: ANN401 - any ASGI application
        self._app = app
        self._answered = answered

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - as ASGI has them
        """Pass a request on, and count what it is answered with."""

        async def watch(message: Mapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self._answered(message["status"])
            await send(message)

        await self._app(scope, receive, watch if scope["type"] == "http" else send)


class _StoreSize:
    """The size of the store, measured now and then."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._measured = -_STORE_EVERY_S
        self._bytes = 0

    def bytes(self) -> int:
        """Return the bytes of all files of all sessions, as of the last minute. Blocks."""
        if time.monotonic() - self._measured >= _STORE_EVERY_S:
            self._measured = time.monotonic()
            self._bytes = _sizes(self._store)
        return self._bytes


def _sizes(directory: Path | str) -> int:
    total = 0
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    total += _sizes(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    return total
