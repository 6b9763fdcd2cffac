"""An artifact as a client attaches it: whole where that is short, else as the tools show it."""

import base64
from pathlib import PurePath
from typing import ClassVar, Literal

from pydantic import Field

from ..artifacts import Artifact
from ..budget import cut
from ..budget.cut import Allowance
from ..budget.previews.preview import Hint
from ..budget.reply import Shown
from ..tools.base import Call, Done, Fact, Tool, ToolArgs
from .render import view_of

Form = Literal["text", "blob", "reply"]


class ResourceArgs(ToolArgs):
    """Which artifact."""

    artifact: str = Field(description="its reference")


class ResourceView(Tool[ResourceArgs]):
    """Show an artifact that a client attaches to a conversation; made anew for each, and not offered as a tool."""

    name: ClassVar[str] = "resource"
    read_only: ClassVar[bool] = True
    Args = ResourceArgs

    def __init__(self) -> None:
        self._view: _Resource | None = None
        self._name = ""

    @property
    def media_type(self) -> str:
        """What the file's name says it is."""
        from mimetypes import guess_type

        return guess_type(self._name)[0] or "application/octet-stream"

    @property
    def form(self) -> Form:
        """What the preview of the reply turned out to be: all of a text, all of other bytes in base64, or less."""
        return "reply" if self._view is None else self._view.form

    def did(self, args: ResourceArgs) -> str:
        """Name the artifact."""
        return f"attached {args.artifact.rpartition('/')[2]}"

    async def run(self, args: ResourceArgs, call: Call) -> Done:
        """Show it.

        Raises:
            BursarError: unknown_artifact, damaged, source_changed.
        """
        artifact = call.session.open(args.artifact, call.workspace.descriptor)
        origin = artifact.path if artifact.source is None else artifact.source.path
        hint, self._name = Hint(name=origin), PurePath(origin).name
        facts: dict[str, Fact] = {"of": artifact.did, **artifact.facts}
        if artifact.state != "whole":
            # What is not all of it yet, or will never be, must not pass for the content.
            state = "running" if artifact.state == "live" else artifact.state
            return Done({"state": state, **facts}, artifact, hint, afresh=True)
        self._view = _Resource(artifact, hint)
        return Done(facts, artifact, hint, view=self._view, afresh=True)


class _Resource:
    """Shows a content as replies do, but other bytes than text whole too, if they fit."""

    def __init__(self, artifact: Artifact, hint: Hint) -> None:
        self.form: Form = "reply"
        self._artifact = artifact
        self._content = view_of(artifact, hint)

    def whole(self, allowance: Allowance) -> str | None:
        """Return the content, or its base64, if that fits."""
        if (text := self._content.whole(allowance)) is not None:
            self.form = "text"
            return text
        if (encoded := self._encoded(allowance)) is not None:
            self.form = "blob"
        return encoded

    def part(self, allowance: Allowance) -> Shown:
        """Show a preview by kind."""
        self.form = "reply"
        return self._content.part(allowance)

    def _encoded(self, allowance: Allowance) -> str | None:
        if self._artifact.size > allowance.bytes * 3 // 4:
            return None
        data = self._artifact.read(0, self._artifact.size)
        if _is_text(data):
            return None
        encoded = base64.b64encode(data).decode()
        return encoded if cut.fits(encoded, allowance) else None


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data
