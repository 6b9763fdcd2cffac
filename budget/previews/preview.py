"""The preview: what a model sees of a content at first sight, chosen by the content's kind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .. import cut, kinds
from ..content import Content
from ..json_size import within
from ..notable import Notables
from . import binary, json, lines, table
from .sketch import Render, Sketch, plural, share

_ENOUGH_TOKENS = {"log": 1000, "lines": 800, "json": 850, "jsonl": 850, "csv": 800, "binary": 500}
"""A large content of these kinds says no more with more room; others fill 1,300 tokens if they get them."""

_ENOUGH_TOKENS_OTHERWISE = 1300
_BYTES_PER_TOKEN = 5

_SHRINKING_PERCENT = (100, 85, 70, 55, 40, 28, 18, 10, 5)

_UTF16_MAX_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Hint:
    """What a tool knows of its output.

    Attributes:
        name: a file name or URL path; its suffix says what the content is.
        kind: the kind itself when the tool knows it, such as `markdown`; None to find out.
    """

    name: str = ""
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class CaptureFacts:
    """What was counted while the content was captured.

    Attributes:
        lines: number of lines, an unfinished last one included; None when nobody counted.
        notables: the lines that stand out; None when nobody looked.
        watched_bytes: how many bytes, at the beginning and the end, `notables` was found in; None when in all.
    """

    lines: int | None = None
    notables: Notables | None = None
    watched_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """A first sight of a content.

    Attributes:
        kind: what the content is: `text`, `log`, `json`, `binary` and so on.
        value: the whole text when it is complete, else its parts by name.
        complete: nothing was left out and no byte is shown as something else.
        left_out: what is missing, such as `99,940 of 100,000 lines`; empty when complete.
        suggest: the arguments of `read_artifact` that most likely help next; empty when complete.
    """

    kind: str
    value: str | dict[str, Any]
    complete: bool
    left_out: str = ""
    suggest: Mapping[str, str] = field(default_factory=dict[str, str])


class Previewer:
    """A content as it can be previewed under any allowance; what it takes to know the content is done once."""

    def __init__(self, content: Content, known: CaptureFacts, hint: Hint) -> None:
        self._content = content
        self._known = known
        self._hint = hint
        self._head = content.read(0, min(content.size, kinds.HEAD_BYTES))
        if len(self._head) == content.size:
            tail = self._head[-kinds.TAIL_BYTES :]
        else:
            tail = content.read(max(0, content.size - kinds.TAIL_BYTES), min(content.size, kinds.TAIL_BYTES))
        self._kind = kinds.decide(content.size, self._head, tail, hint.name, hint.kind)

    @property
    def kind(self) -> str:
        """What the content is."""
        return self._kind.name

    def whole(self, allowance: cut.Allowance) -> str | None:
        """Return all of the content if it is valid UTF-8 text and fits, else None; cheap."""
        if self._content.size > allowance.bytes or self._kind.name == "binary" or self._kind.encoding != "utf-8":
            return None
        try:
            is_head = len(self._head) == self._content.size
            text = (self._head if is_head else self._content.read(0, self._content.size)).decode()
        except UnicodeDecodeError:
            return None
        return text if cut.fits(text, allowance) else None

    def part(self, allowance: cut.Allowance) -> Preview:
        """Show what is most useful of the content; less and less until it is within the allowance."""
        small = self._content.size <= json.SMALL_BYTES
        enough = _ENOUGH_TOKENS_OTHERWISE if small else _ENOUGH_TOKENS.get(self._kind.name, _ENOUGH_TOKENS_OTHERWISE)
        room = cut.Allowance(min(allowance.tokens, enough), min(allowance.bytes, enough * _BYTES_PER_TOKEN))
        for percent in _SHRINKING_PERCENT:
            sketch = self._render(share(room, percent))
            if within(sketch.value, allowance):
                return self._preview(sketch)
        everything = f"all {plural(self._content.size, 'byte')}"
        return self._preview(Sketch({}, everything, {"bytes": "0-4095"}))

    def _preview(self, sketch: Sketch) -> Preview:
        return Preview(self._kind.name, sketch.value, sketch.complete, sketch.left_out, sketch.suggest)

    @cached_property
    def _render(self) -> Render:
        content, kind = self._content, self._kind
        if kind.name == "empty":
            return lambda _: Sketch({}, complete=True)
        if kind.encoding != "utf-8":
            return _converted(content, kind.encoding)
        if kind.name == "binary":
            return binary.plan(content, kind.detail)
        structured = self._structured()
        if not isinstance(structured, str):
            return structured
        if kind.name in {"json", "jsonl", "csv"}:
            self._kind = kinds.Kind("text")
        return self._text(structured)

    def _structured(self) -> Render | str:
        """Prepare JSON, JSON lines or a table; or say why it is nothing of that, in words or none."""
        content, kind = self._content, self._kind
        plan: Render | str = ""
        if kind.name == "json":
            plan = json.plan(content)
        if kind.name == "jsonl" or (kind.name == "json" and isinstance(plan, str)):
            rows = json.plan_lines(content)
            if not isinstance(rows, str):
                self._kind = kinds.Kind("jsonl")
                return rows
            plan = plan or rows
        if kind.name in {"csv", "tsv"}:
            plan = table.plan(content, kind.detail, self._known.lines)
        return plan

    def _text(self, note: str) -> Render:
        known, kind = self._known, self._kind
        plan = lines.plan(self._content, kind.name, kind.detail, known.lines, known.notables, known.watched_bytes, note)
        invalid = kinds.invalid_sequences(self._head)
        if not invalid:
            return plan
        everything = len(self._head) == self._content.size
        scope = "" if everything else f" in the first {len(self._head) >> 10} KiB"
        remark = {"not_utf8": f"{plural(invalid, 'invalid sequence')}{scope}, shown as U+FFFD"}

        def render(allowance: cut.Allowance) -> Sketch:
            if everything and within(value := remark | {"text": self._head.decode("utf-8", "replace")}, allowance):
                left_out = f"the bytes of {plural(invalid, 'sequence')} that are not UTF-8"
                return Sketch(value, left_out, {"bytes": _about_first_invalid(self._head)})
            sketch = plan(cut.Allowance(allowance.tokens - 30, allowance.bytes - 100))
            return Sketch(remark | sketch.value, sketch.left_out, sketch.suggest)

        return render


def preview(content: Content, known: CaptureFacts, hint: Hint, allowance: cut.Allowance) -> Preview:
    """Show the most useful part of a content.

    The value as compact JSON is within `allowance` whatever the content; a text when it is all of the content, byte
    for byte, and else parts by name. To preview one content under several allowances, keep a `Previewer`.
    """
    look = Previewer(content, known, hint)
    text = look.whole(allowance)
    return look.part(allowance) if text is None else Preview(look.kind, text, complete=True)


def _about_first_invalid(text: bytes) -> str:
    """Return a small range of bytes about the first that is not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"{max(0, error.start - 32)}-{min(len(text), error.start + 32) - 1}"
    return f"0-{len(text) - 1}"


class _Converted:
    """A text converted to UTF-8."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-8", "replace")
        self.size = len(self._bytes)

    def read(self, offset: int, length: int) -> bytes:
        return self._bytes[offset : offset + length]


def _converted(content: Content, encoding: str) -> Render:
    """Preview UTF-16 that nobody converted."""
    raw = content.read(0, min(content.size, _UTF16_MAX_BYTES))
    text = raw.decode(encoding, "replace").removeprefix("\ufeff")
    plan = lines.plan(_Converted(text), "text", "", None, None)
    remark: dict[str, Any] = {"encoding": encoding}
    if content.size > len(raw):
        remark["note"] = f"of the first {len(raw) >> 20} MiB"

    def render(allowance: cut.Allowance) -> Sketch:
        if content.size == len(raw) and within(value := remark | {"text": text}, allowance):
            return Sketch(value, complete=True)
        sketch = plan(cut.Allowance(allowance.tokens - 30, allowance.bytes - 100))
        return Sketch(remark | sketch.value, sketch.left_out, sketch.suggest)

    return render
