"""The preview: what a model sees of a content at first sight, chosen by the content's kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from .. import cut, kinds
from ..content import Content
from ..cut import Allowance
from ..json_size import within
from ..notable import Notables
from . import binary, json, lines, outline, table
from .base import Preview, Render, plural, share, tokens_of

WORTH_TOKENS = 600
"""More of a content that does not fit whole says little: a question is cheaper."""

_BYTES_PER_TOKEN = 5

_SHRINKING_PERCENT = (100, 85, 70, 55, 40, 28, 18, 10, 5)

_OUTLINED = {"source", "markdown", "diff"}
_WITHOUT_ERRORS = _OUTLINED | {"lines"}
"""Words that tell of errors elsewhere are names here, or what the text is about."""

_HEADINGS_LEAST = 3
"""Of a text that is no Markdown: a rule may stand below any line."""

_UTF16_MAX_BYTES = 8 << 20


_Value = TypeVar("_Value")


class _once(Generic[_Value]):  # noqa: N801 - a decorator
    """A property computed once; unlike with `functools.cached_property` of Python 3.11, nobody waits for another's."""

    def __init__(self, compute: Callable[[Any], _Value]) -> None:
        self._compute = compute

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> _Value:
        value = vars(instance)[self._name] = self._compute(instance)
        return value


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


class ContentView:
    """Shows a content: whole if it fits, else what its kind makes most useful. What it takes to know it is done once.

    Attributes:
        content: read only when something is asked.
        known: what was counted of it.
        hint: what a tool knows of it.
        sha256: of the whole, if known; shown with a preview.
    """

    def __init__(self, content: Content, known: CaptureFacts, hint: Hint, sha256: str = "") -> None:
        self.content = content
        self.known = known
        self.hint = hint
        self.sha256 = sha256

    @property
    def kind(self) -> str:
        """What the content is by its beginning: `text`, `log`, `json`, `binary` and so on."""
        return self._kind.name

    @property
    def form(self) -> str:
        """The format of a binary, the family of a source, the delimiter of a table; else empty or a shade."""
        return self._kind.detail

    def whole(self, allowance: Allowance) -> str | None:
        """Return all of the content if it is valid UTF-8 text and fits, else None; cheap."""
        if self.content.size > allowance.bytes or self.kind == "binary" or self._kind.encoding != "utf-8":
            return None
        try:
            text = (self._head if self._is_all_head else self.content.read(0, self.content.size)).decode()
        except UnicodeDecodeError:
            return None
        return text if cut.fits(text, allowance) else None

    def part(self, allowance: Allowance) -> Preview:
        """Show what is most useful of the content, within the allowance, with the measures a reader of it all wants."""
        room = Allowance(min(allowance.tokens, WORTH_TOKENS), min(allowance.bytes, WORTH_TOKENS * _BYTES_PER_TOKEN))
        tries = (self._render(share(room, percent)) for percent in _SHRINKING_PERCENT)
        nothing = Preview({}, f"all {plural(self.content.size, 'byte')}", {"bytes": "0-4095"})
        found = next((preview for preview in tries if within(preview.value, allowance)), nothing)
        left_out = f"{found.left_out} not shown" if found.left_out else ""
        return replace(found, left_out=left_out, measures=self._measures)

    @_once
    def _measures(self) -> dict[str, str]:
        return tokens_of(self.content) | ({"sha256": self.sha256[:12]} if self.sha256 and self.kind == "binary" else {})

    @_once
    def _head(self) -> bytes:
        return self.content.read(0, min(self.content.size, kinds.HEAD_BYTES))

    @property
    def _is_all_head(self) -> bool:
        return len(self._head) == self.content.size

    @_once
    def _kind(self) -> kinds.Kind:
        if self._is_all_head:
            tail = self._head[-kinds.TAIL_BYTES :]
        else:
            size = self.content.size
            tail = self.content.read(max(0, size - kinds.TAIL_BYTES), min(size, kinds.TAIL_BYTES))
        return kinds.decide(self.content.size, self._head, tail, self.hint.name, self.hint.kind)

    @_once
    def _render(self) -> Render:
        content, kind = self.content, self._kind
        if kind.name == "empty":
            return lambda _: Preview({})
        if kind.encoding != "utf-8":
            return _converted(content, kind.encoding)
        if kind.name == "binary":
            return binary.plan(content, kind.detail)
        structured = self._structured()
        if not isinstance(structured, str):
            return structured
        return self._text(kinds.Kind("text") if kind.name in {"json", "jsonl", "csv"} else kind, structured)

    def _structured(self) -> Render | str:
        """Prepare JSON, JSON lines or a table; or say why it is nothing of that, in words or none."""
        plan: Render | str = ""
        if self.kind == "json":
            plan = json.plan(self.content)
        if self.kind in {"json", "jsonl"} and isinstance(plan, str):
            rows = json.plan_lines(self.content, self.known.lines)
            return plan or rows if isinstance(rows, str) else rows
        if self.kind in {"csv", "tsv"}:
            plan = table.plan(self.content, self._kind.detail, self.known.lines)
        return plan

    def _text(self, kind: kinds.Kind, note: str) -> Render:
        plan = self._outlined(kind) or self._lines(kind, note)
        invalid = kinds.invalid_sequences(self._head)
        if not invalid:
            return plan
        scope = "" if self._is_all_head else f" in the first {len(self._head) >> 10} KiB"
        remark = {"not_utf8": f"{plural(invalid, 'invalid sequence')}{scope}, shown as U+FFFD"}
        if not self._is_all_head:
            return _remarked(plan, remark)
        text = {"text": self._head.decode("utf-8", "replace")}
        left_out = f"the bytes of {plural(invalid, 'sequence')} that are not UTF-8"
        return _remarked(plan, remark, Preview(remark | text, left_out, {"bytes": _about_first_invalid(self._head)}))

    def _outlined(self, kind: kinds.Kind) -> Render | None:
        """Prepare a text by its outline, if it is of a kind that has one, or a file with some headings."""
        if kind.name == "text" and self.hint.name:
            return outline.plan(self.content, "prose", self.known.lines, _HEADINGS_LEAST)
        family = kind.detail if kind.name == "source" else kind.name
        return outline.plan(self.content, family, self.known.lines) if kind.name in _OUTLINED else None

    def _lines(self, kind: kinds.Kind, note: str) -> Render:
        known = self.known
        notables = Notables() if kind.name in _WITHOUT_ERRORS else known.notables
        return lines.plan(self.content, kind.name, kind.detail, known.lines, notables, known.watched_bytes, note)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Shows of a content that is nothing to read only what to do with it."""

    following: str

    def whole(self, allowance: Allowance) -> str | None:
        """Nothing of it is text."""
        return None

    def part(self, allowance: Allowance) -> Preview:
        """Name the next step, if there is room for it."""
        value = {"next": self.following}
        return Preview(value if within(value, allowance) else {})


def _remarked(plan: Render, remark: dict[str, str], whole: Preview | None = None) -> Render:
    """Put a remark before what is planned; show `whole` in its place if that fits."""

    def render(allowance: Allowance) -> Preview:
        if whole is not None and within(whole.value, allowance):
            return whole
        preview = plan(Allowance(allowance.tokens - 30, allowance.bytes - 100))
        return replace(preview, value={**remark, **cast("Mapping[str, Any]", preview.value)})

    return render


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
    remark = {"encoding": encoding}
    if content.size > len(raw):
        return _remarked(plan, remark | {"note": f"of the first {len(raw) >> 20} MiB"})
    return _remarked(plan, remark, Preview(remark | {"text": text}))
