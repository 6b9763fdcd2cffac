"""Metrics and spans of OpenTelemetry: what was asked and how it ended, how big and how long; never what was in it."""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult
from opentelemetry import context, trace
from opentelemetry.metrics import MeterProvider, NoOpMeterProvider, Observation
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pydantic import ValidationError

from .. import __version__
from ..errors import BursarError
from .config import Settings
from .dispatch import CallRecord

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.resources import Resource
    from prometheus_client import CollectorRegistry

_DURATIONS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)

_OTHER = "_OTHER"
"""What stands for a name the client made up, as OpenTelemetry's conventions have it."""

METHODS = frozenset(
    {
        *("initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list"),
        *("resources/read", "resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get"),
        *("completion/complete", "logging/setLevel", "server/discover", "subscriptions/listen"),
        *("notifications/initialized", "notifications/cancelled", "notifications/progress"),
        "notifications/roots/list_changed",
    }
)
"""Methods of MCP that a client may send; any other is not named in a span."""

_PROPAGATOR = TraceContextTextMapPropagator()


class Telemetry:
    """Tells what a server does, where its settings say; nothing, at next to no cost, where they say nothing.

    Attributes:
        registry: what Prometheus reads; None where it reads nothing.
    """

    def __init__(self, settings: Settings) -> None:
        """Begin; once per process, after it was forked.

        Raises:
            BursarError: otel_missing; the optional packages are not installed.
        """
        self.registry: CollectorRegistry | None = None
        self._providers: list[Any] = []
        meters: MeterProvider = NoOpMeterProvider()
        if settings.telemetry:
            try:
                meters = self._started(settings)
            except ImportError as error:
                fix = "Install them: `pip install 'bursar[otel]'`"
                raise BursarError("otel_missing", "--telemetry needs packages that are not installed", fix) from error
        meter = self._meter = meters.get_meter("bursar", __version__)
        self._calls = meter.create_counter("bursar.calls", description="Calls of tools, by how they ended")
        self._took = meter.create_histogram(
            "bursar.call.seconds", description="Time calls took", explicit_bucket_boundaries_advisory=_DURATIONS_S
        )
        self._replied = meter.create_counter("bursar.reply.bytes", description="Bytes of replies to models")
        self._stored = meter.create_counter("bursar.artifact.bytes", description="Bytes of content stored by calls")
        self._withheld = meter.create_counter(
            "bursar.withheld.bytes", description="Bytes of stored content that no model had to read"
        )
        self._partial = meter.create_counter("bursar.partial.replies", description="Replies that show a part")
        self._hits = meter.create_counter("bursar.limit.hits", description="Requests and calls refused by a limit")
        self._answers = meter.create_counter("bursar.http.responses", description="Answers over HTTP, by status")
        self.watch("bursar.info", "The server", lambda: 1, {"version": __version__})

    def watch(self, name: str, words: str, look: Callable[[], int], labels: Mapping[str, str] | None = None) -> None:
        """Have a number looked at whenever the metrics are read, in a thread."""
        self._meter.create_observable_gauge(name, [lambda _: [Observation(look(), labels)]], description=words)

    def call(self, record: CallRecord, took_s: float) -> None:
        """Count a call that has ended, and describe it in its span."""
        describe(record, took_s)
        tool = {"tool": record.tool}
        self._calls.add(1, {**tool, "outcome": record.ended})
        self._took.record(took_s, tool)
        self._replied.add(record.reply_bytes, tool)
        if record.artifact:
            self._stored.add(record.content_bytes, tool)
            self._withheld.add(max(0, record.content_bytes - record.reply_bytes), tool)
        if record.truncated:
            self._partial.add(1, tool)

    def hit(self, limit: str) -> None:
        """Count that a limit was hit."""
        self._hits.add(1, {"limit": limit})

    def answered(self, status: int) -> None:
        """Count an answer over HTTP."""
        self._answers.add(1, {"status": str(status)})

    def exposition(self) -> bytes:
        """Return the metrics in the text format of Prometheus. Blocks."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry) if self.registry is not None else b""

    def close(self) -> None:
        """Send what has not been sent yet."""
        for provider in self._providers:
            provider.shutdown()

    def _started(self, settings: Settings) -> MeterProvider:
        from opentelemetry.sdk import metrics

        readers: list[MetricReader] = []
        resource = _resource()
        if "prometheus" in settings.telemetry:
            from opentelemetry.exporter.prometheus import PrometheusMetricReader
            from prometheus_client import CollectorRegistry

            self.registry = CollectorRegistry()
            reader = PrometheusMetricReader(disable_target_info=True, scope_info_enabled=False, registry=self.registry)
            readers.append(reader)
        if "otlp" in settings.telemetry:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor

            readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
            tracers = TracerProvider(resource=resource)
            tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
            trace.set_tracer_provider(tracers)
            self._providers.append(tracers)
        meters = metrics.MeterProvider(readers, resource)
        self._providers.append(meters)
        return meters


def _resource() -> "Resource":
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource

    resource = Resource.create({SERVICE_VERSION: __version__})
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "bursar"}))
    return resource


def describe(record: CallRecord, took_s: float) -> None:
    """Tell the current span how a call of a tool ended."""
    span = trace.get_current_span()
    if not span.is_recording():
        return
    span.set_attributes(
        {
            "bursar.outcome": record.ended,
            "bursar.reply.bytes": record.reply_bytes,
            "bursar.artifact.bytes": record.content_bytes,
            "bursar.reply.partial": record.truncated,
            "bursar.took_ms": round(took_s * 1000, 1),
        }
    )
    if record.ended != "ok":
        span.set_attribute("error.type", record.ended)


class Spans:
    """Wraps each message from a client in a span; takes the place of the SDK's own middleware.

    That one records the texts of errors, which quote arguments and references, and names spans by whatever a client
    sends. Here every attribute comes from a list known beforehand, or is a number.
    """

    def __init__(self, tools: Collection[str]) -> None:
        """Know the names of this server's tools; no other is told."""
        self._tools = frozenset(tools)

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer a message inside its span."""
        method = ctx.method if ctx.method in METHODS else _OTHER
        attributes: dict[str, Any] = {"mcp.method.name": method, "mcp.protocol.version": ctx.protocol_version}
        name = method
        if method == "tools/call":
            asked = (ctx.params or {}).get("name")
            tool = asked if isinstance(asked, str) and asked in self._tools else _OTHER
            attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
            name = f"{method} {tool}"
        with trace.get_tracer("bursar", __version__).start_as_current_span(
            name,
            context=_parent(ctx.meta),
            kind=SpanKind.SERVER,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                result = await call_next(ctx)
            except MCPError as error:
                _failed(span, str(error.error.code))
                raise
            except ValidationError:
                _failed(span, str(INVALID_PARAMS))
                raise
            except Exception as error:
                _failed(span, type(error).__qualname__)
                raise
            match result:
                case CallToolResult(is_error=True) | {"isError": True}:
                    span.set_status(StatusCode.ERROR)
                case _:
                    pass
            return result


def _failed(span: trace.Span, kind: str) -> None:
    span.set_attributes({"error.type": kind, "rpc.response.status_code": kind})
    span.set_status(StatusCode.ERROR)


def _parent(meta: Mapping[str, Any] | None) -> context.Context | None:
    """Return the context of the caller's span if the request's `_meta` names one in the form of W3C."""
    told = meta or {}
    carrier = {key: value for key in ("traceparent", "tracestate") if isinstance(value := told.get(key), str)}
    found = _PROPAGATOR.extract(carrier)
    return found if trace.get_current_span(found).get_span_context().is_valid else None
