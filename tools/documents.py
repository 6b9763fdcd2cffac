"""Shows files for what they are: documents as text, archives by what they hold, and what lies in them by its path."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, cast

import anyio.to_thread

from ..artifacts import Artifact, Spool
from ..content.files.forms import HEAD_BYTES, form_of
from ..errors import BursarError
from .base import Call, Fact

BAD_PDF = {
    "encrypted": "the PDF is protected by a password",
    "damaged": "the PDF is damaged or not complete",
}
WORDLESS_PDF = "the pages of the PDF hold no text, perhaps they are scanned"

_READ = "bursar.content.files.read:run"
_LONGEST_S = 20.0
_LIST_SHARE = 0.7
"""Of the time for a file, for listing what it holds."""

_DEEPEST = 5
"""So many archives, or compressed files, may lie in one another on the way to what is read."""

_ABOUT = frozenset(
    "title byline date pages pages_without_text note next files unpacked_bytes sheets slides chapters cells language "
    "attachments".split()
)
"""What is told of a file."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says.

    Attributes:
        content: its text, the list of what it holds, what was asked for in it; or the file itself if there is none.
        facts: of it.
    """

    content: Artifact
    facts: Mapping[str, Fact]


async def document(
    content: Artifact, name: str, member: str, call: Call, within_s: float, *, is_raw: bool = False
) -> Document:
    """Read a file for what it is.

    Args:
        content: the file, byte for byte.
        name: what it is called.
        member: the path of what is asked for in it; empty for all of it.
        call: whose workers read it, and whose session keeps what they find.
        within_s: how long that may take.
        is_raw: the bytes are asked for, be it of what lies in the file.

    Raises:
        BursarError: there is no such member, or it cannot be unpacked. What cannot be read is shown as it is, with the
            fact `unreadable`.
    """
    until = anyio.current_time() + within_s
    facts: dict[str, Fact] = {}
    for _ in range(_DEEPEST):
        form = form_of(content.read(0, HEAD_BYTES), name)
        if not member and (is_raw or not form):
            break
        try:
            if not form:
                raise BursarError("no_archive", f"{PurePath(name).name} is no archive", "Give its own path alone")
            made = await _made(content, name, form, member, call, until - anyio.current_time())
        except BursarError as error:
            if member:
                raise
            facts["unreadable"] = error.message
            break
        content, told = made, made.facts
        facts = {key: value for key, value in told.items() if key in _ABOUT and value not in {"", 0}}
        if told.get("suffix"):
            break
        rest = str(told.get("rest") or "")
        name, member = _unpacked(name, member, rest), rest
    else:
        deep = f"{name} is still packed after {_DEEPEST} archives, one in the other"
        if member:
            raise BursarError("too_large", deep, "Unpack the outer ones with terminal, if you trust them")
        facts["unreadable"] = deep
    return Document(content, facts)


def left_out(artifact: Artifact) -> str:
    """Return what a text lacks of the file that it was made of; empty if nothing is known to be."""
    if "source" not in artifact.facts:
        return ""
    wordless = artifact.facts.get("pages_without_text")
    told = [artifact.facts.get("note"), f"pages without text: {wordless}" if wordless else ""]
    return "; ".join(str(one) for one in told if one)


async def _made(content: Artifact, name: str, form: str, member: str, call: Call, within_s: float) -> Artifact:
    """Return what a worker made of a content, now or earlier."""
    for earlier in await anyio.to_thread.run_sync(call.session.artifacts):
        told = earlier.facts
        if (told.get("source"), told.get("member")) == (content.id, member) and earlier.state == "whole":
            return earlier
    with call.session.spool("what the file says") as target:
        told = await _read(content, target, name, form, member, call, within_s)
        suffix = told["suffix"]
        writer = call.output(
            f"{PurePath(member or name).name}{suffix}" if suffix else _unpacked(name, member, told["rest"])
        )
        await anyio.to_thread.run_sync(target.pour, writer)
    return await writer.finish(facts={"source": content.id, "member": member, **told})


def _unpacked(name: str, member: str, rest: str) -> str:
    """Return what a member is called, or what is compressed in a file."""
    return PurePath(member.removesuffix(rest)).name if member else PurePath(name).stem


async def _read(
    content: Artifact, target: Spool, name: str, form: str, member: str, call: Call, within_s: float
) -> dict[str, Any]:
    deadline_s = max(0.0, min(within_s, _LONGEST_S))
    with content.opened() as opened:
        identity = {"device": opened.status.st_dev, "inode": opened.status.st_ino}
    wanted = {"source": content.path, "target": str(target.path), "form": form, "member": member}
    found = await call.workers.call(
        _READ,
        {**wanted, **identity, "name": PurePath(name).name, "within_s": _LIST_SHARE * deadline_s},
        reads=[content.path],
        writes=[target.path],
        deadline_s=deadline_s,
        within_s=max(0.0, within_s),
    )
    told = cast("Mapping[str, Any]", found)
    if "bad" in told:
        raise BursarError("damaged", BAD_PDF.get(str(told["bad"]), str(told["bad"])), "It is kept as it is")
    if form == "pdf" and not told.get("words"):
        raise BursarError("not_text", WORDLESS_PDF, "It is kept as it is")
    rest = str(told.get("rest", ""))
    about = {key: value for key, value in told.items() if key in _ABOUT and isinstance(value, str | int)}
    suffix = {"csv": ".csv", "md": ".md"}.get(str(told.get("suffix", "")).removeprefix("."), "")
    return {**about, "suffix": suffix, "rest": rest if member.endswith(f"/{rest}") else ""}
