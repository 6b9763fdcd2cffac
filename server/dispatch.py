"""The choke point: every call of a tool goes in here, and whatever becomes of it leaves as one small reply."""

import base64
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio
import anyio.lowlevel
import anyio.to_thread

from ..artifacts import Artifact, Exchange, Session, Store, Writer
from ..budget import reply
from ..budget.ceilings import PICTURE_BYTES, Ceiling, ceiling_for, prints_pictures
from ..budget.clean import clean
from ..errors import BursarError
from ..guard.commands import Commands
from ..guard.fair import shared_by
from ..guard.names import written
from ..guard.net import Net
from ..guard.paths import Workspace
from ..guard.workers import Workers
from ..tools.base import Call, Done, Outcome, Picture, Reading, ShownArgs, Tool, ToolArgs
from . import log
from .arguments import checked
from .callers import Client
from .config import Settings
from .constant_time import ConstantTimeRefusals
from .fitter import Fitter
from .lru_counter import LruCounter
from .progress import reported
from .render import SAME_MIN_BYTES, Naming, draft_of
from .session_resolver import Sessions

_GRACE = 1.1
"""How much longer than the client's patience a tool may take that does not watch it itself: the table of patience has
kept a tenth back."""

_REPLY_LEAST_S = 0.4
"""For the reply of a tool that took all of the patience."""

_SHARED_BYTES = 1600
"""A content of fewer bytes needs no share of what a turn may cost: so small, 20 of them fit beside one another."""

_PARALLEL = 4
"""So many replies of the usual size may come back into one turn; more calls in flight share that."""

_QUIET_TURNS = 8
"""Admission of the event loop without another arrival, after which all calls of a burst are taken to have arrived."""

_READINGS_BEFORE_ADVICE = 2
"""Reading the same stretch a third time means that something is looked for that a search would find."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call is answered with.

    Attributes:
        text: the reply as it is sent, or one line of prose if the call could not be done.
        value: the reply as an object; empty if the call could not be done.
        code: of the error; empty if the call was done.
        picture: an image to show beside it.
    """

    text: str
    value: Mapping[str, Any] = field(default_factory=dict[str, Any])
    code: str = ""
    picture: Picture | None = None

    @property
    def is_error(self) -> bool:
        """Whether the call could not be done."""
        return bool(self.code)

    def blocks(self) -> list[dict[str, str]]:
        """Return the answer as the protocol writes it."""
        shown = [{"type": "text", "text": self.text}]
        if self.picture is not None:
            data = base64.b64encode(self.picture.data).decode()
            shown.append({"type": "image", "data": data, "mimeType": self.picture.media_type})
        return shown


@dataclass
class CallRecord:
    """What the log, the metrics and the traces say of one call.

    Attributes:
        tool: its name.
        client: what the client calls itself.
        session: name of the session's directory.
        ended: `ok`, the code of the error it was answered with, or `cancelled`.
        artifact: the file its output is kept in; empty if it stored none.
        content_bytes: size of that output.
        reply_bytes: size of the reply, as UTF-8.
        truncated: the reply shows a part.
        kept_in: the session; it, and what follows, is kept with the reply and told to no log.
        did: what was done, in one line.
        artifacts: ids of those that the reply is of.
        is_reading: it is answered from artifacts that were there before.
    """

    tool: str
    client: str
    session: str = ""
    ended: str = "ok"
    artifact: str = ""
    content_bytes: int = 0
    reply_bytes: int = 0
    truncated: bool = False
    kept_in: Session | None = None
    did: str = ""
    artifacts: tuple[str, ...] = ()
    is_reading: bool = False

    def close(self, took_s: float) -> None:
        """Write it into the log."""
        log.event("call", **{name: getattr(self, name) for name in _LOGGED}, took_ms=round(took_s * 1000, 1))

    def exchange(self, took_s: float, answer: Answer) -> Exchange:
        """Return what is kept of it in its session."""
        return Exchange(
            at=time.time(),
            took_s=round(took_s, 4),
            tool=clean(self.tool, 64),
            did=self.did,
            client=clean(self.client, 64),
            ended=self.ended,
            artifacts=self.artifacts,
            is_reading=self.is_reading,
            content_bytes=self.content_bytes,
            is_partial=self.truncated,
            picture="" if answer.picture is None else answer.picture.media_type,
            reply=answer.text,
        )


_LOGGED = "tool client session ended artifact content_bytes reply_bytes truncated".split()
_UNANSWERED = Answer("")

Turn = Callable[[CallRecord, Client, str], AbstractAsyncContextManager[None]]
"""Keeps a place among the running calls for one whose tool, session and sharer are known; may refuse it as `busy`."""

