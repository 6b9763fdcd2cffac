"""Artifacts as resources: one template to address them by, read through the same choke point as by a tool."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    BlobResourceContents,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextResourceContents,
)

from ..artifacts import Reference, errors
from ..budget.clean import clean
from ..budget.reply import error_line
from ..errors import BursarError
from .callers import Client
from .client import Context, client_of
from .dispatch import Answer, Dispatcher
from .offer import ARTIFACT

TEMPLATE = ARTIFACT["uriTemplate"]

_PART_MAX_CHARACTERS = 4096

_PARTS = {"lines", "bytes", "tail", "grep"}

_NOT_EXACT = {"incomplete", "state", "not_utf8", "shown_as", "earlier", "matches"}
"""Keys of a reply whose preview is not exactly the part that was asked for."""

_OF_THE_REQUEST = {
    *("unknown_artifact", "unknown_session", "unknown_tool"),
    *("bad_argument", "bad_range", "bad_pattern", "beyond_the_end"),
}
"""Codes of failures that the same request meets again."""


def offer(server: Server[Any], dispatcher: Dispatcher, lists: Mapping[str, Mapping[str, Any]]) -> None:
    """Have a server offer a dispatcher's artifacts as resources, listed as they are in `lists`."""

    async def list_resources(ctx: Context, params: PaginatedRequestParams) -> ListResourcesResult:
        return ListResourcesResult.model_validate(lists["resources/list"])

    async def list_templates(ctx: Context, params: PaginatedRequestParams) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult.model_validate(lists["resources/templates/list"])

    async def read(ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await _read(params.uri, dispatcher, client_of(ctx, dispatcher))

    server.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/templates/list", PaginatedRequestParams, list_templates)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read)


async def _read(uri: str, dispatcher: Dispatcher, client: Client) -> ReadResourceResult:
    from .resource_view import MEDIA_TYPE, ResourceView

    try:
        reference, part = _asked(uri)
    except BursarError as error:
        line = error_line(error.code, error.message, error.fix, client.ceiling)
        raise _refused(uri, Answer(line, code=error.code)) from None
    if part:
        answer = await dispatcher.answer("read_artifact", {"artifact": reference, **part}, client)
    else:
        answer = await dispatcher.answer(ResourceView(), {"artifact": reference}, client)
    if answer.is_error:
        raise _refused(uri, answer)
    preview = answer.value.get("preview")
    if not isinstance(preview, str) or "grep" in part or _NOT_EXACT & answer.value.keys():
        media_type = "application/json" if answer.text.startswith("{") else "text/plain"
        content: Any = TextResourceContents(uri=uri, mime_type=media_type, text=answer.text)
    elif MEDIA_TYPE in answer.value:
        content = BlobResourceContents(uri=uri, mime_type=answer.value[MEDIA_TYPE], blob=preview)
    else:
        content = TextResourceContents(uri=uri, mime_type="text/plain", text=preview)
    return ReadResourceResult(contents=[content])


def _asked(uri: str) -> tuple[str, dict[str, str]]:
    """Return the reference in an address, and the arguments that say which part of the artifact is meant.

    The address is taken as it stands: what a library makes of `%2F` or `..` in it never comes to matter.

    Raises:
        BursarError: unknown_artifact, in the words for one that never existed; bad_argument.
    """
    address, _, asked = uri.partition("?")
    reference = Reference.parse(address)
    is_address = reference is not None and reference.handle and reference.uri == address
    if reference is None or not is_address or "#" in asked or len(asked) > _PART_MAX_CHARACTERS:
        raise errors.unknown_artifact()
    part: dict[str, str] = {}
    for assignment in asked.split("&") if asked else ():
        name, _, value = assignment.partition("=")
        if name not in _PARTS or name in part:
            what = f"the address has {clean(name, 40)!r}{' twice' if name in part else ''} behind its question mark"
            raise BursarError("bad_argument", what, "Use lines, bytes, tail or grep there, each once")
        part[name] = unquote(value, errors="replace")
    return str(reference), part


def _refused(uri: str, answer: Answer) -> MCPError:
    number = INVALID_PARAMS if answer.code in _OF_THE_REQUEST else INTERNAL_ERROR
    return MCPError(number, answer.text, {"uri": clean(uri, 300)})
