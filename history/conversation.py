"""A conversation with a model that survives its program: kept in a file, and each request within its limit."""

import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..budget.request import Limit, Request, State, Usage, fit, is_overflow, prompt_tokens
from ..budget.request.dialects import DIALECTS
from ..budget.request.wire import Part, Wire, dumps
from ..errors import BursarError
from . import stored, wires
from .file import Contents, Damage, HistoryFile, Record, remove
from .shelf import Shelf

_log = logging.getLogger("bursar.history")


class Conversation:
    """What was said, in a provider's own form; made by `open`, used by one thread at a time.

    Attributes:
        dialect: `chat`, `responses`, `anthropic`, `pydantic_ai` or `google`.
        limit: what a request may cost.
        shelf: where goes what leaves; its `read_artifact` is the tool to offer.
        damage: what is wrong with the file, and what of it is gone.
        told: what the last request left out, by name; empty if nothing.
    """

    def __init__(self, file: HistoryFile, past: "Past", limit: Limit, shelf: Shelf) -> None:
        self.dialect, self.limit, self.shelf = past.dialect, limit, shelf
        self.damage: Sequence[Damage] = past.damage
        self.told: Mapping[str, Any] = {}
        self._file = file
        self._messages, self._state, self._usage = past.messages, past.state, past.usage
        self._pending = past.pending
        self._last_s = past.last_s

    @classmethod
    def open(
        cls,
        path: str | Path,
        dialect: str = "",
        limit: Limit | None = None,
        *,
        shelf: Shelf | None = None,
        data_dir: Path | None = None,
        fsync: bool = False,
    ) -> Self:
        """Go on with a conversation, or begin one.

        Args:
            path: of its file; private to the user, as it names the session of its artifacts.
            dialect: form of its messages; by default the one that it has, or `chat`. Where damage took what the file
                says of it, what is named here counts.
            limit: what a request may cost.
            shelf: where goes what leaves; by default a session of its own, which is kept as long as the file.
            data_dir: of that session, as the server's `--data-dir`.
            fsync: wait for the disk at each record: safe from a power cut too.

        Raises:
            BursarError: history_busy, history_unreadable, history_not_written, wrong_dialect; data_directory_refused,
                disk_full, store_failed.
        """
        file = HistoryFile(Path(path), fsync=fsync)
        try:
            begun = head(file.contents, dialect)
            handle, written = begun.session, begun.dialect
            if written and dialect not in ("", written):
                fix = f"Open it as {written}, or begin another"
                raise BursarError("wrong_dialect", f"{path} holds messages of {written}, not of {dialect}", fix)
            is_gone = False
            if shelf is None:
                try:
                    shelf = Shelf.open(handle, data_dir)
                except BursarError as error:
                    if error.code != "unknown_session" or not handle:
                        raise
                    shelf, is_gone = Shelf.open("", data_dir), True
            past = Past(written or dialect or "chat", file.contents, shelf.session.open)
            if is_gone:
                past.damage.append(Damage(0, 0, "the session with its artifacts is gone"))
            if shelf.session.handle != handle or not begun.is_there:
                file.append(("head", {"v": 1, "dialect": past.dialect, "session": shelf.session.handle}))
        except BaseException:
            file.close()
            raise
        if past.damage:
            told = {"history": str(path), "damage": [str(one) for one in past.damage[:20]], "of": len(past.damage)}
            _log.warning("history_damaged %s", dumps(told))
        return cls(file, past, limit or Limit(), shelf)

    @property
    def messages(self) -> Sequence[Wire]:
        """All that was said, the oldest first."""
        return tuple(self._messages)

    @property
    def is_answered(self) -> bool:
        """Whether it is the user's turn: nothing was said yet, or the model spoke last and waits for no result."""
        roles = [DIALECTS[self.dialect].role(message) for message in self._messages[-1:]]
        return not self._pending and roles in ([], ["assistant"])

    @property
    def pending(self) -> Mapping[str, Part]:
        """The calls that have no result yet, by their ids, with `name` and `text`, their arguments.

        After a crash those are the ones whose outcome is unknown: what only reads may be done again and given to
        `result`; the others are closed as unknown by the next request.
        """
        return dict(self._pending)

    def say(self, text: str) -> None:
        """Add what the user says.

        Raises:
            BursarError: as `add` does.
        """
        self.add(DIALECTS[self.dialect].user(text, None))

    def add(self, *messages: Wire, usage: Any = None) -> None:  # noqa: ANN401 - a provider's own object
        """Add messages in the provider's form, such as its reply; they are stored when this returns.

        Args:
            messages: objects of JSON, or of the provider's SDK.
            usage: what the provider told of the request that the messages answer.

        Raises:
            BursarError: history_not_written, or as the session does; no message was added then, though artifacts of
                them may be there.
        """
        given = [json.loads(dumps(message, only_set=True)) for message in messages]
        if any(wires.ends_turn(self.dialect, message) for message in given):
            given = [*self._closing(), *given]
        records = [("message", {"m": stored.taken_out(message, self.shelf, "history")}) for message in given]
        anchor = None
        if usage is not None:
            anchor = Usage(prompt_tokens(json.loads(dumps(usage))), len(self._messages))
            records.append(("usage", {"tokens": anchor.tokens, "messages": anchor.messages}))
        # All of it in one: what is refused is not there after a restart either.
        self._file.append(*records)
        for message in given:
            self._take(message)
        self._usage = anchor or self._usage
        self._last_s = time.time()

    def result(self, call: str, output: str | bytes, *, tool: str = "", did: str = "") -> str:
        """Add the result of a call, and return it as the model will see it: what is large is stored and previewed.

        Args:
            call: its id.
            output: what came of it, all of it.
            tool: that was called; by default the name in the call.
            did: what was done, in one line.

        Raises:
            BursarError: unknown_call; or as `add` does.
        """
        made = self._pending.get(call)
        if made is None:
            fix = "Give the id of a call that has no result yet"
            raise BursarError("unknown_call", f"no call {call!r} is waiting for a result", fix)
        shown = self.shelf.shown(output, tool or made.name or "tool", did)
        self.add(wires.result(self.dialect, made, shown))
        return shown

    def request(
        self, *, system: Wire | None = None, tools: Sequence[Wire] = (), is_forced: bool = False
    ) -> dict[str, Any]:
        """Return what is sent, as the SDK's call takes it: `create(model=…, **talk.request(…))`.

        Args:
            system: the instructions, the same each time.
            tools: what the model may call, likewise.
            is_forced: compact in any case, after a provider refused the request as too long.

        Raises:
            RequestTooLarge: what must be kept is over the limit.
            BursarError: as `add` does.
        """
        idle_s = max(0.0, time.time() - self._last_s) if self._usage else 0.0
        if self._pending:
            self.add(*self._closing())
        wanted = Request(self.dialect, self._messages, system, tools)
        fitted = fit(wanted, self.limit, self.shelf, self._state, self._usage, idle_s=idle_s, is_forced=is_forced)
        if fitted.told:
            kept = stored.taken_out(json.loads(fitted.state.to_json()), self.shelf, "history")
            self._file.append(("state", {"state": kept}))
        self._state, self.told = fitted.state, fitted.told
        return wires.sendable(self.dialect, fitted.messages, system, tools)

    def attempts(self, *, system: Wire | None = None, tools: Sequence[Wire] = ()) -> Iterator["Attempt"]:
        """Yield a request, and when the provider refuses it as too long, once more one that is compacted.

        `for attempt in talk.attempts(…):` and `with attempt: reply = create(model=…, **attempt.request)`.
        """
        attempt = Attempt(self.request(system=system, tools=tools), is_last=False)
        yield attempt
        if attempt.is_refused:
            yield Attempt(self.request(system=system, tools=tools, is_forced=True), is_last=True)

    def close(self) -> None:
        """Let go of the file and the session; both stay."""
        self._file.close()
        self.shelf.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _take(self, message: Wire) -> None:
        wires.append(self.dialect, self._messages, message)
        wires.note(self.dialect, self._pending, message)

    def _closing(self) -> list[Wire]:
        """Make the results of the calls that have none."""
        return [wires.result(self.dialect, call, wires.UNKNOWN) for call in self._pending.values()]


