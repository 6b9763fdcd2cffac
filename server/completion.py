"""Proposes values where a client's user fills in an address or a prompt: artifacts of the caller's own session only."""

import time
from typing import Any

import anyio.to_thread
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CompleteRequestParams, CompleteResult, Completion, ResourceTemplateReference

from ..artifacts import Session
from ..budget.clean import clean
from ..errors import BursarError
from . import prompts, resources
from .callers import Client
from .client import Context, client_of
from .constant_time import held_back
from .dispatch import Dispatcher

VALUES_MAX = 100
"""What the protocol allows."""


def offer(server: Server[Any], dispatcher: Dispatcher) -> None:
    """Have a server complete what its template and its prompts take."""

    async def complete(ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        is_artifact = _is_artifact(params)
        started = time.monotonic()
        session = _session(params, dispatcher, client_of(ctx, dispatcher))
        if session is None:
            await held_back(started)
            return CompleteResult(completion=Completion(values=[], total=0, has_more=False))
        if is_artifact:
            known = await anyio.to_thread.run_sync(_ids, session)
        else:
            known = [session.handle] if params.argument.name == "session" else []
        values = [value for value in known if value.startswith(params.argument.value)]
        shown = values[:VALUES_MAX]
        return CompleteResult(completion=Completion(values=shown, total=len(values), has_more=len(shown) < len(values)))

    server.add_request_handler("completion/complete", CompleteRequestParams, complete)


def _is_artifact(params: CompleteRequestParams) -> bool:
    """Tell whether the value asked for is an artifact's id.

    Raises:
        MCPError: there is no such template or prompt.
    """
    if isinstance(params.ref, ResourceTemplateReference):
        if params.ref.uri != resources.TEMPLATE:
            raise MCPError(INVALID_PARAMS, f"unknown_template: the template offered is {resources.TEMPLATE}.")
        return params.argument.name == "id"
    if params.ref.name != prompts.NAME:
        raise MCPError(INVALID_PARAMS, f"unknown_prompt: there is no {clean(params.ref.name, 64)!r}.")
    return params.argument.name == "artifact"


def _session(params: CompleteRequestParams, dispatcher: Dispatcher, client: Client) -> Session | None:
    """Return the session named in what was filled in so far, else the caller's; none is made for this."""
    given = (params.context.arguments or {}).get("session", "") if params.context else ""
    if not given:
        return dispatcher.sessions.current(client)
    try:
        return dispatcher.sessions.resolve({"session": given}, client)
    except BursarError:
        return None


def _ids(session: Session) -> list[str]:
    """Return the ids of a session's artifacts, the latest first."""
    return [artifact.id for artifact in reversed(session.artifacts())]
