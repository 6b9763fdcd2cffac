"""Deleting a session on request: `DELETE /session`, its handle in a header because addresses end up in logs."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from ...errors import BursarError
from ..callers import ANYBODY
from ..constant_time import ConstantTimeRefusals
from ..dispatch import Dispatcher
from .principal import principal_of

PATH = "/session"
HEADER = "bursar-session"


@dataclass(frozen=True)
class DeleteSession:
    """Removes a session with all its artifacts for whom it belongs to.

    Attributes:
        dispatcher: runs the calls in those sessions.
    """

    dispatcher: Dispatcher

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 204, 404 for every handle that is not one of the caller's, or 400 if none was given."""
        await (await self._answer(Request(scope, receive)))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method != "DELETE":
            return Response(status_code=405, headers={"allow": "DELETE"})
        if HEADER not in request.headers:
            return PlainTextResponse(f"name the session in the header {HEADER}\n", 400)
        handle = request.headers[HEADER].strip()
        owner = principal_of(request.scope) or ANYBODY
        try:
            async with ConstantTimeRefusals():
                await self.dispatcher.remove_session(handle, owner)
        except BursarError as error:
            return PlainTextResponse(f"{error}\n", 404 if error.code == "unknown_session" else 503)
        return Response(status_code=204)
