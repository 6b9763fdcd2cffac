"""One call of a tool of another server: asked in the client's patience, stored, or seen out after it."""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast

import anyio.to_thread

from ..artifacts import Artifact, Writer
from ..budget.clean import clean
from ..errors import BursarError
from ..tools import excerpts
from ..tools.base import Call, Done, Fact, Outcome
from . import arguments
from .gateway import Gateway
from .message import Message
from .peer import PartialError
from .present import Offered, listed_name
from .results import Result

_WAITED = 0.85
"""Of the client's patience; a result that takes longer becomes a live artifact."""

_WAIT_S = 60


class Pending:
    """Results that are still to come, after their calls were answered."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def adopt(self, late: Coroutine[Any, Any, None]) -> None:
        """See a call out."""
        task = asyncio.get_running_loop().create_task(late)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@dataclass
class RemoteCall:
    """One call of a tool of another server.

    Attributes:
        gateway: the servers.
        named: the tool, as `server.tool`.
        given: its arguments.
        call: for whom.
        reads_only: refuse a tool that may change things.
    """

    gateway: Gateway
    named: str
    given: Mapping[str, Any]
    call: Call
    reads_only: bool = False
    _offered: Offered | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _note: str = ""

    async def answered(self, pending: Pending, asked: excerpts.ExcerptArgs | None = None) -> Outcome:
        """Call it, and store what it returns; what takes long is answered with a live artifact.

        Args:
            pending: sees out what takes longer than the client waits.
            asked: what of the result is wanted, if not the beginning.

        Raises:
            BursarError: unknown_tool, bad_argument, not_read_only, tool_changed, upstream_error and its kin.
        """
        call, began = self.call, time.monotonic()
        if asked is not None:
            asked.query(call.room)  # what is wrong with it is said before anything is done
        work = asyncio.get_running_loop().create_task(self._ask())
        try:
            done, _ = await asyncio.wait([work], timeout=call.patience_s * _WAITED)
            if not done:
                return self._late(work, pending)
        except BaseException:
            work.cancel()
            await asyncio.wait([work])
            await self._stack.aclose()
            raise
        async with self._stack:
            outcome = await self._store(await work)
        if asked is None or not asked.asks or not isinstance(outcome.output, Writer):
            return outcome
        artifact = await outcome.output.finish()
        part = await excerpts.part(asked, artifact, call, began, by_name=False)
        return replace(part, facts={**part.facts, **outcome.facts})

    @property
    def _label(self) -> str:
        """What the names of its files begin with."""
        server, _, tool = self.named.partition(".")
        return listed_name("", f"{server}-{tool}").strip("_") or "result"

    async def _ask(self) -> Message:
        session = self.call.session
        offered, tool = await self.gateway.tool(self.named, session)
        self._offered, self.named = offered, f"{offered.upstream.name}.{tool.name}"
        if self.reads_only and not offered.is_read_only(tool):
            fix = f'Call it by call_tool(tool="{clean(self.named, 80)}", …)'
            raise BursarError("not_read_only", f"{self.named} may change things", fix)
        arguments.check(tool, self.given)
        child = await self._stack.enter_async_context(self.gateway.child(offered, session))
        if child.restarted:
            child.restarted = False
            self._note = f"{offered.upstream.name} was started anew; what it remembered is gone"
        try:
            return await self.gateway.ask(child, offered, tool, self.given, self.call.progress)
        except PartialError as error:
            await anyio.to_thread.run_sync(self._keep, error)
            raise

    def _late(self, work: "asyncio.Task[Message]", pending: Pending) -> Done:
        """Answer with a live artifact, which gets the result when there is one."""
        writer = self.call.output(f"{self._label}.txt")
        writer.descriptor()
        self.call.writers.remove(writer)
        pending.adopt(self._seen_out(work, writer))
        facts: dict[str, Fact] = {"state": "running", "note": f"read_artifact(artifact=…, wait_s={_WAIT_S}) gets it"}
        return Done(facts, writer.artifact)

    async def _store(self, message: Message, output: Writer | None = None) -> Done:
        try:
            done = await Result(message, self.call, self._label, cast("Offered", self._offered).upstream).done(output)
        finally:
            message.close()
        return replace(done, facts={**done.facts, "note": self._note}) if self._note else done

    async def _seen_out(self, work: "asyncio.Task[Message]", writer: Writer) -> None:
        """Wait for what it returns after its call was answered, and make the artifact final."""
        try:
            done = await self._store(await work, writer)
            kept = {name: fact.id if isinstance(fact, Artifact) else str(fact) for name, fact in done.facts.items()}
            await writer.finish(facts=kept)
        except BursarError as error:
            with suppress(BursarError):
                await writer.finish("partial", facts={"ended": error.code, "error": error.message, "fix": error.fix})
        except BaseException:
            with suppress(BursarError):
                writer.commit("partial", facts={"ended": "server ended"})
            raise
        finally:
            for other in self.call.writers:  # of an answer that could not be understood, or of a long error
                if other.is_open:
                    with suppress(BursarError):
                        other.commit("partial")
            await self._stack.aclose()

    def _keep(self, error: PartialError) -> None:
        """Keep what was received of an answer that cannot be understood."""
        writer = self.call.output(f"{self._label}-received.json")
        frame = error.frame
        try:
            if frame.path is None:
                writer.write(frame.data)
                return
            with frame.path.open("rb") as file:
                while block := file.read(1 << 20):
                    writer.write(block)
        finally:
            frame.drop()
