"""Make texts safe to send: valid UTF-8 for contents; one visible, harmless line for facts and logs."""

import json
import re

from . import graphemes

_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]?[0-~]?)")
"""What acts on a terminal: colours, moves of the cursor, titles and links. No part of it can match another's start."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_REPLACEMENT = "\ufffd"

_SPACED = "\t\n\v\f\r\x85\u2028\u2029"

_HIDDEN = (
    (0x80, 0x9F),  # C1 controls: 0x9B alone starts a terminal's escape sequence
    (0x061C, 0x061C),  # Arabic letter mark
    (0x200E, 0x200F),  # left-to-right and right-to-left mark
    (0x202A, 0x202E),  # bidi embeddings and overrides: they show `txt.exe` as `exe.txt`
    (0x2066, 0x206F),  # bidi isolates, and the deprecated format characters behind them
    (0xFFF9, 0xFFFB),  # interlinear annotation: hides what it encloses
    (0xE0000, 0xE007F),  # tags: a second ASCII alphabet that no one sees and models read
)


def _visible() -> dict[int, str]:
    table = {code: chr(0x2400 + code) for code in range(0x20)}
    table[0x7F] = "\u2421"
    for first, last in _HIDDEN:
        table.update(dict.fromkeys(range(first, last + 1), _REPLACEMENT))
    table.update(dict.fromkeys(range(0xD800, 0xE000), _REPLACEMENT))
    table.update(dict.fromkeys(map(ord, _SPACED), " "))
    return table


_VISIBLE = _visible()


def as_left(text: bytes) -> bytes:
    """Return a text as a terminal leaves it: without colours and other escape sequences, of each line its last state.

    Line breaks stay where they are; CR LF is one of them.
    """
    if b"\x1b" in text:
        text = _SEQUENCE.sub(b"", text)
    if b"\r" not in text or b"\r" not in (text := text.replace(b"\r\n", b"\n")):
        return text
    return b"\n".join(line.rstrip(b"\r").rpartition(b"\r")[2] for line in text.split(b"\n"))


_ACTING = re.compile("[\x7f" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _HIDDEN) + "]")


def escaped(form: str) -> str:
    """Write in a JSON text as escapes what acts on a terminal, hides or reorders: it means the same and is seen."""
    if form.isascii() and "\x7f" not in form:
        return form
    return _ACTING.sub(lambda found: json.dumps(found.group())[1:-1], form)


_UNPLAIN = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff" + "".join(f"{chr(a)}-{chr(b)}" for a, b in _HIDDEN) + "]"
)


def is_plain(text: str) -> bool:
    """Tell whether a text shows all that is in it as it stands: nothing but tabs and line breaks acts unseen."""
    return _UNPLAIN.search(text) is None


def utf8(text: str) -> str:
    """Return `text` with every lone surrogate as U+FFFD and nothing else changed: it can be encoded as UTF-8.

    Each surrogate code point becomes one U+FFFD, also where two of them would make a pair: a Python text that holds
    them apart was not UTF-16, and its length stays the same.
    """
    if text.isascii():
        return text
    return _SURROGATE.sub(_REPLACEMENT, text)


def clean(text: str, limit: int = 300) -> str:
    """Return `text` as one line that shows everything it contains: for facts and log lines, never for contents.

    Tabs and line breaks of every kind become a space (CR LF a single one), other C0 controls and DEL their picture
    (`␛`, `␀`, `␡`), and lone surrogates, C1 controls, bidi controls, tag characters and the other format characters
    that hide or reorder text U+FFFD. Joiners, variation selectors and combining marks stay: scripts and emoji need
    them. The result never is longer than `limit` code points; when it was cut it ends with `…`, which is behind a
    whole grapheme unless that one has more than 256 code points. Cleaning twice changes nothing more.
    """
    if limit < 1:
        return ""
    # CR LF alone makes a text shorter, so this much of it holds all that can be kept and the grapheme behind it.
    seen = text[: 2 * (limit + graphemes.LOOK_AROUND)]
    line = seen.replace("\r\n", "\n").translate(_VISIBLE)
    if len(line) <= limit:
        return line
    return line[: graphemes.floor(line, limit - 1)] + "…"
