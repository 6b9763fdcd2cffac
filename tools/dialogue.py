"""Commands on a terminal of their own: what is typed there, when they have answered, and what is then to be seen."""

import time
from collections.abc import Callable
from typing import Any, cast

import anyio.to_thread

from ..artifacts import Artifact, reader
from ..budget import cut
from ..budget.cut import Allowance
from ..budget.json_size import cost, less
from ..budget.page import Page, Piece
from ..errors import BursarError
from ..guard.command import Command
from .base import Call
from .running import GRACE_S, Facts, outcome

ENVIRONMENT = {"TERM": "xterm"}

ANSWER_TOKENS = 150
"""Of a reply within a dialogue, which may have hundreds of them: what is typed next is about what stands last."""

FIRST_TOKENS = 120
"""Of the first one, beside where its artifact lies."""

_FRAME_TOKENS = 75
"""Of them for what stands beside the text."""

_SHOWN_TOKENS = 40
_BYTES_PER_TOKEN = 8
"""Spaces, of which screens have many, are few tokens."""

_SCREEN = "bursar.content.screen:run"
_LOOK_S = 2.0
"""At most, for making out what is to be seen."""

_POLL_S = 0.03
_QUIET_S = 0.2
"""Without new output for so long, an answer counts as complete."""

_ECHO_BYTES = 4096
_PASSWORD = "passwords are not typed here: use a key or a token, or ask the user to run it"  # noqa: S105


def keys(text: str) -> str:
    """Return what is typed for a text: a line ends with Enter."""
    return text.replace("\r\n", "\r").replace("\n", "\r")


async def answered(command: Command, look: Callable[[], Artifact], before: int, typed: str, most_s: float) -> None:
    """Wait until a command has answered to what was typed or sent, has ended, or says nothing.

    Args:
        command: which is waited for.
        look: returns its output as it is now.
        before: how many bytes of it there were before anything was typed.
        typed: what a terminal shows of it is no answer; empty to take the next output for one.
        most_s: how long that may take.
    """
    until = time.monotonic() + most_s
    size = before
    grown_at = 0.0
    while command.exit is None and (now := time.monotonic()) < until:
        output = look()
        if output.size != size:
            size, grown_at = output.size, now
        elif grown_at and now - grown_at >= _QUIET_S:
            new = output.read(max(before, size - _ECHO_BYTES), _ECHO_BYTES)
            if not (command.has_tty and typed and new.endswith(b"\n")) or new.count(b"\n") > typed.count("\n"):
                return
        await command.wait(_POLL_S)


async def password_refused(command: Command) -> Facts:
    """End a command that asks for a password, and tell that; nothing of one that does not."""
    if not await command.asks_password():
        return {}
    return {**outcome(await command.kill(GRACE_S)), "ended": "password prompt", "fix": _PASSWORD}


async def seen(artifact: Artifact, before: int, call: Call, tokens: int) -> tuple[Page, Facts]:
    """Return what is to be seen of the output of a command on a terminal, and was not when it had `before` bytes.

    Args:
        artifact: the output.
        before: its bytes then.
        call: has the workers.
        tokens: of the reply; of much, what stands around the cursor is shown.
    """
    facts: Facts = {}
    told: dict[str, Any]
    try:
        found = await call.workers.call(
            _SCREEN,
            {"path": artifact.path, "offset": before},
            reads=[artifact.path],
            deadline_s=_LOOK_S,
            within_s=_LOOK_S,
        )
        told = cast("dict[str, Any]", found)
    except BursarError:
        raw = "".join(piece.text for piece in reader.since(artifact, before).page.pieces)
        told = {"above": raw, "below": "", "is_screen": False, "is_cut": True}
        facts["screen"] = "could not be drawn; this is the output as it came"
    shown, needed = await anyio.to_thread.run_sync(_fitting, told["above"], told["below"], tokens)
    alone = f"max_tokens={needed} alone shows all" if needed and artifact.state == "live" else ""
    if told["is_screen"]:
        facts["screen"] = f"rows at the cursor; {alone}" if alone else "changed rows"
    elif told["is_cut"] or needed:
        facts["earlier"] = f"bytes {before}-{artifact.size - 1} have all of it" + (f"; {alone}" if alone else "")
    behind = {"bytes": f"{before}-"}
    return Page([Piece(line, behind) for line in shown.rstrip("\n").splitlines(keepends=True)]), facts


def _fitting(above: str, below: str, tokens: int) -> tuple[str, int]:
    """Return what stands around the cursor, as much above it as from it on if there is so much; and the tokens of a
    reply that shows all of it, 0 if this does.
    """
    room = max(_SHOWN_TOKENS, tokens - _FRAME_TOKENS)
    whole = Allowance(room, room * _BYTES_PER_TOKEN)
    if cut.fits(above + below, whole):
        return above + below, 0
    least = cut.head(below, Allowance(whole.tokens // 2, whole.bytes // 2))
    upper = cut.tail(above, less(whole, cost(least)))
    shown = upper + cut.head(below, less(whole, cost(upper)))
    return shown, _FRAME_TOKENS + cost(above + below).tokens
