import asyncio

import pytest
from bursar.server import telemetry
from bursar.server.app import build
from bursar.server.bootstrap import open_dispatcher
from bursar.server.config import Settings
from mcp import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from replies import reply_of

PRIVATE = "very-private-words"


@pytest.fixture(scope="session")
def exported():
    """Where all spans of this process go: a provider can be set once in its life."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def traced(exported, tmp_path):
    """Run a conversation with a server; return its result and the server's spans."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / f"{PRIVATE}.txt").write_text(PRIVATE)

    def run(talk, mode="auto"):
        async def scenario():
            import anyio

            settings = Settings(root=(tmp_path / "root",), data_dir=tmp_path / "data")
            async with (
                open_dispatcher(settings, observers=[telemetry.Telemetry(settings).call]) as dispatcher,
                Client(build(dispatcher, anyio.Event()), mode=mode) as client,
            ):
                return await talk(client)

        exported.clear()
        result = asyncio.run(scenario())
        return result, [span for span in exported.get_finished_spans() if span.kind is trace.SpanKind.SERVER]

    return run


def said(spans):
    """Return everything that spans carry to whoever collects them."""
    return " ".join(span.to_json() for span in spans)


class TestSpans:
    def test_a_call_tells_how_it_ended_and_how_big_it_was(self, traced):
        async def talk(client):
            return await client.call_tool("terminal", {"command": "seq 1 50000"})

        answer, spans = traced(talk)
        span = next(span for span in spans if span.name == "tools/call terminal")
        told = dict(span.attributes)
        assert told["gen_ai.tool.name"] == "terminal"
        assert told["bursar.outcome"] == "ok"
        assert told["bursar.artifact.bytes"] == 288_894
        assert told["bursar.reply.bytes"] == len(answer.content[0].text.encode())
        assert told["bursar.reply.partial"] is True
        assert told["bursar.took_ms"] > 0

    @pytest.mark.parametrize("mode", ["auto", "legacy"])
    def test_nothing_of_what_was_asked_or_answered_is_in_any_span(self, traced, tmp_path, mode):
        async def talk(client):
            private = f"artifact://{PRIVATE}/a1"
            reply = await client.call_tool("terminal", {"command": f"echo {PRIVATE}; exit 3"})
            handle = reply_of(reply.content[0].text)["artifact"].partition("/")[0]
            for tool, arguments in (
                ("read_file", {"path": f"{PRIVATE}.txt"}),
                ("read_file", {"path": f"/etc/{PRIVATE}"}),
                ("read_artifact", {"artifact": f"{handle}/a1"}),
                ("read_artifact", {"artifact": PRIVATE}),
                ("read_artifact", {PRIVATE: PRIVATE}),
                (PRIVATE, {"x": PRIVATE}),
            ):
                try:
                    await client.call_tool(tool, arguments)
                except Exception:
                    continue
            for uri in (f"artifact://{handle}/a1", private):
                try:
                    await client.read_resource(uri)
                except Exception:
                    continue
            try:
                await client.get_prompt(PRIVATE, {"x": PRIVATE})
            except Exception:
                return handle
            return handle

        handle, spans = traced(talk, mode)
        assert len(spans) >= 9
        text = said(spans)
        assert handle.startswith("ses_")
        for private in (PRIVATE, handle, handle[4:], "ses_", "artifact://", str(tmp_path), "/etc", "echo"):
            assert private not in text
        assert not any(span.events for span in spans)
        assert not any(span.status.description for span in spans)

    def test_errors_are_told_by_their_codes(self, traced):
        async def talk(client):
            await client.call_tool("read_artifact", {"artifact": "ses_0000000000000000000000/a1"})
            try:
                await client.call_tool("nothing", {})
            except Exception as error:
                return error
            return None

        error, spans = traced(talk)
        assert error is not None
        told = {span.name: dict(span.attributes) for span in spans}
        assert told["tools/call read_artifact"]["error.type"] == "unknown_artifact"
        assert told["tools/call _OTHER"]["error.type"] == "-32602"
        assert {span.status.status_code.name for span in spans if span.name.startswith("tools/call")} == {"ERROR"}

    def test_a_span_belongs_to_the_trace_that_the_request_names(self, traced):
        async def talk(client):
            meta = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
            await client.call_tool("read_artifact", {}, meta=meta)

        _, spans = traced(talk)
        span = next(span for span in spans if span.name == "tools/call read_artifact")
        assert f"{span.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"

    @pytest.mark.parametrize("given", ["", "00-zz", "x" * 5000, 7, None])
    def test_what_names_no_trace_is_ignored(self, given):
        assert telemetry._parent({"traceparent": given}) is None
