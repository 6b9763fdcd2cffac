"""What the calls of a session cost a model, and what they kept out of its context; in tokens of o200k."""

from dataclasses import astuple, dataclass

from ..artifacts import Artifact, Session
from ..artifacts.calls import MASK
from ..budget import tokens
from ..budget.json_size import dumps
from ..errors import BursarError
from ..tools import tools
from .config import Settings
from .schema import described

CUT_TOKENS = 25_000
"""Of a call no client lets through more: Claude Code's MAX_MCP_OUTPUT_TOKENS, by its documentation (code.claude.com,
"Connect Claude Code to tools via MCP"). What it would have cut anyway was not kept out here."""

HANDLE_TOKENS = 15
"""Of a session's handle, which is kept nowhere: the mean of 3,000, which have 11 to 20."""

EXPLAINED = f"""\
sent: all replies, pictures apart; read again: those of them that show what was kept before; lists: bursar's own tools,
once a session; kept out: what else the contents would have cost, of each call no more than the {CUT_TOKENS:,} tokens
that clients let through. Tokens are those of o200k."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What calls cost and kept out.

    Attributes:
        calls: that were answered.
        sent: tokens of all replies.
        again: of these, of replies that were read from artifacts of earlier calls.
        kept_out: tokens of contents that no reply had.
        lists: tokens of the list of the tools.
        handles: replies in which a handle stood, which is counted as its mean.
    """

    calls: int = 0
    sent: int = 0
    again: int = 0
    kept_out: int = 0
    lists: int = 0
    handles: int = 0

    def __add__(self, other: "Costs") -> "Costs":
        return Costs(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def of_session(session: Session) -> Costs:
    """Count a session; contents are estimated from samples, replies counted.

    Raises:
        BursarError: read_failed.
    """
    found = {one.id: one for one in session.artifacts()}
    costs = Costs()
    for exchange in session.exchanges():
        handles = exchange.reply.count(MASK)
        sent = tokens.count(exchange.reply.replace(MASK, "")) + handles * HANDLE_TOKENS
        whole = 0 if exchange.is_reading else sum(_cost(found[one]) for one in exchange.artifacts if one in found)
        costs += Costs(
            calls=1,
            sent=sent,
            again=sent if exchange.is_reading else 0,
            kept_out=max(0, min(whole, CUT_TOKENS) - sent),
            handles=handles,
        )
    return costs + Costs(lists=_lists()) if costs.calls else costs


def _cost(artifact: Artifact) -> int:
    try:
        with artifact.opened() as content:
            samples = [content.read(start, length) for start, length in tokens.windows(content.size)]
            return tokens.estimate(content.size, samples)
    except BursarError:
        return 0


def _lists() -> int:
    listed = [described(tool) for tool in tools(Settings.copy_bytes)]
    told = ({key: one[key] for key in ("name", "description", "inputSchema")} for one in listed)
    return sum(tokens.count(dumps(one)) for one in told)
