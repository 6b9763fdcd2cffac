"""What came of a fetch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .cache import Entry
from .failures import Failure


@dataclass(frozen=True, slots=True)
class Response:
    """What came of a fetch. The body is in the sink, or in `artifact` when the session had it already.

    Attributes:
        url: as asked for, normalised.
        final_url: where redirects led.
        status: of the last answer; None when there was none.
        content_type: media type, lower case, without parameters; empty when the server named none.
        charset: from the header; empty when it named none.
        headers: of the last answer, names in lower case.
        redirects: the addresses passed, in order.
        wire_bytes: of the body as it was sent.
        body_bytes: of the body as it was stored.
        took_s: seconds.
        source: from the network, from the session's cache without asking, or after asking whether it still holds.
        artifact: reference of the stored answer, when `source` is not the network.
        entry: what to give to `Cache.keep` with the reference of the stored body; None when it may not be reused.
        failure: why there is no good or no complete answer; also for an HTTP status of 400 and above.
    """

    url: str
    final_url: str
    status: int | None = None
    content_type: str = ""
    charset: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    redirects: tuple[str, ...] = ()
    wire_bytes: int = 0
    body_bytes: int = 0
    took_s: float = 0.0
    source: Literal["network", "cache", "revalidated"] = "network"
    artifact: str = ""
    entry: Entry | None = None
    failure: Failure | None = None


def media_type(headers: Mapping[str, str]) -> tuple[str, str]:
    """Take a `Content-Type` header apart: the media type, lower case, and the charset, each empty when not given."""
    kind, *parameters = headers.get("content-type", "").partition(",")[0].split(";")
    charset = ""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and not charset:
            charset = value.strip(" \"'")[:40]
    return kind.strip().lower()[:100], charset
