"""What a request is, what it may cost, and what is remembered from one to the next."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from .. import tokens
from .dialects import DIALECTS, Role
from .facts import names
from .wire import Part, Path, Wire, digest, dumps

_PLAUSIBLE_RATIOS = (0.5, 2.5)
_MESSAGE_TOKENS, _CALL_TOKENS = 4, 12
_COUNTED_MAX_BYTES = 256 << 10
"""Longer texts are estimated from samples."""

_MEDIA_CHARACTERS_PER_TOKEN = 4
_WORTH = 4
"""What was used in a call counts as much as if it had been said so often."""


@dataclass(frozen=True, slots=True)
class Size:
    """What something costs: tokens, and characters as the model reads them."""

    tokens: int = 0
    chars: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.tokens + other.tokens, self.chars + other.chars)

    def __sub__(self, other: "Size") -> "Size":
        return Size(self.tokens - other.tokens, self.chars - other.chars)


@dataclass(frozen=True, slots=True)
class Limit:
    """What a request may cost; all shares are of the limit.

    Attributes:
        tokens: the model's window; without, characters alone decide.
        chars: the most characters; without, tokens alone decide.
        reply: tokens of the window kept free for the answer.
        high: a request that is larger is compacted …
        low: … down to this share, in one go, so that the next compaction is far.
        keep_results: so many of the newest results are not replaced,
        recent: nor is anything in the newest messages that take this share together.
        item: one result, argument or text may take this share before it is cut to its ends.
        digest: the ledger of what was dropped may take this share, or 600 tokens.
        gain: a compaction that frees less does not happen, nor one before the request has grown by as much.
        cold_s: after a pause this long the provider's cache is gone, and compaction costs nothing from 0.60 on.
    """

    tokens: int | None = None
    chars: int | None = 900_000
    reply: int = 0
    high: float = 0.88
    low: float = 0.42
    keep_results: int = 3
    recent: float = 0.33
    item: float = 0.25
    digest: float = 0.05
    gain: float = 0.10
    cold_s: float = 300

    @property
    def room(self) -> int:
        """Tokens that a request may have, with four characters each where they are what is limited."""
        of_tokens = self.tokens - self.reply if self.tokens is not None else 1 << 40
        return max(1, min(of_tokens, self.chars // 4 if self.chars is not None else of_tokens))

    @property
    def told(self) -> str:
        """It in words."""
        of_chars = f"{self.chars:,} characters" if self.chars is not None else ""
        of_tokens = f"{self.tokens - self.reply:,} tokens" if self.tokens is not None else ""
        return f"limit: {' and '.join(filter(None, (of_tokens, of_chars)))}"

    def share(self, size: Size) -> float:
        """Return which part of the limit something takes, the larger of both measures."""
        of_tokens = size.tokens / max(1, self.tokens - self.reply) if self.tokens is not None else 0.0
        return max(of_tokens, size.chars / max(1, self.chars) if self.chars is not None else 0.0)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a provider said that a request had cost.

    Attributes:
        tokens: of the whole prompt, what came from its cache included; see `prompt_tokens`.
        messages: how many messages the history had when that request was made.
    """

    tokens: int
    messages: int


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is to be made.

    Attributes:
        dialect: `chat`, `responses`, `anthropic`, `google`, `pydantic_ai` or `langchain`.
        messages: the whole history, as it happened; it only ever grows, and no message in it is changed.
        system: the instructions, where the form has them beside the messages.
        tools: what the model may call; placeholders name no other tool.
        step: index of the current step's instruction, which stays as it is; by default the last message.
        pins: indexes of further messages that stay as they are.
    """

    dialect: str
    messages: Sequence[Wire]
    system: Wire | None = None
    tools: Sequence[Wire] = ()
    step: int | None = None
    pins: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Edit:
    """What stands in place of a part of a message.

    Attributes:
        path: of the part.
        form: a note in its place; arguments with long texts taken out; both ends of a text; nothing at all.
        stored: reference of what was there; an empty one if it needs none.
        facts: what the note tells, or how many tokens the ends have.
    """

    path: Path
    form: Literal["note", "arguments", "ends", "nothing"]
    stored: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Measured:
    """A message with what it holds and costs."""

    message: Wire
    digest: str
    role: Role
    parts: tuple[Part, ...]
    sizes: tuple[Size, ...]

    @cached_property
    def size(self) -> Size:
        """What the message costs."""
        return sum(self.sizes, Size(_MESSAGE_TOKENS))

    @cached_property
    def names(self) -> Mapping[str, int]:
        """Paths, identifiers and numbers that the assistant wrote, and how often; in calls they count for more."""
        calls = "\n".join(part.text for part in self.parts if part.kind == "call").replace("\\n", "\n")
        said = "\n".join(part.text for part in self.parts if part.kind == "text")
        return Counter(names(said)) + Counter({name: _WORTH * times for name, times in names(calls).items()})

    @property
    def has_prompt(self) -> bool:
        """Whether a user says something in it."""
        return self.role in ("user", "result") and any(part.kind in ("text", "media") for part in self.of_user)

    @property
    def of_user(self) -> Iterator[Part]:
        """What in it is the user's, results and what they hold apart."""
        results = [part.path for part in self.parts if part.kind == "result"]
        return (part for part in self.parts if not any(part.path[: len(path)] == path for path in results))


