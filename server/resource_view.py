"""An artifact as a client attaches it: whole where that is short, else as the tools show it."""

import base64
import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

from pydantic import Field

from ..budget import cut
from ..budget.cut import Allowance
from ..budget.previews.base import Preview
from ..budget.previews.preview import ContentView, Hint
from ..content.fitting import HEAVY_BYTES
from ..tools.base import Call, Done, Fact, Tool, ToolArgs
from .render import view_of

MEDIA_TYPE = "media_type"
"""The fact that says what other bytes than text are: of a content that is shown whole, its preview is base64 of it."""

_UNLIMITED = Allowance(sys.maxsize, sys.maxsize)


class ResourceArgs(ToolArgs):
    """Which artifact."""

    artifact: str = Field(description="its reference")


class ResourceView(Tool[ResourceArgs]):
    """Show an artifact that a client attaches to a conversation; not offered as a tool."""

    name: ClassVar[str] = "resource"
    read_only: ClassVar[bool] = True
    Args = ResourceArgs

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
        hint = Hint(name=origin)
        facts: dict[str, Fact] = {"of": artifact.did, **artifact.facts}
        if artifact.state != "whole":
            # What is not all of it yet, or will never be, must not pass for the content.
            state = "running" if artifact.state == "live" else artifact.state
            return Done({"state": state, **facts}, artifact, hint, afresh=True)
        content = view_of(artifact, hint)
        if artifact.size > HEAVY_BYTES or content.whole(_UNLIMITED) is not None:
            return Done(facts, artifact, hint, afresh=True)
        facts[MEDIA_TYPE] = _media_type(PurePath(origin).name)
        return Done(facts, artifact, hint, view=_Base64(content), afresh=True)


@dataclass(frozen=True, slots=True)
class _Base64:
    """Shows a short content that is no text as its base64 if that fits, else as replies do."""

    view: ContentView

    def whole(self, allowance: Allowance) -> str | None:
        """Return the base64 if it fits."""
        content = self.view.content
        if content.size > allowance.bytes * 3 // 4:
            return None
        encoded = base64.b64encode(content.read(0, content.size)).decode()
        return encoded if cut.fits(encoded, allowance) else None

    def part(self, allowance: Allowance) -> Preview:
        """Show a preview by kind."""
        return self.view.part(allowance)


def _media_type(name: str) -> str:
    from mimetypes import guess_type

    return guess_type(name)[0] or "application/octet-stream"
