"""The choke point: every call of a tool goes in here, and whatever becomes of it leaves as one small reply."""

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio
import anyio.lowlevel
import anyio.to_thread

from ..artifacts import Artifact, Session, Store, Writer
from ..budget import reply
from ..budget.ceilings import Ceiling, ceiling_for
from ..budget.clean import clean
from ..errors import BursarError
from ..guard.commands import Commands
from ..guard.net import Net
from ..guard.paths import Workspace
from ..guard.workers import Workers
from ..tools.base import Call, Done, Outcome, Picture, Reading, Tool
from . import log
from .arguments import checked
from .callers import Callers, Client
from .config import Settings
from .draft import SAME_MIN_BYTES, draft_of
from .recent import Recent

_GRACE = 1.1
"""How much longer than the client's patience a tool may take that does not watch it itself: the table of patience has
kept a tenth back."""

_INLINE_BYTES = 4096
"""A smaller content is fitted on the event loop: that is quicker than the way to a thread and back."""

_SHARED_BYTES = 1600
"""A content of fewer bytes needs no share of what a turn may cost: so small, 20 of them fit beside one another."""

_QUIET_TURNS = 8
"""Turns of the event loop without another arrival, after which all calls of a burst are taken to have arrived."""

_PICTURE_MAX_BYTES = 256 * 1024
"""A larger picture is left out: it would cost a model more than any text here."""

_READINGS_BEFORE_ADVICE = 2
"""Reading the same stretch a third time means that something is looked for that a search would find."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call is answered with.

    Attributes:
        text: the reply: one line of JSON, or one line of prose if the call could not be done.
        is_error: the call could not be done.
        picture: an image to show beside it.
    """

    text: str
    is_error: bool = False
    picture: Picture | None = None


@dataclass
class _Account:
    """What the log says of one call."""

    tool: str
    client: str
    session: str = ""
    ended: str = "ok"
    artifact: str = ""
    content_bytes: int = 0
    reply_bytes: int = 0
    truncated: bool = False

    def close(self, took_s: float) -> None:
        log.event("call", **vars(self), took_ms=round(took_s * 1000, 1))


@dataclass(eq=False)
class _Flight:
    """A call between its arrival and its reply; `company` is the most that were in flight with it, itself included."""

    company: int = 1

    async def settle(self) -> None:
        """Let calls that were sent together arrive, so that the first to be done leaves room for the others."""
        quiet, company = 0, self.company
        while quiet < _QUIET_TURNS:
            await anyio.lowlevel.checkpoint()
            quiet = quiet + 1 if company == self.company else 0
            company = self.company


