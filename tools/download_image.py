"""Downloads a picture: kept under an image's name only if it decodes as one, else explained."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import ClassVar, cast
from urllib.parse import unquote, urlsplit

import anyio.to_thread
from pydantic import Field

from ..artifacts import Artifact, Spool
from ..artifacts.records import Fact as RecordFact
from ..artifacts.records import State
from ..budget.ceilings import PICTURE_BYTES
from ..content.picture_kinds import FORMATS, HEAD_BYTES, sniff
from ..errors import BursarError
from ..guard.net.cache import Entry
from ..guard.net.failures import Failure
from ..guard.net.response import Response
from ..guard.workers import Json
from .base import Call, Done, Fact, Picture, Tool, ToolArgs
from .fetched import cache_of, fetched, margin_s, reply_s
from .progress import watched

_INSPECT = "bursar.content.pictures:inspect"
_SHOWN_HASH_CHARACTERS = 16
_DECODING_S = 8.0

_CAUSES: Mapping[str, tuple[str, str]] = {
    "empty": ("the answer has no content", "Check the address"),
    "not_an_image": ("the content is no image: {kind}", "Give the address of the image file itself"),
    "unsupported": ("{kind}, a format that cannot be decoded here", "Look for a JPEG or PNG of it"),
    "no_heic": (
        "HEIC image, for which no decoder is installed",
        "Install where the server runs: pip install 'bursar[heic]'",
    ),
    "truncated": ("the image is cut short", "Try again; if it stays so, use another source"),
    "too_many_pixels": ("the image would unpack to too many pixels", "Look for a smaller version"),
    "corrupt": ("the image is damaged", "Try again; if it stays so, use another source"),
    "too_slow": ("the image takes too long to decode", "Look for a smaller version"),
    "too_large": ("the image needs too much memory to decode", "Look for a smaller version"),
    "busy": ("no process was free in time to check the image", "Try again in a moment"),
    "worker_failed": ("the image made its decoder crash", "Use another source"),
}
_WITHHELD = (
    "not shown: clients of this name may print a picture to you as its base64, for thousands of tokens; if yours shows "
    "pictures, have the server started with --thumbnails on"
)
_HEIC = "Install where the server runs: pip install 'bursar[heic]'; or look for a JPEG or PNG of it"
_KINDS = {"html": "a web page", "xml": "XML data", "json": "JSON data", "text": "plain text", "binary": "unknown data"}
_PLAIN = {"html": "html", "xml": "xml", "Git LFS pointer": "txt", "text": "txt", "json": "json", "PDF document": "pdf"}


class DownloadImageArgs(ToolArgs):
    """Arguments of `download_image`."""

    url: str = Field()
    strip: bool = Field(default=False, description="metadata")
    thumbnail: bool = Field(default=False, description="show it to you")


class DownloadImage(Tool[DownloadImageArgs]):
    """Download and check an image."""

    name: ClassVar[str] = "download_image"
    open_world: ClassVar[bool] = True
    Args = DownloadImageArgs

    def did(self, args: DownloadImageArgs) -> str:
        """Name the address."""
        return f"GET image {args.url}"

    async def run(self, args: DownloadImageArgs, call: Call) -> Done:
        """Fetch into a file without an artifact, have it decoded, and store it as what it turned out to be."""
        cache = await cache_of(call.session)
        with call.session.spool("the image") as spool:
            fetching = partial(fetched, call, args.url, spool, within_s=call.patience_s - margin_s(call), cache=cache)
            response = await watched(fetching(), call.progress, lambda: (spool.size, None, "bytes received"))
            if response.source != "network":
                if (before := _before(response, args, call)) is not None:
                    return await _again(before, args, call)
                response = await fetching(reuse="never")
            job = _Download(args, call, response, spool)
            failure = response.failure or _nowhere(response)
            return await job.judged() if failure is None else await job.refused(failure)


@dataclass(frozen=True, slots=True)
class _Download:
    args: DownloadImageArgs
    call: Call
    response: Response
    spool: Spool

    async def judged(self) -> Done:
        """Decode what arrived, and store it under the name it deserves."""
        session = self.call.session
        with session.spool("the image without metadata") as stripped, session.spool("the thumbnail") as small:
            found = await self._inspect(stripped, small)
            if "bad" in found:
                reason, kind = str(found["bad"]), str(found.get("kind", ""))
                return await self.failed(_bad(reason, kind, self.spool.size), kind, found)
            return await self._stored(found, stripped, small)

    async def refused(self, failure: Failure) -> Done:
        """Explain why the server did not give it, with what it says itself."""
        found: dict[str, Json] = {}
        if self.spool.size:
            # What it says is worth no further trouble.
            with suppress(BursarError):
                found = await _inspect(self.call, {"path": str(self.spool.path)}, self.response.took_s)
        return await self.failed(failure, _kind(self.spool), {"says": found.get("says", "")})

    async def failed(self, failure: Failure, kind: str, found: Mapping[str, Json]) -> Done:
        """Explain the failure; what arrived is kept, but not as an image."""
        directory = self.call.session.directory
        facts: dict[str, Fact] = {"status": "failed"}
        if self.spool.size:
            state = "partial" if failure.stage in ("connect", "size", "timeout") else "whole"
            received = await self._keep(self.spool, f"received.{_PLAIN.get(kind, 'bin')}", {}, state)
            facts = {"artifact": received, **facts}
        if self.response.status is not None:
            facts["http_status"] = self.response.status
        facts |= {
            "code": failure.code,
            "error": str(found.get("error") or f"{failure.stage}: {failure.code}"),
            "cause": "; ".join(filter(None, (failure.message, str(found.get("there") or "")))),
            **({"says": str(found["says"])} if found.get("says") else {}),
            "fix": failure.fix,
            "target_path": str(directory / _name(self.response.final_url, "")),
            "download_dir": str(directory),
        }
        return Done(facts=facts)

    async def _inspect(self, stripped: Spool, small: Spool) -> dict[str, Json]:
        wanted = {
            "path": str(self.spool.path),
            "strip_to": str(stripped.path) if self.args.strip else "",
            "thumbnail_to": str(small.path) if _is_shown(self.args, self.call) else "",
        }
        try:
            return await _inspect(self.call, wanted, self.response.took_s)
        except BursarError as error:
            if error.code not in _CAUSES:
                raise
            return {"bad": error.code, "kind": _kind(self.spool), "error": error.message}

    async def _stored(self, found: dict[str, Json], stripped: Spool, small: Spool) -> Done:
        form = FORMATS[str(found["format"])]
        known = ("format", "width", "height", "mode", "animated", "frames", "blank", "note")
        facts: dict[str, RecordFact] = {name: _scalar(found[name]) for name in known if name in found}
        if found.get("orientation", 1) != 1:
            facts["orientation"] = _scalar(found["orientation"])
        if self.args.strip:
            facts["stripped"] = found.get("stripped") is True
        declared = self.response.content_type
        if declared != form.media_type:
            facts["declared"] = declared or "no content type"
        source = stripped if facts.get("stripped") else self.spool
        artifact = await self._keep(source, _name(self.response.final_url, form.suffix), facts, "whole")
        if self.response.entry is not None:
            (await cache_of(self.call.session)).keep(self.response.entry, artifact.ref)
        return _done(artifact, self.args, self.call, _thumbnail(found, small))

    async def _keep(self, source: Spool, label: str, facts: Mapping[str, RecordFact], state: State) -> Artifact:
        writer = self.call.output(label)
        await anyio.to_thread.run_sync(source.pour, writer)
        entry = self.response.entry if facts else None
        return await writer.finish(state, facts={**facts, **(entry.facts() if entry else {})})


async def _inspect(call: Call, wanted: Mapping[str, str], spent_s: float) -> dict[str, Json]:
    within_s = call.patience_s - reply_s(call) - spent_s
    written = [path for name, path in wanted.items() if name != "path" and path]
    found = await call.workers.call(
        _INSPECT, wanted, reads=[wanted["path"]], writes=written, deadline_s=_DECODING_S, within_s=within_s
    )
    return cast("dict[str, Json]", found)


async def _again(artifact: Artifact, args: DownloadImageArgs, call: Call) -> Done:
    """Tell of a picture that is stored already, and show it if that is asked for."""
    if not _is_shown(args, call):
        return _done(artifact, args, call)
    with call.session.spool("the thumbnail") as small:
        found = await _inspect(call, {"path": artifact.path, "thumbnail_to": str(small.path)}, 0.0)
        return _done(artifact, args, call, _thumbnail(found, small))


def _is_shown(args: DownloadImageArgs, call: Call) -> bool:
    return args.thumbnail and call.shows_pictures


def _thumbnail(found: Mapping[str, Json], small: Spool) -> Picture | None:
    media_type = found.get("thumbnail")
    fitting = media_type in ("image/png", "image/jpeg") and small.size <= PICTURE_BYTES
    return Picture(str(media_type), small.read(0, small.size)) if fitting else None


def _before(response: Response, args: DownloadImageArgs, call: Call) -> Artifact | None:
    """Find the picture that an earlier call stored, if it is what this one wants."""
    try:
        artifact = call.session.open(response.artifact)
    except BursarError:
        # It was cleared away, or belongs to a session that is.
        return None
    fitting = artifact.state == "whole" and "format" in artifact.facts
    return artifact if fitting and bool(artifact.facts.get("stripped")) == args.strip else None


def _done(artifact: Artifact, args: DownloadImageArgs, call: Call, picture: Picture | None = None) -> Done:
    own = {field.name for field in fields(Entry)}
    facts: dict[str, Fact] = {
        "artifact": artifact,
        "status": "ok",
        "target_path": artifact.path,
        "download_dir": str(Path(artifact.path).parent),
        **{name: value for name, value in artifact.facts.items() if name not in own},
        "bytes": artifact.size,
        "sha256": artifact.sha256[:_SHOWN_HASH_CHARACTERS],
    }
    if args.thumbnail and not call.shows_pictures:
        facts["thumbnail"] = _WITHHELD
    return Done(facts=facts, picture=picture)


def _nowhere(response: Response) -> Failure | None:
    """Explain a redirect that leads nowhere."""
    if response.status is None or not 300 <= response.status < 400 or response.source != "network":
        return None
    told = f"the server answered {response.status}, and names no address to go on to"
    return Failure("redirect", "no_location", told, "Use another address of the image")


def _bad(reason: str, kind: str, size: int) -> Failure:
    message, fix = _CAUSES[reason]
    fix = _HEIC if (reason, kind) == ("unsupported", "HEIC image") else fix
    named = _KINDS.get(kind, kind or "unknown data")
    stage = "size" if reason in ("too_many_pixels", "too_large") else "decode"
    return Failure(stage, reason, f"{message.format(kind=named)} ({size:,} bytes)", fix)


def _kind(spool: Spool) -> str:
    return sniff(spool.read(0, HEAD_BYTES))


def _name(url: str, suffix: str) -> str:
    """Name the file: words of the address, and the suffix of what it really is. The server's own wish is not asked."""
    stem = unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", stem.rpartition(".")[0] or stem).strip("-")[:40] or "image"
    return f"{stem}.{suffix}" if suffix else stem


def _scalar(value: Json) -> RecordFact:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
