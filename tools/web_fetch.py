"""Fetches web pages: the bytes as received, the readable text as Markdown, and what the page says about itself."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from pydantic import Field, field_validator

from ..artifacts import Artifact, Spool, Writer
from ..budget.previews.preview import Hint, Pointer
from ..content.kinds import HEAD_BYTES, Kind, kind_of
from ..errors import BursarError
from ..guard.net import Failure, Response
from ..guard.net.cache import Entry
from ..guard.workers import Json
from . import excerpts
from .base import Call, Done, Fact, Outcome, Reading, Tool, as_text
from .documents import BAD_PDF, WORDLESS_PDF, document
from .excerpts import ExcerptArgs
from .fetched import cache_of, fetched, longer, margin_s, reply_s
from .progress import Counter, watched

Mode = Literal["readable", "whole", "raw"]
Scalar = str | int | float | bool | None

_READERS = {
    "html": "bursar.content.page.extract:run",
    "feed": "bursar.content.feeds:run",
    "pdf": "bursar.content.pdf:run",
}
_WHOLE_READERS = {"html": "bursar.content.page.extract:run_whole"}
_PLAIN_READERS = {"html": "bursar.content.page.extract:run_plain"}
_TO_UTF8 = "bursar.content.text:run"
_INSPECT = "bursar.content.pictures:inspect"

_READ_S, _READ_PDF_S, _READ_PLAIN_S = 8.0, 20.0, 4.0
_FIRST_SHARE = 0.7
"""Of what is left of the client's patience for the first reading; the rest is for the simple one."""

_WORKER_FACTS = frozenset(
    "bad broken byline note date encoding entries found language pages pages_without_text title told_by words "
    "format width height animated left_out".split()
)

_NEWS = frozenset("failed_at code cause fix note unreadable".split())

_UNSAID = {"source", "language", "words", "mode"}
"""Kept in the record, and no news to whoever reads the page."""

_LEFT_OUT_SHARE = 0.1
"""Of the words of a page: as many left out of its main element are told."""

_AT_THE_SAME_TIME = 6
_MAX_URLS = 20
_LEAST_S = 0.5
"""With less of the client's patience left, another address is not begun."""

_READ_BYTES = 256 * 1024
_WORDLESS = {
    "html": "the page has no text before its scripts run; a tool that drives a browser can run them, or another source "
    "may have it as plain HTML",
    "pdf": WORDLESS_PDF,
}
_LOOK = "download_image(url=…) keeps it as an image file and can show it"


class WebFetchArgs(ExcerptArgs):
    """Arguments of `web_fetch`."""

    url: str | list[str] = Field(description="or 20, spaced", json_schema_extra=as_text)
    mode: Mode = Field(default="readable", description="whole: with menus; raw: as received", json_schema_extra=as_text)

    @field_validator("url")
    @classmethod
    def _apart(cls, given: str | list[str]) -> str | list[str]:
        """Take several addresses in one text apart; no address has a space in it."""
        several = given.split() if isinstance(given, str) else []
        return several if len(several) > 1 and all("://" in one for one in several) else given


class WebFetch(Tool[WebFetchArgs]):
    """Fetch a page as Markdown, or a PDF, feed, JSON or image."""

    name: ClassVar[str] = "web_fetch"
    read_only: ClassVar[bool] = True
    open_world: ClassVar[bool] = True
    Args = WebFetchArgs

    def did(self, args: WebFetchArgs) -> str:
        """Name the address, or the first and how many."""
        if isinstance(args.url, str):
            return f"GET {args.url}"
        first = args.url[0] if args.url else ""
        return f"GET {first}" + (f" and {len(args.url) - 1} more" if len(args.url) > 1 else "")

    async def run(self, args: WebFetchArgs, call: Call) -> Outcome:
        """Fetch one address, or several at the same time, each in its place.

        Raises:
            BursarError: what is asked for cannot be, or is not in the one page.
        """
        args.query(call.room)  # what is wrong with it is said before anything is fetched
        started = time.monotonic()
        if isinstance(args.url, str):
            received = Counter()
            job = _Fetch(args.url, args.mode, call, started, received)
            done = await watched(job.done(), call.progress, received.read("bytes received"))
            if not args.asks or not isinstance(done.output, Artifact):
                return done
            reading = await excerpts.part(args, done.output, call, started, by_name=False)
            return replace(reading, facts={**_news(done.facts), **reading.facts})
        if not args.url or len(args.url) > _MAX_URLS:
            raise BursarError(
                "bad_argument",
                f"url takes 1 to {_MAX_URLS} addresses, not {len(args.url)}",
                "Ask for no more at a time",
            )
        parts: list[Done] = [Done()] * len(args.url)
        limiter = anyio.CapacityLimiter(_AT_THE_SAME_TIME)
        await call.progress(0, len(parts), "addresses fetched")

        async def fetch(place: int, url: str) -> None:
            async with limiter:
                parts[place] = await _part(_Fetch(url, args.mode, call, started), args)
                await call.progress(sum(bool(part.facts) for part in parts), len(parts), "addresses fetched")

        async with anyio.create_task_group() as tasks:
            for place, url in enumerate(args.url):
                tasks.start_soon(fetch, place, url)
        return Done(parts=parts, afresh=args.asks)


