"""What a new conversation needs to know of an earlier one, made without a model."""

from collections.abc import Iterator

from ..budget import tokens
from ..budget.cut import Allowance, head
from ..budget.request import ledger
from ..budget.request.dialects import DIALECTS
from ..budget.request.state import Measured, Measures
from .transcripts import Transcript

_TITLES = {
    "did": "What was done, the latest first",
    "files": "Files, the most used first",
    "names": "Names",
    "decided": "What was decided, and why",
    "errors": "Errors, the latest first",
}
_VERBATIM = 0.25
"""Of the tokens, what the goal may take, what the user said since, and what was said last."""

_ROOM = 1 << 30


def handover(transcript: Transcript, max_tokens: int = 2000) -> str:
    """Return, as Markdown, the goal, what the user said since, what was done and how it ended, files, names, errors."""
    measures = Measures()
    held = [measures.of(transcript.dialect, message) for message in transcript.messages]
    prompts = [text for one in held if one.has_prompt for text in _said(one)]
    last = [text for one in held if one.role == "assistant" for text in _texts(transcript.dialect, one)]
    part = int(_VERBATIM * max_tokens)
    lines = ["# Hand-over\n"]
    for title, texts in (
        ("The goal", prompts[:1]),
        ("What the user said since", list(reversed(prompts[1:]))[:8]),
        ("What was said last", last[-1:]),
    ):
        if texts:
            shown = head("\n\n".join(texts), Allowance(part, _ROOM))
            lines += [f"## {title}\n", shown if len(shown) == len("\n\n".join(texts)) else f"{shown}…", ""]
    rest = max_tokens - tokens.count("\n".join(lines)) - 60
    told = ledger.build([one for one in held if one.role != "user"], max(0, rest), 0)
    for kind, title in _TITLES.items():
        if items := told.get(kind):
            lines += [f"## {title}\n", *(f"* {item}" for item in items), ""]
    while not tokens.fits("\n".join(lines), max_tokens):
        lines.pop()
    return "\n".join(lines)


def _said(one: Measured) -> Iterator[str]:
    return (part.text for part in one.of_user if part.kind == "text" and part.text.strip())


def _texts(dialect: str, one: Measured) -> Iterator[str]:
    parts = DIALECTS[dialect].parts(one.message)
    return (part.text for part in parts if part.kind == "text" and part.text.strip())