Observer = Callable[[CallRecord, float], None]
"""Is told of each call that has ended, and how many seconds it took; raises nothing."""


def at_once(_account: CallRecord, _client: Client, _sharer: str) -> AbstractAsyncContextManager[None]:
    """Let every call run: one process's client shares with nobody."""
    return nullcontext()


@dataclass(eq=False)
class _InFlight:
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
    sessions: Sessions
    store: Store
    workspace: Workspace
    commands: Commands
    net: Net
    workers: Workers
    settings: Settings
    fitter: Fitter
    turn: Turn = at_once
    observers: Sequence[Observer] = ()
    _in_flight: dict[str, list[_InFlight]] = field(default_factory=dict[str, list[_InFlight]])
    _shown: LruCounter = field(default_factory=LruCounter)
    _readings: LruCounter = field(default_factory=LruCounter)

    def client(self, name: str) -> Client:
        """Describe a client by the name it gives itself."""
        ceiling, settings = ceiling_for(name), self.settings
        if settings.reply_bytes:
            ceiling = replace(ceiling, bytes=settings.reply_bytes)
        if settings.reply_tokens:
            ceiling = replace(ceiling, tokens=settings.reply_tokens, most_tokens=settings.reply_tokens)
        if settings.patience_s:
            ceiling = replace(ceiling, patience_s=settings.patience_s)
        shows = {"on": True, "off": False}.get(self.settings.thumbnails, not prints_pictures(name))
        return Client(name, ceiling, shows_pictures=shows)

    async def answer(self, tool: str | Tool[Any], arguments: Mapping[str, Any], client: Client) -> Answer:
        """Call a tool and reply within the client's ceiling, whatever happens; only cancellation gets no reply.

        Args:
            tool: the name of one that is offered, or one that is not.
            arguments: as the client gave them.
            client: who calls.
        """
        started = time.monotonic()
        name = tool if isinstance(tool, str) else tool.name
        account = CallRecord(name, client.name)
        try:
            async with ConstantTimeRefusals():
                answer = await self._admit(tool, arguments, client, account)
        except BursarError as error:
            line = reply.error_line(error.code, error.message, error.fix, client.ceiling)
            answer = Answer(self._without_credentials(line), code=error.code)
        except anyio.get_cancelled_exc_class():
            account.ended = "cancelled"
            self._close(account, time.monotonic() - started, client)
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit or a library's panic must not end the server
            log.crash(name)
            what = f"{name} failed in a way nobody foresaw ({type(error).__name__})"
            fix = "Try another way; the server's standard error has the details"
            answer = Answer(reply.error_line("internal_error", what, fix, client.ceiling), code="internal_error")
        account.ended = answer.code or "ok"
        account.reply_bytes = len(answer.text.encode())
        self._close(account, time.monotonic() - started, client, answer)
        return answer

    def _close(self, account: CallRecord, took_s: float, client: Client, answer: Answer = _UNANSWERED) -> None:
        # What was refused before a session was looked for stands with the session that the caller works in, if any.
        session = account.kept_in or self.sessions.current(client)
        if session is not None:
            session.note(account.exchange(took_s, answer))
        account.close(took_s)
        for observer in self.observers:
            observer(account, took_s)

    async def _admit(
        self, named: str | Tool[Any], arguments: Mapping[str, Any], client: Client, account: CallRecord
    ) -> Answer:
        """Check what is asked for, then have it answered in its session once its turn has come."""
        # Checked first: what cannot be done anyway makes no session.
        tool, args = self._check(named, arguments)
        session = await self.sessions.resolve_unlocked(arguments, client)
        if not session.is_surveyed:
            await anyio.to_thread.run_sync(session.survey)
        account.session, account.kept_in = session.directory.name, session
        sharer = client.sharer(session)
        is_known = False
        try:
            with self.sessions.working(session), reported(client.progress) as progress, shared_by(sharer):
                async with self.turn(account, client, sharer):
                    answer = await self._answer(tool, args, session, replace(client, progress=progress), account)
            is_known = answer.value.get("session") == session.handle
            if session.handle in answer.text:
                self.sessions.introduce(session, client)
            return answer
        finally:
            self.sessions.end_call(session, is_known=is_known)

    def _check(self, named: str | Tool[Any], arguments: Mapping[str, Any]) -> tuple[Tool[Any], ToolArgs]:
        tool = self.tools.get(named) if isinstance(named, str) else named
        if tool is None:
            raise BursarError("unknown_tool", f"there is no tool {named!r}", f"Use one of {', '.join(self.tools)}")
        return tool, checked(tool, {key: value for key, value in arguments.items() if key != "session"})

    async def _answer(
        self, tool: Tool[Any], args: ToolArgs, session: Session, client: Client, account: CallRecord
    ) -> Answer:
        """Run the tool, store what it captured, render the reply."""
        with self._counted(session) as flight:
            began = anyio.current_time()
            call = self._call(tool, args, session, client)
            account.did = call.did
            try:
                outcome = await self._run(tool, args, call)
            finally:
                account.artifacts = tuple(one.artifact.id for one in call.writers if one.artifact is not None)
            if _length(outcome) > _SHARED_BYTES:
                await flight.settle()
            left_s = call.patience_s * _GRACE - (anyio.current_time() - began)
            stored, seen = self._store(outcome, call)
            naming = Naming(self.sessions.home(session, client), by_uri=self.sessions.are_remote)
            draft = draft_of(stored, naming, seen)
            if not naming.home and _names_artifacts(stored):
                draft = replace(draft, entries={**draft.entries, **self._introduction(session)})
            ceiling = _of_one(client.ceiling, _wanted(args), flight.company)
            return await self._render(stored, draft, ceiling, account, max(left_s, _REPLY_LEAST_S))

    def _introduction(self, session: Session) -> Mapping[str, str]:
        """Tell where the artifacts lie, for whoever shares the machine; the handle stands in their names."""
        return {} if self.sessions.are_remote else {"dir": clean(written(str(session.directory)), 4096)}

    async def remove_session(self, handle: str, owner: str) -> None:
        """Delete a session with everything in it: its calls and its commands end, and nothing is stored in it again.

        Raises:
            BursarError: `unknown_session`, whatever is wrong with the handle; `store_failed`.
        """
        await self.sessions.remove(handle, owner, self._leave)

    async def _leave(self, session: Session) -> None:
        for tool in self.tools.values():
            await tool.leave(session)
        await anyio.to_thread.run_sync(self.commands.leave, session.directory)

    @property
    def _redacts(self) -> bool:
        return self.settings.redact != "off"

    def _without_credentials(self, line: str) -> str:
        if not self._redacts:
            return line
        from ..budget.redact import redacted

        return redacted(line)

    @contextmanager
    def _counted(self, session: Session) -> Generator[_InFlight]:
        """Count a call among those of its session that are in flight together: they come back into one turn."""
        flights = self._in_flight.setdefault(session.handle, [])
        flights.append(flight := _InFlight())
        for other in flights:
            other.company = max(other.company, len(flights))
        try:
            yield flight
        finally:
            flights.remove(flight)
            if not flights:
                self._in_flight.pop(session.handle, None)

    def _call(self, tool: Tool[Any], args: Any, session: Session, client: Client) -> Call:  # noqa: ANN401 - as the tool has it
        return Call(
            tool=tool.name,
            did=self._without_credentials(clean(tool.did(args))),
            session=session,
            workspace=self.workspace.opening(session.directory),
            commands=self.commands,
            net=self.net,
            workers=self.workers,
            progress=client.progress,
            patience_s=client.ceiling.patience_s,
            room=_of_one(client.ceiling, _wanted(args), 1).tokens,
            shows_pictures=client.shows_pictures,
        )

    async def _run(self, tool: Tool[Any], args: Any, call: Call) -> Outcome:  # noqa: ANN401 - as the tool has it
        """Run the tool; whatever it captured is stored, however it ends.

        Raises:
            BursarError: the tool's refusal, or `timeout`; what was captured before is named in it.
        """
        try:
            with anyio.move_on_after(call.patience_s * _GRACE):
                outcome = await tool.run(args, call)
                await _commit(call)
                return outcome
        except BursarError as error:
            captured = _mention(await _commit(call, "partial"))
            raise BursarError(error.code, error.message + captured, error.fix) from error
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(BursarError):
                await _commit(call, "partial")
            raise
        captured = _mention(await _commit(call, "partial"))
        what = f"{tool.name} took longer than the {call.patience_s:g} s this client waits{captured}"
        fix = "Ask for a smaller stretch (lines=, bytes=, a subdirectory), or have the server started with --patience-s"
        raise BursarError("timeout", what, fix)

    def _store(self, outcome: Outcome, call: Call) -> tuple[Outcome, set[str]]:
        """Return an outcome with artifacts in the place of writers, and the references that were shown before."""
        seen: set[str] = set()
        if isinstance(outcome, Reading):
            return self._advised(outcome), seen
        return outcome if outcome.afresh else self._recognised(outcome, call, seen), seen

    async def _render(
        self, outcome: Outcome, draft: reply.Draft, ceiling: Ceiling, account: CallRecord, within_s: float
    ) -> Answer:
        account.artifact = _kept_at(outcome)
        account.artifacts = tuple(dict.fromkeys(_ids(outcome, account.kept_in)))
        account.is_reading = isinstance(outcome, Reading)
        account.content_bytes = draft.content_bytes
        made = await self.fitter.fit(draft, ceiling, within_s)
        account.truncated = made.is_partial
        if isinstance(outcome, Done) and not outcome.afresh:
            self._remember(outcome)
        picture = outcome.picture if isinstance(outcome, Done) else None
        return Answer(
            made.text, made.value, picture=picture if picture and len(picture.data) <= PICTURE_BYTES else None
        )

    def _recognised(self, done: Done, call: Call, seen: set[str]) -> Done:
        """Put artifacts in the place of writers, and the first artifact of a repeated call in that of its repetition.

        The references of contents that the session was shown before are added to `seen`.
        """
        parts = [self._recognised(part, call, seen) for part in done.parts]
        output = done.output.artifact if isinstance(done.output, Writer) else done.output
        if output is not None and output.state == "whole" and output.size >= SAME_MIN_BYTES:
            was_shown = _content(output) in self._shown
            first = output if was_shown else call.session.same_as(output.sha256, output.size) or output
            if _content(first) in self._shown and first.did == output.did:
                if isinstance(done.output, Writer) and first.id != output.id:
                    call.session.remove(output)
                output = first
                seen.add(output.ref)
        return replace(done, output=output, parts=parts) if parts or output is not done.output else done

    def _remember(self, done: Done) -> None:
        for part in done.parts:
            self._remember(part)
        if isinstance(done.output, Artifact):
            self._shown.add(_content(done.output))

    def _advised(self, reading: Reading) -> Reading:
        """Advise to search whoever reads the same stretch of an unchanged content again and again."""
        if reading.artifact is None or reading.artifact.state == "live" or "matches" in reading.facts:
            return reading
        times = self._readings.add(_content(reading.artifact), reading.page.pieces[:1], len(reading.page.pieces))
        if times <= _READINGS_BEFORE_ADVICE:
            return reading
        advice = f"read {times} times now, unchanged; grep finds what you look for"
        return replace(reading, facts={**reading.facts, "note": advice})