@dataclass
class Dispatcher:
    """Runs tools for whoever calls: success, refusal, crash, time-out and cancellation all pass `answer`."""

    tools: Mapping[str, Tool[Any]]
    callers: Callers
    store: Store
    workspace: Workspace
    commands: Commands
    net: Net
    workers: Workers
    settings: Settings
    _flights: dict[str, list[_Flight]] = field(default_factory=dict[str, list[_Flight]])
    _shown: Recent = field(default_factory=Recent)
    _readings: Recent = field(default_factory=Recent)

    def client(self, name: str) -> Client:
        """Describe a client by the name it gives itself."""
        ceiling = ceiling_for(name, Ceiling(self.settings.reply_bytes, self.settings.reply_tokens))
        if self.settings.patience_s:
            ceiling = replace(ceiling, patience_s=self.settings.patience_s)
        return Client(name, ceiling)

    async def answer(self, name: str, arguments: Mapping[str, Any], client: Client) -> Answer:
        """Call a tool and reply within the client's ceiling, whatever happens; only cancellation gets no reply."""
        started = time.monotonic()
        account = _Account(name, client.name)
        try:
            answer = await self._in_session(name, arguments, client, account)
        except BursarError as error:
            account.ended = error.code
            answer = Answer(reply.error_line(error.code, error.message, error.fix, client.ceiling), is_error=True)
        except anyio.get_cancelled_exc_class():
            account.ended = "cancelled"
            account.close(time.monotonic() - started)
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit or a library's panic must not end the server
            account.ended = "internal_error"
            log.crash(name)
            what = f"{name} failed in a way nobody foresaw ({type(error).__name__})"
            fix = "Try another way; the server's standard error has the details"
            answer = Answer(reply.error_line("internal_error", what, fix, client.ceiling), is_error=True)
        account.reply_bytes = len(answer.text.encode())
        account.close(time.monotonic() - started)
        return answer

    async def _in_session(self, name: str, arguments: Mapping[str, Any], client: Client, account: _Account) -> Answer:
        if name not in self.tools:
            raise BursarError("unknown_tool", f"there is no tool {name!r}", f"Use one of {', '.join(self.tools)}")
        session = self.callers.session(arguments, client)
        account.session = session.directory.name
        own = {key: value for key, value in arguments.items() if key != "session"}
        with self._aloft(session) as flight:
            call = self._call(self.tools[name], args := checked(self.tools[name], own), session, client)
            outcome = await self._outcome(self.tools[name], args, call)
            if _length(outcome) > _SHARED_BYTES:
                await flight.settle()
            share = max(self.settings.parallel_tokens // flight.company, reply.PART_MIN_TOKENS)
            ceiling = replace(client.ceiling, tokens=min(client.ceiling.tokens, share))
            return await self._reply(outcome, call, ceiling, account)

    @contextmanager
    def _aloft(self, session: Session) -> Generator[_Flight]:
        """Count a call among those of its session that are in flight together: they come back into one turn."""
        flights = self._flights.setdefault(session.handle, [])
        flights.append(flight := _Flight())
        for other in flights:
            other.company = max(other.company, len(flights))
        try:
            yield flight
        finally:
            flights.remove(flight)
            if not flights:
                self._flights.pop(session.handle, None)

    def _call(self, tool: Tool[Any], args: Any, session: Session, client: Client) -> Call:  # noqa: ANN401 - as the tool has it
        return Call(
            tool=tool.name,
            did=clean(tool.did(args)),
            session=session,
            workspace=self.workspace.opening(session.directory),
            commands=self.commands,
            net=self.net,
            workers=self.workers,
            progress=client.progress,
            patience_s=client.ceiling.patience_s,
        )

    async def _outcome(self, tool: Tool[Any], args: Any, call: Call) -> Outcome:  # noqa: ANN401 - as the tool has it
        """Run the tool; whatever it captured is stored, however it ends.

        Raises:
            BursarError: the tool's refusal, or `timeout`; what was captured before is named in it.
        """
        try:
            with anyio.move_on_after(call.patience_s * _GRACE):
                outcome = await tool.run(args, call)
                await _store(call)
                return outcome
        except BursarError as error:
            captured = _mention(await _store(call, "partial"))
            raise BursarError(error.code, error.message + captured, error.fix) from error
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(BursarError):
                await _store(call, "partial")
            raise
        captured = _mention(await _store(call, "partial"))
        what = f"{tool.name} took longer than the {call.patience_s:g} s this client waits{captured}"
        fix = "Ask for a smaller stretch (lines=, bytes=, a subdirectory), or have the server started with --patience-s"
        raise BursarError("timeout", what, fix)

    async def _reply(self, outcome: Outcome, call: Call, ceiling: Ceiling, account: _Account) -> Answer:
        seen: set[str] = set()
        if isinstance(outcome, Reading):
            told: Outcome = self._advised(outcome)
        else:
            told = self._recognised(outcome, call, seen)
        draft = draft_of(told, call, self.settings.preview_tokens, seen)
        account.artifact = str(draft.entries.get("path", ""))
        account.content_bytes = int(draft.size.get("bytes", 0))
        if isinstance(told, Reading) or account.content_bytes <= _INLINE_BYTES:
            text = reply.fit(draft, ceiling)
        else:
            text = await anyio.to_thread.run_sync(reply.fit, draft, ceiling)
        account.truncated = '"incomplete":' in text
        if isinstance(told, Done):
            self._remember(told)
        picture = told.picture if isinstance(told, Done) else None
        return Answer(text, picture=picture if picture and len(picture.data) <= _PICTURE_MAX_BYTES else None)

    def _recognised(self, done: Done, call: Call, seen: set[str]) -> Done:
        """Put artifacts in the place of writers, and the first artifact of a repeated call in that of its repetition.

        The references of contents that the session was shown before are added to `seen`.
        """
        parts = [self._recognised(part, call, seen) for part in done.parts]
        output = done.output.artifact if isinstance(done.output, Writer) else done.output
        if output is not None and output.state == "whole" and output.size >= SAME_MIN_BYTES:
            first = output if output.ref in self._shown else call.session.same_as(output.sha256, output.size) or output
            if first.ref in self._shown and first.did == output.did:
                if isinstance(done.output, Writer) and first.id != output.id:
                    call.session.remove(output)
                output = first
                seen.add(output.ref)
        return replace(done, output=output, parts=parts)

    def _remember(self, done: Done) -> None:
        for part in done.parts:
            self._remember(part)
        if isinstance(done.output, Artifact):
            self._shown.add(done.output.ref)

    def _advised(self, reading: Reading) -> Reading:
        """Advise to search whoever reads the same stretch of an unchanged content again and again."""
        if reading.artifact is None or reading.artifact.state == "live" or "matches" in reading.facts:
            return reading
        times = self._readings.add(f"{reading.artifact.ref} {reading.page.pieces[:1]} {len(reading.page.pieces)}")
        if times <= _READINGS_BEFORE_ADVICE:
            return reading
        advice = f"read {times} times now, unchanged; grep finds what you look for"
        return replace(reading, facts={**reading.facts, "note": advice})


def _length(outcome: Outcome) -> int:
    """Return about how many bytes there are to show."""
    if isinstance(outcome, Reading):
        return sum(len(piece.text) for piece in outcome.page.pieces)
    own = 0 if outcome.output is None else outcome.output.size
    return own + sum(_length(part) for part in outcome.parts)


async def _store(call: Call, state: Literal["partial"] | None = None) -> list[Artifact]:
    """Commit every output that is still open; one that nothing was written into before a failure is dropped."""
    for writer in call.writers:
        if writer.is_open:
            if state is not None and not writer.size:
                writer.discard()
            else:
                await writer.finish(state)
    return [writer.artifact for writer in call.writers if writer.artifact is not None]


def _mention(captured: list[Artifact]) -> str:
    return "".join(f"; {artifact.size:,} bytes that came before are in {artifact.ref}" for artifact in captured)