async def _part(job: "_Fetch", args: WebFetchArgs) -> Done:
    """One of several: its failure stands in its place and does not touch the others."""
    done = Done(facts={"status": None})
    try:
        done = await job.done()
        if args.asks and isinstance(done.output, Artifact):
            reading = await excerpts.part(args, done.output, job.call, job.started, by_name=False)
            told = {**_news(done.facts), **reading.facts}
            is_page = isinstance(reading, Reading)
            done = replace(done, facts=told, view=reading.page) if is_page else replace(reading, facts=told)
    except BursarError as error:
        done = replace(done, facts={**done.facts, "code": error.code, "cause": error.message, "fix": error.fix})
    return replace(done, facts={"url": job.url, **done.facts})


def _news(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return what is to be said of a page of which only a part is shown."""
    is_failed = "code" in facts
    return {name: value for name, value in facts.items() if name in _NEWS or (is_failed and name == "status")}


@dataclass(slots=True)
class _Received:
    """Takes the bytes as they arrive; opens their artifact with the first of them, named after what they look like."""

    call: Call
    url: str
    counter: Counter
    content_type: str = ""
    head: bytes = b""
    writer: Writer | None = None

    def answered(self, content_type: str) -> None:
        self.content_type = content_type

    def write(self, data: bytes) -> None:
        if len(self.head) < HEAD_BYTES:
            self.head += data[: HEAD_BYTES - len(self.head)]
        if self.writer is None:
            kind = kind_of(self.content_type, self.url, data[:HEAD_BYTES])
            self.writer = self.call.output(f"received.{kind.suffix}")
        self.writer.write(data)
        self.counter.done += len(data)


@dataclass(slots=True)
class _Fetch:
    """The way of one address from the request to the outcome; `started` is when the call began."""

    url: str
    mode: Mode
    call: Call
    started: float
    counter: Counter = field(default_factory=Counter)

    async def done(self) -> Done:
        if self._left() < _LEAST_S:
            raise BursarError("not_begun", "the time ran out before its turn", "Fetch it in a call of its own")
        received = _Received(self.call, self.url, self.counter)
        cache = await cache_of(self.call.session)
        fetching = partial(
            fetched, self.call, self.url, received, within_s=self._left(), cache=cache, told=received.answered
        )
        response = await fetching()
        if response.source != "network":
            if (stored := self._cached(response)) is not None:
                head = await anyio.to_thread.run_sync(_head, stored)
                return await self._outcome(stored, response, head, is_known=True)
            response = await fetching(reuse="never")
        writer, entry = received.writer, response.entry
        if writer is None:
            return Done(facts=self._facts(response) | ({} if response.failure else {"bytes": 0}))
        known = None if entry is None else self._same(writer, entry)
        if known is not None:
            writer.discard()
            raw = known
        else:
            cut = response.failure is not None and response.failure.stage != "http_status"
            raw = await writer.finish("partial" if cut else None, facts=entry.facts() if entry else None)
        if entry is not None:
            cache.keep(entry, raw.ref)
        return await self._outcome(raw, response, received.head, is_known=known is not None)

    def _facts(self, response: Response) -> dict[str, Fact]:
        """Tell what is not as one expects it: another address, a failure, what may be out of date."""
        facts: dict[str, Fact] = {} if response.final_url == self.url else {"final_url": response.final_url}
        if response.status != HTTPStatus.OK:
            facts["status"] = response.status
        if response.content_type and "html" not in response.content_type:
            facts["content_type"] = response.content_type
        if response.source == "cache":
            facts["from"] = "this session's cache"
        return facts | (_failure_facts(response.failure) if response.failure else {})

    def _left(self) -> float:
        return self.call.patience_s - margin_s(self.call) - (time.monotonic() - self.started)

    def _cached(self, response: Response) -> Artifact | None:
        try:
            stored = self.call.session.open(response.artifact)
        except BursarError:
            # It was cleared away, or belongs to a session that is.
            return None
        # A picture without its metadata is not what was received.
        return None if stored.facts.get("stripped") else stored

    def _same(self, writer: Writer, entry: Entry) -> Artifact | None:
        """Return what was received from the same address before, if it is the same."""
        stored = self.call.session.same_as(writer.sha256, writer.size)
        names = ("url", "final_url", "content_type", "charset")
        is_same = stored is not None and all(stored.facts.get(name) == getattr(entry, name) for name in names)
        return stored if is_same else None

    async def _outcome(self, raw: Artifact, response: Response, head: bytes, *, is_known: bool) -> Done:
        kind = kind_of(response.content_type, response.final_url, head)
        facts = self._facts(response)
        hint = Hint(name=f"page.{kind.suffix}")
        if self.mode == "raw":
            return Done(facts=facts, output=raw, hint=hint)
        if kind.name in _READERS:
            return await self._as_markdown(raw, response, kind, facts, is_known=is_known)
        if kind.name == "image":
            return Done(facts=facts | await self._picture_facts(raw), output=raw, hint=hint, view=Pointer(_LOOK))
        if kind.name == "binary":
            found = await document(raw, urlsplit(response.final_url).path, "", self.call, self._left())
            if found.content is not raw:
                return Done(facts=facts | dict(found.facts), output=found.content, hint=Hint(name=found.content.name))
            note = "not text: kept as received; use the path with terminal, or another address"
            return Done(facts=facts | {"kind": kind.name, "next": note} | dict(found.facts), output=raw, hint=hint)
        return await self._as_utf8(raw, response, hint, facts, is_known=is_known)

    async def _as_markdown(
        self, raw: Artifact, response: Response, kind: Kind, facts: dict[str, Fact], *, is_known: bool
    ) -> Done:
        page = await anyio.to_thread.run_sync(self._earlier_text, raw) if is_known else None
        if page is None:
            found, failed = await self._new_markdown(raw, response, kind)
            if isinstance(found, Artifact):
                page = found
            else:
                return Done(facts=facts | {"unreadable": failed}, output=raw, hint=Hint(name=f"page.{kind.suffix}"))
            if failed:
                facts = facts | {"note": failed}
        about = {
            name: value for name, value in page.facts.items() if name not in _UNSAID and value not in ("", None, 0)
        }
        return Done(facts=facts | about, output=page, hint=Hint(name="page.md", kind="markdown"))

    def _earlier_text(self, raw: Artifact) -> Artifact | None:
        made = [a for a in self.call.session.artifacts() if self._is_text_of(a, raw)]
        return made[-1] if made else None

    def _is_text_of(self, one: Artifact, raw: Artifact) -> bool:
        is_same = one.facts.get("mode", "readable") == self.mode
        return is_same and one.facts.get("source") == raw.id and one.state == "whole"

    async def _new_markdown(self, raw: Artifact, response: Response, kind: Kind) -> tuple[Artifact | None, str]:
        """Have the content read; when that fails, a second time in the simplest way; with what went wrong in words."""
        most_s = _READ_PDF_S if kind.name == "pdf" else _READ_S
        failed = ""
        first = _WHOLE_READERS.get(kind.name, "") if self.mode == "whole" else ""
        first = first or _READERS[kind.name]
        for reader, deadline_s in (
            (first, max(1.0, min(most_s, self._left() * _FIRST_SHARE))),
            (_PLAIN_READERS.get(kind.name, ""), _READ_PLAIN_S),
        ):
            if not reader:
                break
            with self.call.session.spool("the readable text") as target:
                try:
                    found = await self._convert(reader, raw, target, response, deadline_s)
                except BursarError as error:
                    failed = failed or f"the main content could not be found ({error.code}: {error.message})"
                    if error.code in ("too_slow", "busy") and deadline_s < most_s:
                        failed += f"; ask again, it is fetched already, or {longer(self.call)}"
                    continue
                if "bad" in found:
                    return None, BAD_PDF.get(str(found["bad"]), str(found["bad"]))
                if found.get("words") == 0 and kind.name in _WORDLESS:
                    return None, _WORDLESS[kind.name]
                if found.get("entries") != 0:
                    return await self._store_markdown(target, raw, found), failed
        return None, failed or "it is not what it says it is"

    async def _convert(
        self, reader: str, raw: Artifact, target: Spool, response: Response, deadline_s: float
    ) -> dict[str, Scalar]:
        url, charset = response.final_url, response.charset
        wanted = {"source": raw.path, "target": str(target.path), "url": url, "charset": charset}
        found = await self._in_worker(reader, wanted, deadline_s, reads=[raw.path], writes=[target.path])
        return _facts_of_worker(found)

    async def _in_worker(
        self,
        function: str,
        wanted: Mapping[str, str],
        deadline_s: float,
        *,
        reads: Sequence[str],
        writes: Sequence[Path] = (),
    ) -> Json:
        within_s = self._left() + margin_s(self.call) - reply_s(self.call)
        return await self.call.workers.call(
            function, wanted, reads=reads, writes=writes, deadline_s=deadline_s, within_s=within_s
        )

    async def _store_markdown(self, target: Spool, raw: Artifact, found: Mapping[str, Scalar]) -> Artifact:
        facts: dict[str, Scalar] = {"source": raw.id}
        if self.mode != "readable":
            facts["mode"] = self.mode
        found = {**found, "left_out": _left_out(found)}
        for name, value in found.items():
            usual = (name == "encoding" and value in ("utf-8", "")) or (name == "found" and value == "main content")
            if not usual and name != "told_by" and value is not None:
                facts[name] = value[:300] if isinstance(value, str) else value
        writer = self.call.output("page.md")
        await anyio.to_thread.run_sync(target.pour, writer)
        return await writer.finish(raw.state if raw.state == "partial" else None, facts=facts)

    async def _as_utf8(
        self, raw: Artifact, response: Response, hint: Hint, facts: dict[str, Fact], *, is_known: bool
    ) -> Done:
        """Text that is UTF-8 is shown as received; else it is stored once more, as UTF-8."""
        if await anyio.to_thread.run_sync(_is_utf8, raw):
            return Done(facts=facts, output=raw, hint=hint)
        text = await anyio.to_thread.run_sync(self._earlier_text, raw) if is_known else None
        if text is None:
            with self.call.session.spool("the text as UTF-8") as target:
                try:
                    found = await self._convert(_TO_UTF8, raw, target, response, _READ_S)
                except BursarError as error:
                    note = f"its encoding is unknown ({error.code})"
                    return Done(facts=facts | {"note": note}, output=raw, hint=hint)
                writer = self.call.output(f"page{Path(hint.name).suffix}")
                await anyio.to_thread.run_sync(target.pour, writer)
            text = await writer.finish(facts={"source": raw.id, "encoding": found["encoding"]})
        return Done(facts={**facts, "encoding": text.facts["encoding"]}, output=text, hint=hint)

    async def _picture_facts(self, raw: Artifact) -> dict[str, Fact]:
        try:
            found = _facts_of_worker(await self._in_worker(_INSPECT, {"path": raw.path}, _READ_S, reads=[raw.path]))
        except BursarError as error:
            return {"kind": "image", "unreadable": error.code}
        if "bad" in found:
            return {"kind": "image", "unreadable": str(found["bad"]).replace("_", " ")}
        facts: dict[str, Fact] = {
            name: found[name] for name in ("format", "width", "height", "animated") if found.get(name)
        }
        return {"kind": "image", **facts}


def _facts_of_worker(found: Json) -> dict[str, Scalar]:
    """Take from a worker's answer what it may tell: a page that took it over must not speak of other things."""
    facts = found if isinstance(found, dict) else {}
    return {name: value for name, value in facts.items() if name in _WORKER_FACTS and isinstance(value, Scalar)}


def _left_out(found: Mapping[str, Scalar]) -> str | None:
    """Tell how much of the main element was not taken for content, if it is much."""
    words, left_out = found.get("words"), found.get("left_out")
    if not isinstance(words, int) or not isinstance(left_out, int) or left_out <= _LEFT_OUT_SHARE * (words + left_out):
        return None
    return f'{left_out:,} words beside the text; mode="whole" has them'


def _failure_facts(failure: Failure) -> dict[str, Fact]:
    facts: dict[str, Fact] = {"code": failure.code, "cause": failure.message, "fix": failure.fix}
    return facts if failure.stage == "http_status" else {"failed_at": failure.stage.replace("_", " "), **facts}


def _head(artifact: Artifact) -> bytes:
    return artifact.read(0, HEAD_BYTES)


def _is_utf8(artifact: Artifact) -> bool:
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    try:
        while block := artifact.read(offset, _READ_BYTES):
            decoder.decode(block)
            offset += len(block)
    except UnicodeDecodeError:
        return False
    return True