class Measures:
    """Measures each message once, however often and in whatever copy it is sent."""

    def __init__(self) -> None:
        self._by_object: dict[int, Measured] = {}
        self._by_digest: dict[str, Measured] = {}
        self._texts: dict[str, Size] = {}
        self.last: Any = None
        """The last request, as it was replayed."""

    def of(self, dialect: str, message: Wire) -> Measured:
        """Measure a message."""
        known = self._by_object.get(id(message))
        if known is not None and known.message is message:
            return known
        key = digest(message)
        known = self._by_digest.pop(key, None)
        if known is None:
            form = DIALECTS[dialect]
            parts = tuple(form.parts(message))
            known = Measured(message, key, form.role(message), parts, tuple(map(_size, parts)))
        self._by_digest[key] = known  # the last, as those that were not asked for go first
        # The entry keeps the message alive, so that its id is no other object's.
        self._by_object[id(message)] = replace(known, message=message) if known.message is not message else known
        return self._by_object[id(message)]

    def of_text(self, text: str) -> Size:
        """Measure a text that comes with every request."""
        if text not in self._texts:
            self._texts[text] = Size(count(text), len(text))
        return self._texts[text]

    def forget(self, keep: int) -> None:
        """Let go of what is no longer sent, once there is much of it."""
        most = 3 * keep + 64
        if len(self._by_object) > most:
            self._by_object.clear()
            self._texts.clear()
        for one in list(self._by_digest)[: max(0, len(self._by_digest) - most)]:
            del self._by_digest[one]


def count(text: str) -> int:
    """Return the tokens of a text: exactly, or of a very long one from samples of it."""
    if len(text) <= _COUNTED_MAX_BYTES:
        return tokens.count(text)
    data = text.encode("utf-8", "replace")
    return tokens.estimate(len(data), [data[start : start + length] for start, length in tokens.windows(len(data))])


def _size(part: Part) -> Size:
    if part.kind == "media":
        return Size(part.tokens, part.tokens * _MEDIA_CHARACTERS_PER_TOKEN)
    return Size(count(part.text) + (_CALL_TOKENS if part.call else 0), len(part.text))


@dataclass(frozen=True)
class State:
    """What is remembered of the compactions of a history, so that each request extends the last one; small JSON.

    With the same history, tools and state a request has the same bytes, in another process too.

    Attributes:
        upto: how many messages the history had at the last compaction.
        of: a digest of these; with another one all of this is void.
        edits: what of which message was replaced.
        folded: ranges of messages that the ledger stands for.
        ledger: what it says.
        spans: references of what was folded, and how many messages each has.
        ratio: the provider's tokens for one of ours, as far as known.
        floor: which share of the limit the request had after the last compaction.
        measures: of the messages seen by this process; no part of the value.
    """

    upto: int = 0
    of: str = ""
    edits: Mapping[int, tuple[Edit, ...]] = field(default_factory=dict[int, tuple[Edit, ...]])
    folded: tuple[tuple[int, int], ...] = ()
    ledger: Mapping[str, Any] = field(default_factory=dict[str, Any])
    spans: tuple[tuple[str, int], ...] = ()
    ratio: float | None = None
    floor: float = 0.0
    measures: Measures = field(default_factory=Measures, compare=False, repr=False)

    def to_json(self) -> str:
        """Write it as one line."""
        edits = {
            str(index): [[list(edit.path), edit.form, edit.stored, edit.facts] for edit in of]
            for index, of in self.edits.items()
        }
        kept = ("upto", "of", "folded", "ledger", "spans", "ratio", "floor")
        return dumps({"v": 1, "edits": edits} | {name: getattr(self, name) for name in kept})

    @classmethod
    def from_json(cls, text: str) -> "State":
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is no JSON.
            KeyError, TypeError: it is none of a state.
        """
        import json

        value = json.loads(text)
        edits = {
            int(index): tuple(Edit(tuple(path), form, stored, facts) for path, form, stored, facts in of)
            for index, of in value["edits"].items()
        }
        return cls(
            value["upto"], value["of"], edits, tuple((a, b) for a, b in value["folded"]), value["ledger"],
            tuple((reference, messages) for reference, messages in value["spans"]), value["ratio"], value["floor"],
        )  # fmt: skip


def history_digest(digests: Iterable[str]) -> str:
    """Return a digest of the first messages of a history, by those of each."""
    return digest("".join(digests))


def prompt_tokens(usage: Mapping[str, Any]) -> int:
    """Return the tokens of a whole prompt as a provider's `usage` tells them, cached ones included."""
    if (told := usage.get("prompt_tokens", usage.get("promptTokenCount"))) is not None:
        return int(told)
    # Anthropic alone counts what was cached apart, under names of its own.
    apart = ("cache_read_input_tokens", "cache_creation_input_tokens")
    return int(usage.get("input_tokens") or 0) + sum(int(usage.get(name) or 0) for name in apart)


def ratio_of(usage: Usage | None, counted: int) -> float | None:
    """Return the provider's tokens for one of ours; None if its figure is none that can be."""
    ratio = usage.tokens / counted if usage is not None and counted else 0.0
    return ratio if _PLAUSIBLE_RATIOS[0] <= ratio <= _PLAUSIBLE_RATIOS[1] else None
