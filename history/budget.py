"""Keeps the requests of any number of conversations within a limit: what the adapters of agents' frameworks share."""

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from anyio import to_thread

from ..budget.request import Limit, Request, State, Usage, fit
from ..budget.request.state import history_digest
from ..budget.request.wire import Wire, digest
from .file import HistoryFile
from .shelf import Shelf

_CONVERSATIONS_MAX = 64
_STATES_MAX = 8
"""Of conversations that began with the same message, so many are told apart."""


class Budget:
    """Fits requests whose histories a framework keeps; conversations are told apart by what was said in them.

    Attributes:
        limit: what a request may cost.
        shelf: where goes what leaves; its `read_artifact` is offered to the model.
    """

    def __init__(self, limit: Limit | None = None, shelf: Shelf | None = None, memory: Path | None = None) -> None:
        """Prepare.

        Args:
            limit: what a request may cost.
            shelf: where goes what leaves; by default a session of its own, kept for ever if there is a memory.
            memory: a file that remembers compactions across restarts; without, they are made anew then.

        Raises:
            BursarError: history_busy, history_unreadable, history_not_written; as `Shelf.open` does.
        """
        self._states: OrderedDict[str, list[State]] = OrderedDict()
        self._file = HistoryFile(memory) if memory is not None else None
        self._lock = threading.Lock()
        handle = ""
        for record in self._file.contents.records if self._file is not None else ():
            if record["t"] == "head":
                handle = record["session"]
            else:
                self._keep(record["first"], State.from_json(json.dumps(record["state"])))
        self.limit = limit or Limit()
        self.shelf = shelf or Shelf.open(handle, is_kept=memory is not None)
        if self._file is not None and self.shelf.session.handle != handle:
            self._file.append(("head", {"session": self.shelf.session.handle}))

    async def fitted(self, request: Request, usage: Usage | None = None, *, is_forced: bool = False) -> list[Wire]:
        """Return the messages to be sent; computed in a thread.

        Raises:
            RequestTooLarge: what must be kept is over the limit.
        """
        return await to_thread.run_sync(lambda: self.fit(request, usage, is_forced=is_forced))

    def fit(self, request: Request, usage: Usage | None = None, *, is_forced: bool = False) -> list[Wire]:
        """Return the messages to be sent.

        Raises:
            RequestTooLarge: what must be kept is over the limit.
        """
        if not request.messages:
            return []
        with self._lock:
            first = digest(request.messages[0])
            digests = [digest(message) for message in request.messages]
            fitting = (one for one in self._states.get(first, ()) if _is_of(one, digests))
            state = max(fitting, key=lambda one: one.upto, default=State())
            fitted = fit(request, self.limit, self.shelf, state, usage, is_forced=is_forced)
            if fitted.told and self._file is not None:
                self._file.append(("state", {"first": first, "state": json.loads(fitted.state.to_json())}))
            self._keep(first, fitted.state, instead=state)
            return fitted.messages

    def close(self) -> None:
        """Let go of the memory's file."""
        if self._file is not None:
            self._file.close()

    def _keep(self, first: str, state: State, instead: State | None = None) -> None:
        """Keep a state; those that were used last are kept."""
        known = [one for one in self._states.pop(first, []) if one is not instead]
        self._states[first] = [state, *known][:_STATES_MAX]
        while len(self._states) > _CONVERSATIONS_MAX:
            self._states.popitem(last=False)


def _is_of(state: State, digests: Sequence[str]) -> bool:
    """Tell whether a state is of a history, or of the beginning of one."""
    return not state.upto or (state.upto <= len(digests) and history_digest(digests[: state.upto]) == state.of)


def tool(name: str, schema: object) -> Wire:
    """Describe a tool as a request has it."""
    return {"name": name, "parameters": schema}


def last_usage(tokens: Sequence[int | None]) -> Usage | None:
    """Return what the last answer in a history tells of its request, by what each message tells; None if none does."""
    return next((Usage(count, place) for place, count in reversed(list(enumerate(tokens))) if count), None)
