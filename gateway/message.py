"""A message of another server, understood: what is long in it stays in a file until it is stored."""

import codecs
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ..budget.clean import utf8
from ..errors import BursarError
from ..guard.workers import Workers
from .frames import Frame

_TAKE_APART = "bursar.content.json_parts:take_apart"
_WITHIN_S = 60.0
_BLOCK = 1 << 20


@dataclass(slots=True)
class Message:
    """A message, and where its long texts are.

    Attributes:
        value: the message; a long text or value in it is a text with a mark.
        size: its bytes as it was sent.
        replaced: halves of characters that became U+FFFD.
        parts: offset and length of each long text or value in its file.
    """

    value: Mapping[str, Any]
    size: int = 0
    replaced: int = 0
    _mark: str = ""
    _file: Path | None = None
    _raw: Frame = field(default_factory=Frame)
    parts: Sequence[tuple[int, int]] = ()

    def blocks(self, text: str) -> Iterator[bytes]:
        """Yield the bytes of a text or value in the message, as UTF-8."""
        part = self._part(text)
        if part is None or self._file is None:
            clean = utf8(text)
            if clean != text:
                self.replaced += sum(map(str.__ne__, text, clean))
            yield clean.encode()
            return
        offset, length = part
        with self._file.open("rb") as file:
            file.seek(offset)
            while length > 0 and (block := file.read(min(_BLOCK, length))):
                length -= len(block)
                yield block

    def head(self, text: str, most: int) -> str:
        """Return a text in the message, of a long one the first characters, `most` at least."""
        return text if not self.is_long(text) else next(self.blocks(text))[: 4 * most].decode("utf-8", "replace")

    def as_json(self, value: object) -> Iterator[bytes]:
        """Yield a value in the message as JSON, with its long texts; one that was long as a whole as it was sent.

        Raises:
            RecursionError: it is too deep.
        """
        if isinstance(value, str) and self.is_long(value):
            yield from self.blocks(value)
            return
        form = utf8(json.dumps(value, ensure_ascii=False)).encode()
        first, *others = form.split(f'"{self._mark}:'.encode()) if self._mark else [form]
        yield first
        for other in others:
            number, _, after = other.partition(b'"')
            yield b'"'
            decoder = codecs.getincrementaldecoder("utf-8")()
            for block in self.blocks(f"{self._mark}:{number.decode()}"):
                yield json.dumps(decoder.decode(block), ensure_ascii=False)[1:-1].encode()
            yield b'"' + after

    @property
    def is_large(self) -> bool:
        """Whether it was long."""
        return self._file is not None

    def is_repeated(self, value: object) -> bool:
        """Tell whether a long value has nothing but a text that the message has besides."""
        return isinstance(value, str) and self._part(value) == (0, 0)

    def is_long(self, value: object) -> bool:
        """Tell whether a text in the message stands for a longer one."""
        return isinstance(value, str) and self._part(value) is not None

    def close(self) -> None:
        """Remove its files."""
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
        self._raw.drop()

    def _part(self, text: str) -> tuple[int, int] | None:
        if not self._mark or not text.startswith(self._mark):
            return None
        return self.parts[int(text.rpartition(":")[2])]


def understood(frame: Frame) -> Message | None:
    """Understand a short message; None if it is no JSON object."""
    try:
        value = json.loads(frame.data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return Message(cast("dict[str, Any]", value), frame.size) if isinstance(value, dict) else None


async def taken_apart(frame: Frame, workers: Workers) -> Message:
    """Understand a long message, in a worker; the message removes the file of the frame then.

    Raises:
        BursarError: bad_message; it is none, and the file of the frame stays.
    """
    if frame.path is None:
        raise ValueError("the frame is short")
    mark, target = f"part-{secrets.token_hex(8)}", frame.path.with_suffix(".parts")
    target.touch(mode=0o600)
    message = Message({}, frame.size, 0, mark, target, frame)
    try:
        told = await workers.call(
            _TAKE_APART,
            {"path": str(frame.path), "target": str(target), "mark": mark, "whole": "structuredContent"},
            reads=[frame.path],
            writes=[target],
            deadline_s=_WITHIN_S,
            within_s=2 * _WITHIN_S,
        )
        found = cast("dict[str, Any]", told)
        value = json.loads(found["skeleton"])
        if not isinstance(value, dict):
            raise BursarError("bad_message", "what it answered is no JSON object", "See what was received")
    except (ValueError, RecursionError) as error:
        target.unlink(missing_ok=True)
        raise BursarError("bad_message", "what it answered is no JSON", "See what was received") from error
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    message.value = cast("dict[str, Any]", value)
    message.replaced = int(found["replaced"])
    message.parts = [(int(part[0]), int(part[1])) for part in found["parts"]]
    return message
