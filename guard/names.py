r"""How the names of files are written for a reader and understood again.

A name is bytes on POSIX. What is valid UTF-8 and harmless is shown as it is; each byte of anything else (not UTF-8, a
control character, a line break, a character that hides or reverses text) is shown as `\xff`, and so is the
backslash of a name that would otherwise look like that. So every name has exactly one written form, one line long.
"""

import os
import re
import unicodedata

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]|\\\\(?=x[0-9a-f]{2})"
)
_READ_CHARACTERS = 4096
"""Linux's PATH_MAX: what is longer means nothing but itself. To order a run of combining marks takes time by the square
of its length."""

_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")


def _escape(found: re.Match[str]) -> str:
    text = found.group()
    if os.name == "nt":  # names are UTF-16 there and backslashes separate them, so nothing can be escaped with one
        return text if text == "\\" else "\ufffd"
    try:
        return "".join(f"\\x{byte:02x}" for byte in text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:  # a surrogate that stands for no byte: no file has it, an argument may
        return "\ufffd"


def written(name: str) -> str:
    r"""Return a name or path from the file system as it is shown: one line, valid UTF-8, `\xff` for other bytes."""
    if name.isascii() and name.isprintable() and "\\" not in name:
        return name
    return _UNSAFE.sub(_escape, name)


def rewritten(text: str) -> str:
    """Return a name or path that a caller wrote, as `written` writes the one that is most likely meant.

    What is too long to be a path is cut off, with an ellipsis.
    """
    if len(text) > _READ_CHARACTERS:
        return written(text[:_READ_CHARACTERS]) + "…"
    try:
        return written(readings(text)[0])
    except UnicodeEncodeError:
        return written(text)


def readings(text: str) -> list[str]:
    """Return the paths that `text` may mean, most likely first: as shown, literally, and in the other Unicode form.

    What is too long to be a path means itself.

    Raises:
        UnicodeEncodeError: it holds a character that no path can hold.
    """
    if os.name != "nt":
        text.encode("utf-8", "surrogateescape")
    if len(text) > _READ_CHARACTERS:
        return [text]
    meanings = [text]
    if "\\x" in text and os.name != "nt":
        raw = text.encode("utf-8", "surrogateescape")
        plain = _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), raw).decode("utf-8", "surrogateescape")
        if written(plain) == text:
            meanings.insert(0, plain)
    if not text.isascii():
        meanings += [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    return list(dict.fromkeys(meanings))
