"""Serves the conformance suite's fixtures from bursar's own choke point, server and transport.

    python tests/conformance/fixture_server.py ROOT DATA_DIR

The tools are called through the dispatcher, offered by `bursar.server.app.build` and carried by `bursar.server.http`.
What bursar itself does not offer is added to that server: fixture resources and prompts, subscriptions, log levels and
content beside a reply.
"""

import sys
from pathlib import Path
from typing import Any

import anyio
import fixture_content
import fixture_offers as offers
import fixture_questions  # noqa: F401 - its tools register themselves
import fixture_rounds  # noqa: F401 - as above
import uvicorn
from bursar.server.app import build
from bursar.server.bootstrap import open_dispatcher
from bursar.server.config import Settings
from bursar.server.dispatch import Dispatcher
from bursar.server.http.address import Address
from bursar.server.http.admission import Admission
from bursar.server.http.app import PATH, http_app
from bursar.server.session_resolver import HttpSessions
from bursar.server.telemetry import Telemetry
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    EmptyResult,
    GetPromptRequestParams,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)
from tooling import TOOLS, Aside, aside


def offer(dispatcher: Dispatcher, listed: anyio.Event) -> Server[Any]:
    """Build bursar's server and add the fixtures to it."""
    server = build(dispatcher, listed)
    _send_asides(server)
    _list_schema_as_it_stands(server)
    _add_offers(server)
    _add_acknowledged(server)
    listening = ListenHandler(fixture_content.bus)
    server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listening)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))
    return server


def _send_asides(server: Server[Any]) -> None:
    ours = server.get_request_handler("tools/call")
    assert ours

    async def call_tool(ctx, params):
        told = Aside(ctx, params)
        token = aside.set(told)
        try:
            result: CallToolResult = await ours.handler(ctx, params)
        finally:
            aside.reset(token)
        if isinstance(told.instead, MCPError):
            raise told.instead
        return told.instead or result.model_copy(update={"content": [*result.content, *told.blocks]})

    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)


def _list_schema_as_it_stands(server: Server[Any]) -> None:
    ours = server.get_request_handler("tools/list")
    assert ours

    async def list_tools(ctx, params):
        result = await ours.handler(ctx, params)
        for tool in result.tools:
            if tool.name == "json_schema_2020_12_tool":
                tool.input_schema = fixture_content.JSON_SCHEMA_2020_12
        return result

    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)


def _add_offers(server: Server[Any]) -> None:
    ours = server.get_request_handler("resources/read")

    async def list_resources(ctx, params):
        return ListResourcesResult(resources=offers.RESOURCES)

    async def list_templates(ctx, params):
        return ListResourceTemplatesResult(resource_templates=offers.TEMPLATES)

    async def read_resource(ctx, params):
        if ours and not params.uri.startswith("test://"):
            return await ours.handler(ctx, params)
        return ReadResourceResult(contents=[offers.contents(params.uri)])

    async def list_prompts(ctx, params):
        return ListPromptsResult(prompts=offers.PROMPTS)

    async def get_prompt(ctx, params):
        return offers.prompted(params)

    async def complete(ctx, params):
        return offers.COMPLETED

    server.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/templates/list", PaginatedRequestParams, list_templates)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)
    server.add_request_handler("prompts/list", PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", GetPromptRequestParams, get_prompt)
    server.add_request_handler("completion/complete", CompleteRequestParams, complete)


def _add_acknowledged(server: Server[Any]) -> None:
    async def acknowledge(ctx, params):
        return EmptyResult()

    server.add_request_handler("resources/subscribe", SubscribeRequestParams, acknowledge)
    server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, acknowledge)
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, acknowledge)


async def serve(root: Path, data_dir: Path) -> None:
    """Serve at a free port on loopback until told to end; name the address on standard error."""
    address = Address.parse("127.0.0.1:0")
    listening = address.listen()
    settings = Settings(root=(root,), data_dir=data_dir, http=str(address.bound(listening[0])), no_auth=True)
    async with open_dispatcher(settings, HttpSessions, offered=TOOLS) as dispatcher:
        app = http_app(dispatcher, settings, Admission.of(settings, lambda _limit: None), Telemetry(settings), offer)
        sys.stderr.write(f"serving the fixtures on http://{settings.http}{PATH}\n")
        await uvicorn.Server(uvicorn.Config(app, log_config=None)).serve(listening)


if __name__ == "__main__":
    anyio.run(serve, *map(Path, sys.argv[1:]))
