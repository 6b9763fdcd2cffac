"""Spans of OpenTelemetry for what clients ask: what kind of request, how it ended, how big; never what was in it."""

from collections.abc import Collection, Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult
from opentelemetry import context, trace
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pydantic import ValidationError

from ... import __version__
from ...errors import BursarError
from ..dispatch import CallRecord

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


def describe(account: CallRecord, took_s: float) -> None:
    """Tell the current span how a call of a tool ended."""
    span = trace.get_current_span()
    if not span.is_recording():
        return
    span.set_attributes(
        {
            "bursar.outcome": account.ended,
            "bursar.reply.bytes": account.reply_bytes,
            "bursar.artifact.bytes": account.content_bytes,
            "bursar.reply.partial": account.truncated,
            "bursar.took_ms": round(took_s * 1000, 1),
        }
    )
    if account.ended != "ok":
        span.set_attribute("error.type", account.ended)


def start() -> None:
    """Send spans where the standard `OTEL_*` environment variables say; once per process, after it was forked.

    Raises:
        BursarError: otel_missing; the optional packages are not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        fix = "Install them: `pip install 'bursar[otel]'`"
        raise BursarError("otel_missing", "--otel needs packages that are not installed", fix) from error
    resource = Resource.create({SERVICE_VERSION: __version__})
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "bursar"}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def stop() -> None:
    """Send what has not been sent yet."""
    from opentelemetry.sdk.trace import TracerProvider

    provider = trace.get_tracer_provider()
    if isinstance(provider, TracerProvider):
        provider.shutdown()


def _failed(span: trace.Span, kind: str) -> None:
    span.set_attributes({"error.type": kind, "rpc.response.status_code": kind})
    span.set_status(StatusCode.ERROR)


def _parent(meta: Mapping[str, Any] | None) -> context.Context | None:
    """Return the context of the caller's span if the request's `_meta` names one in the form of W3C."""
    told = meta or {}
    carrier = {key: value for key in ("traceparent", "tracestate") if isinstance(value := told.get(key), str)}
    found = _PROPAGATOR.extract(carrier)
    return found if trace.get_current_span(found).get_span_context().is_valid else None