class Attempt:
    """One request; a context that takes a refusal as too long for an answer, unless it is the last.

    Attributes:
        request: to be sent.
        is_refused: the provider said that it is too long.
    """

    def __init__(self, request: dict[str, Any], *, is_last: bool) -> None:
        self.request, self.is_refused = request, False
        self._is_last = is_last

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if isinstance(error, Exception):
            status = getattr(error, "status_code", getattr(error, "code", None))
            self.is_refused = is_overflow(status if isinstance(status, int) else None, str(error))
        return self.is_refused and not self._is_last


class Past:
    """What the records of a history amount to.

    Attributes:
        dialect: form of its messages.
        messages: a provider accepts them, whatever is lost.
        pending: calls without results at the end.
        state: of the last compaction.
        usage: that the provider told of last.
        last_s: when the last record was written, in seconds since 1970.
        damage: of the file, and what is gone of the artifacts.
    """

    def __init__(self, dialect: str, contents: Contents, opened: stored.Opened) -> None:
        self.dialect = dialect
        self.damage = list(contents.damage)
        self.messages: list[Wire] = []
        self.pending: dict[str, Part] = {}
        self.state, self.usage, self.last_s = State(), None, time.time()
        held: list[Wire] = []
        states: list[Record] = []
        for record in contents.records:
            if record["t"] == "message":
                message = stored.put_back(record["m"], opened, self._tell)
                held.append(DIALECTS[dialect].user(stored.gone(record["m"]), None) if message is None else message)
            elif record["t"] == "state":
                states.append(record)
            elif record["t"] == "usage":
                self.usage = Usage(record["tokens"], record["messages"])
        if contents.records:
            self.last_s = datetime.fromisoformat(contents.records[-1]["at"]).timestamp()
        for message in held:
            wires.append(dialect, self.messages, message)
        if self.damage:
            self.messages, self.usage = wires.mended(dialect, self.messages), None
        for message in self.messages:
            wires.note(dialect, self.pending, message)
        state = stored.put_back(states[-1]["state"], opened, self._tell) if states else None
        if state is not None:
            self.state = State.from_json(dumps(state))

    def _tell(self, what: str) -> None:
        self.damage.append(Damage(0, 0, what))


