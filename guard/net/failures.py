"""How a fetch can fail: at which stage, why, and what to do."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

Stage = Literal[
    "url", "robots", "name", "address_refused", "connect", "tls", "http_status", "redirect", "size", "timeout", "decode"
]

_PHRASES = {known.value: known.phrase for known in HTTPStatus}


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure, told so that its reader can act.

    Attributes:
        stage: which part of the fetch failed.
        code: stable snake_case name.
        message: one line without a full stop.
        fix: one line that says what to do next, without a full stop.
    """

    stage: Stage
    code: str
    message: str
    fix: str


class FetchError(Exception):
    """Carries a failure out of the depths of the client."""

    def __init__(self, stage: Stage, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.failure = Failure(stage, code, message, fix)


def of_status(status: int, headers: dict[str, str]) -> Failure | None:
    """Say what an unwelcome HTTP status means; None for a welcome one."""
    if status < 400:
        return None
    phrase = _PHRASES.get(status, "")
    wait = headers.get("retry-after", "")[:40]
    fix = {
        401: "It wants a login, which bursar does not have; use another source",
        403: "The site refuses automatic readers or wants a login; use another source",
        404: "Check the address, or start from the site's front page",
        410: "The page was removed on purpose; use another source",
        429: f"Wait before the next request{f' (the server says: {wait})' if wait else ''}",
        451: "It is withheld for legal reasons; use another source",
    }.get(status, "Try again later" if status >= 500 else "Check the address")
    return Failure("http_status", f"http_{status}", f"the server answered {f'{status} {phrase}'.strip()}", fix)
