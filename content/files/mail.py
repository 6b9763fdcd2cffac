"""E-mails and mailboxes: heads, texts, and what is attached."""

from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage, MIMEPart
from email.policy import EmailPolicy
from itertools import islice
from pathlib import Path
from typing import cast

from ..page.extract import extract
from .text import Text, fenced, prose

_HEADS = ("From", "To", "Cc", "Date", "Subject")
_HEAD_CHARACTERS = 16_384
_ATTACHED_MAX = 1000
_TOLD_CHARACTERS = 80
_LINE_BYTES = 1 << 20
_MESSAGE_BYTES = 64 << 20


class _Bounded(EmailPolicy):
    """Cuts heads; the library's time for one grows with the square of its length."""

    cut: list[str]

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "cut", [])  # a policy refuses changes

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        if len(value) > _HEAD_CHARACTERS:
            self.cut.append(name)
            end = max(value.rfind(mark, 0, _HEAD_CHARACTERS) for mark in ",;")
            value = value[: end if end > 0 else _HEAD_CHARACTERS]
        return name, value


def read(message: EmailMessage) -> Text:
    """Read an e-mail."""
    listed, note = _listed(message)
    return Text(_blocks(message, listed), {"attachments": len(listed), "note": note})


def read_all(box: Path) -> Text:
    """Read all the e-mails of a mailbox, each under its number and subject."""
    facts: dict[str, str | int] = {}
    return Text(_numbered(box, facts), facts)


def _numbered(box: Path, facts: dict[str, str | int]) -> Iterator[str]:
    for number, data in enumerate(messages(box), 1):
        message = parsed(data)
        listed, note = _listed(message)
        if note:
            facts.setdefault("note", f"{number}, and maybe later ones: {note}")
        yield f"## {number}: {_head(message, 'Subject')}"
        yield from _blocks(message, listed)


def _listed(message: EmailMessage) -> tuple[list[tuple[str, MIMEPart]], str]:
    """Return what is attached, and what is left out of the e-mail."""
    listed = list(islice(attachments(message), _ATTACHED_MAX + 1))
    more = f"it has more than {_ATTACHED_MAX:,} attachments; these are listed" if len(listed) > _ATTACHED_MAX else ""
    return listed[:_ATTACHED_MAX], "; ".join(filter(None, (_cut(message), more)))


def parsed(data: bytes) -> EmailMessage:
    """Return the e-mail that bytes are."""
    return cast("EmailMessage", message_from_bytes(data, policy=_Bounded()))


def _cut(message: EmailMessage) -> str:
    cut = ", ".join(dict.fromkeys(cast("_Bounded", message.policy).cut))[:_TOLD_CHARACTERS]
    return f"heads are cut at {_HEAD_CHARACTERS:,} characters: {cut}; bytes=0- has them as they are" if cut else ""


def messages(box: Path) -> Iterator[bytes]:
    """Return the e-mails of a mailbox (mbox) one after the other."""
    lines: list[bytes] = []
    size, is_blank = 0, True
    with box.open("rb") as file:
        while line := file.readline(_LINE_BYTES):
            if is_blank and line.startswith(b"From "):
                if lines:
                    yield b"".join(lines)
                lines, size = [], 0
            elif size < _MESSAGE_BYTES:
                lines.append(line[1:] if line.lstrip(b">").startswith(b"From ") and line[:1] == b">" else line)
                size += len(line)
            is_blank = not line.strip()
    if lines:
        yield b"".join(lines)


def attachments(message: EmailMessage) -> Iterator[tuple[str, MIMEPart]]:
    """Return what is attached, with names that differ."""
    if not message.is_multipart() and (message.is_attachment() or message.get_content_maintype() != "text"):
        yield (message.get_filename() or "part-1").replace("/", "_"), message
        return
    taken: set[str] = set()
    for number, attached in enumerate(_beside_text(message), 1):
        suffix = ".eml" if attached.get_content_type() == "message/rfc822" else ""
        name = (attached.get_filename() or f"part-{number}{suffix}").replace("/", "_")
        while name in taken:
            name = f"{number}-{name}"
        taken.add(name)
        yield name, attached


def _beside_text(message: EmailMessage) -> Iterator[MIMEPart]:
    """Return the parts of an e-mail, at any depth, that are no form of its text."""
    texts = [message.get_body((form,)) for form in ("plain", "html")]
    left: list[MIMEPart] = [message]
    while left:
        part = left.pop()
        if part.get_content_maintype() == "multipart":
            payload = part.get_payload()
            left += reversed(cast("list[MIMEPart]", payload)) if isinstance(payload, list) else []
        elif not any(part is text for text in texts):
            yield part


def content(part: MIMEPart) -> bytes:
    """Return the bytes of an attachment."""
    if part.get_content_type() == "message/rfc822":
        held = cast("list[MIMEPart]", part.get_payload())
        return held[0].as_bytes() if held else b""
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else b""


def _blocks(message: EmailMessage, attached: list[tuple[str, MIMEPart]]) -> Iterator[str]:
    heads = [(name, _head(message, name)) for name in _HEADS]
    yield "\n".join(f"{name}: {text}" for name, text in heads if text)
    body = message.get_body(("plain", "html"))
    payload = message.get_payload()
    if body is None and isinstance(payload, str) and message.get_content_maintype() in {"multipart", "message"}:
        yield prose(payload)  # its parts cannot be told apart
    elif body is None and message.get_content_type() == "message/rfc822" and isinstance(payload, list):
        yield from _blocks(cast("list[EmailMessage]", payload)[0], [])
    if body is not None:
        text = _decoded(body)
        is_page = body.get_content_subtype() == "html"
        yield extract(text, "", whole=True).markdown if is_page else prose(text)
    listed = [f"{name}, {part.get_content_type()}, {len(content(part)):,} bytes" for name, part in attached]
    if listed:
        yield "Attached:\n" + fenced("\n".join(listed))


def _decoded(body: MIMEPart) -> str:
    try:
        return str(body.get_content()).replace("\r\n", "\n")
    except (LookupError, ValueError):  # a character set that is none
        return content(body).decode("utf-8", "replace")


def _head(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message[name] or "").split())
    except (ValueError, IndexError, AttributeError):  # heads that the library cannot take apart
        return ""