@dataclass(frozen=True, slots=True)
class Head:
    """What a history is.

    Attributes:
        session: with its artifacts; empty if nothing names it.
        dialect: form of its messages; empty if there are none.
        is_there: the file says so; else it follows from the rest.
    """

    session: str
    dialect: str
    is_there: bool


def head(contents: Contents, named: str = "") -> Head:
    """Tell what a history is; where damage took its head, the form is the one that is named, or is guessed."""
    heads = [record for record in contents.records if record["t"] == "head"]
    if heads:
        return Head(str(heads[-1]["session"]), str(heads[-1]["dialect"]), is_there=True)
    messages = [record["m"] for record in contents.records if record["t"] == "message"]
    kept = (record.get("m", record.get("state")) for record in contents.records)
    reference = next((one for value in kept for one in stored.references(value)), "")
    dialect = (named or wires.guessed(messages)) if messages else ""
    return Head(reference.partition("/")[0], dialect, is_there=False)


def delete(path: str | Path, data_dir: Path | None = None) -> None:
    """Remove a conversation for good, with the artifacts of its session; a session that is gone already is no error.

    Raises:
        BursarError: history_busy, history_unreadable, store_failed.
    """
    from ..artifacts import Limits, Store
    from ..artifacts.ownership import local_owner
    from ..artifacts.store import default_data_dir

    file = HistoryFile(Path(path), may_begin=False)
    try:
        handle = head(file.contents).session
        if handle:
            Store((data_dir or default_data_dir()) / "bursar", Limits()).remove(handle, local_owner())
    except BursarError as error:
        if error.code != "unknown_session":
            raise
    finally:
        file.close()
    remove(Path(path))
