"""Contents held in memory, and previews of them, for tests."""

import json
from typing import Any

from bursar.budget import tokens
from bursar.budget.cut import Allowance
from bursar.budget.notable import Watch
from bursar.budget.previews.base import Preview
from bursar.budget.previews.preview import CaptureFacts, ContentView, Hint

ROOMY = Allowance(tokens=1600, bytes=7000)


class Held:
    """Bytes in memory that notes how much of them was read."""

    def __init__(self, content: bytes | str) -> None:
        self.content = content.encode() if isinstance(content, str) else content
        self.size = len(self.content)
        self.read_bytes = 0

    def read(self, offset: int, length: int) -> bytes:
        found = self.content[offset : offset + length]
        self.read_bytes += len(found)
        return found


def known(content: bytes | str) -> CaptureFacts:
    """Count and watch a content as the store does."""
    raw = content.encode() if isinstance(content, str) else content
    watch = Watch()
    watch.feed(raw, 1)
    return CaptureFacts(raw.count(b"\n") + (not raw.endswith(b"\n")), watch.result())


def seen(content: bytes | str, name: str = "", allowance: Allowance = ROOMY) -> Preview:
    """Preview a content that was counted and watched."""
    return preview(Held(content), known(content), Hint(name=name), allowance)


def preview(content: Any, known: CaptureFacts, hint: Hint, allowance: Allowance) -> Preview:
    """Preview a content: all of it if it fits, else the most useful part."""
    view = ContentView(content, known, hint)
    text = view.whole(allowance)
    return view.part(allowance) if text is None else Preview(text)


def parts(content: bytes | str, name: str = "", allowance: Allowance = ROOMY) -> dict[str, Any]:
    """Return the parts of a preview of a content that does not fit whole."""
    found = seen(content, name, allowance)
    assert isinstance(found.value, dict)
    assert not found.is_complete
    assert found.left_out
    return found.value


def serialised(value: object) -> str:
    """Return the form whose size an allowance limits; NaN, which strict parsers reject, is refused."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def within(value: object, allowance: Allowance) -> bool:
    """Measure a value without any short cut."""
    form = serialised(value)
    return len(form.encode()) <= allowance.bytes and tokens.count(form) <= allowance.tokens