def _wanted(args: ToolArgs) -> int:
    return args.max_tokens if isinstance(args, ShownArgs) else 0


def _of_one(ceiling: Ceiling, wanted: int, company: int) -> Ceiling:
    """Return the ceiling of a call that asks for so many tokens, or none in particular, in company of others."""
    if wanted:
        return replace(ceiling, tokens=min(max(wanted, reply.PART_MIN_TOKENS), ceiling.most_tokens))
    share = max(_PARALLEL * ceiling.tokens // company, reply.PART_MIN_TOKENS)
    return replace(ceiling, tokens=min(share, ceiling.tokens))


def _content(artifact: Artifact) -> str:
    """Name an artifact as it is now: a live one has other contents later."""
    return f"{artifact.ref} {artifact.sha256}"


def _names_artifacts(outcome: Outcome) -> bool:
    """Tell whether the reply names artifacts that the call made."""
    if isinstance(outcome, Reading):
        return False
    named = [outcome.output, *outcome.facts.values()]
    return any(isinstance(each, Artifact) for each in named) or any(map(_names_artifacts, outcome.parts))


def _ids(outcome: Outcome, session: Session | None) -> Generator[str]:
    """Yield the ids of the artifacts of a session that an outcome is of."""
    given = (outcome.artifact,) if isinstance(outcome, Reading) else (outcome.output, *outcome.facts.values())
    for artifact in given:
        if isinstance(artifact, Artifact) and session is not None and artifact.handle == session.handle:
            yield artifact.id
    for part in () if isinstance(outcome, Reading) else outcome.parts:
        yield from _ids(part, session)


def _kept_at(outcome: Outcome) -> str:
    """Return where the output of a call is kept, for the log; a reference would tell its session's handle."""
    return outcome.output.path if isinstance(outcome, Done) and isinstance(outcome.output, Artifact) else ""


def _length(outcome: Outcome) -> int:
    """Return about how many bytes there are to show."""
    if isinstance(outcome, Reading):
        return sum(len(piece.text) for piece in outcome.page.pieces)
    own = 0 if outcome.output is None else outcome.output.size
    return own + sum(_length(part) for part in outcome.parts)


async def _commit(call: Call, state: Literal["partial"] | None = None) -> list[Artifact]:
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
