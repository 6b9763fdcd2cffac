"""Changes a text file of the workspace: every edit of a call, or none; the reply has the lines that changed."""

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import anyio.to_thread
from pydantic import AliasChoices, Field, model_validator

from ..artifacts import locks
from ..budget.previews.preview import Hint
from ..content.edits import LARGEST_BYTES, Edit, Hunk, Text
from ..content.writeback import find_marker
from ..errors import BursarError
from ..guard.names import rewritten, written
from ..guard.opened import OpenedFile
from ..guard.paths import Workspace
from . import asking, saving
from .base import UNLISTED, Call, Done, Fact, Tool, ToolArgs, unlisted
from .progress import Pulse, in_thread

EDITS_MAX = 100
"""In one call: each is looked for in the whole text."""

_SHOWN_BYTES = 1000
"""A longer diff is named only: the model has just written what it says."""

_TOLD_RANGES = 8

_WAIT_S = 10.0
"""For other edits of the same file."""

_LOOK_S = 0.005

_STANDS_FOR = {
    "[redacted:": "a credential that was not shown",  # with `--redact`
    "... existing code ...": "code that was left out",  # as several editors have models write it
}


def _also(name: str) -> AliasChoices:
    return AliasChoices(name, f"{name}_string", f"{name}_str", f"{name}_text")


class EditArgs(ToolArgs):
    """One of several edits."""

    old: str = Field(min_length=1, coerce_numbers_to_str=True, validation_alias=_also("old"))
    new: str = Field(coerce_numbers_to_str=True, validation_alias=_also("new"))
    all: bool = Field(default=False, validation_alias=AliasChoices("all", "replace_all"))


class EditFileArgs(ToolArgs):
    """Which file, and what to replace by what."""

    zeros = frozenset({"old", "new"})
    empties = frozenset({"new"})

    path: str
    old: str = Field("", description="unique; omit to create", coerce_numbers_to_str=True)
    new: str | None = Field(None, coerce_numbers_to_str=True)
    all: bool = False
    artifact: str = Field("", description="or stored text")
    sql: str | None = asking.OFFERED
    lines: str | None = unlisted(coerce_numbers_to_str=True)
    bytes: str | None = unlisted(coerce_numbers_to_str=True)
    tail: int | None = unlisted()
    grep: str | None = unlisted()
    edits: list[EditArgs] = Field(default_factory=list[EditArgs], max_length=EDITS_MAX, json_schema_extra=UNLISTED)
    allow_markers: bool = unlisted(default=False)

    @model_validator(mode="before")
    @classmethod
    def _edits_as_models_write_them(cls, given: object) -> object:
        """Take one edit for a list of it, and a list that was written as a text for what it says."""
        arguments = dict(cast("dict[str, Any]", given)) if isinstance(given, dict) else {}
        edits = cast("object", arguments.get("edits"))
        if isinstance(edits, str) and edits:
            with suppress(ValueError, RecursionError):
                edits = json.loads(edits)
        if edits is None or edits == "":
            edits = []
        arguments["edits"] = [edits] if isinstance(edits, dict) else edits
        return arguments

    def wanted(self) -> list[Edit]:
        """Return the edits; none if a whole file is given.

        Raises:
            BursarError: bad_argument, truncated_content.
        """
        if self.artifact or self.sql is not None:
            if self.edits or self.old or self.new is not None:
                raise BursarError("bad_argument", "both a text and an artifact are given", "Give new, or artifact")
            return []
        if self.edits and (self.old or self.new):
            raise BursarError("bad_argument", "both edits and old or new are given", "Give edits, or old and new")
        if not self.edits and (self.new is None or (self.all and not (self.old or self.new))):
            what = "new, the text to write, is missing"
            raise BursarError("bad_argument", what, 'Give it; with old, "" deletes')
        edits = [Edit(edit.old, edit.new, edit.all or self.all) for edit in self.edits]
        edits = edits or [Edit(self.old, self.new or "", self.all)]
        for edit in edits:
            self._refuse_gaps(edit)
        return [edit for edit in edits if edit.old]

    def _refuse_gaps(self, edit: Edit) -> None:
        """Refuse what was made from a part: a notice that the file has itself stands in the old text too."""
        if self.allow_markers:
            return
        for sign, meaning in _STANDS_FOR.items():
            if edit.new.count(sign) > edit.old.count(sign):
                what = f"new has {sign!r}, which stands for {meaning}: the file would lose that"
                raise BursarError(
                    "truncated_content", what, "Edit around it, or set allow_markers=true if that is meant"
                )
        if find_marker(edit.old.encode("utf-8", "replace")):
            return
        if marker := find_marker(edit.new.encode("utf-8", "replace")):
            raise BursarError(
                "truncated_content",
                f"line {marker.line} of new is a truncation notice, so a part of the text is missing: {marker.what}",
                "Read the part that is missing, or set allow_markers=true if the notice belongs there",
            )


@dataclass(frozen=True, slots=True)
class _Changed:
    path: str
    size: int
    hunks: list[Hunk]
    encoding: str = ""
    mixed_ends: str = ""


class EditFile(Tool[EditFileArgs]):
    """Replace text in a file or create it; several changes: edits=[{old, new, all}]."""

    name: ClassVar[str] = "edit_file"
    destructive: ClassVar[bool] = True
    Args = EditFileArgs

    def did(self, args: EditFileArgs) -> str:
        """Describe the edit by its file."""
        return f"edit {rewritten(args.path)}"

    async def run(self, args: EditFileArgs, call: Call) -> Done:
        """Edit.

        Raises:
            BursarError: an edit cannot be made, and so none was; or the file cannot be read or written.
        """
        edits = await anyio.to_thread.run_sync(args.wanted)
        if args.artifact or args.sql is not None:
            excerpt = saving.SavedArgs(**args.model_dump(include=set(saving.SavedArgs.model_fields)))
            return await saving.saved(excerpt, args.path, call, overwrite=args.all)
        changed = await in_thread(lambda pulse: _change(args, edits, call, pulse), call.progress, "")
        if not changed.hunks:
            return Done({"created": changed.path, "bytes": changed.size})
        facts: dict[str, Fact] = {"changed": _told(changed.hunks)}
        if changed.encoding not in {"utf-8", "utf-8 with BOM"}:
            facts["encoding"] = changed.encoding
        if changed.mixed_ends:
            facts["note"] = f"its lines end with {changed.mixed_ends}; new ones as the line that they begin in"
        writer = call.output(f"{os.path.basename(changed.path)}.diff")  # noqa: PTH119 - written for people
        writer.write("".join(hunk.written() for hunk in changed.hunks).encode("utf-8", "replace"))
        if writer.size <= _SHOWN_BYTES:
            return Done(facts, writer, Hint(name="a.diff"))
        return Done({"artifact": await writer.finish(), **facts})


def _change(args: EditFileArgs, edits: list[Edit], call: Call, pulse: Pulse) -> _Changed:
    try:
        file = _alone(call.workspace, args.path, pulse)
    except BursarError as error:
        if error.code != "not_found" or edits:
            raise
        return _created(args, call.workspace)
    with file:
        data = _read(file, args.path)
        if not edits and data and not args.all:
            fix = "Give old, the text to replace, or all=true to replace the whole file"
            raise BursarError("exists", f"'{rewritten(args.path)}' exists already", fix)
        text = Text(data)
        content, hunks = text.edited(edits or [Edit(text.text, args.new or "")])
        _check_size(len(content), args.path)
        path = written(str(file.path))
        with call.workspace.create(path, overwrite=True) as replaced:
            replaced.resemble(file.status)
            replaced.write(content)
            pulse.beat(0)  # nobody waits for it any more: then nothing is changed
            replaced.commit(instead_of=file.status)
        has_lines = any("\n" in edit.old + edit.new for edit in edits)
        return _Changed(path, len(content), hunks, text.encoding.name, text.mixed_ends() if has_lines else "")


def _alone(workspace: Workspace, path: str, pulse: Pulse) -> OpenedFile:
    """Open a file that no other edit is at work with: calls at the same time are made one after the other.

    Raises:
        BursarError: as the workspace does; `busy`.
    """
    ends_at = time.monotonic() + _WAIT_S
    while True:
        file = workspace.open(path)
        try:
            if locks.claim(file.descriptor) or not locks.is_claimed(file.descriptor):  # nothing can be, on some disks
                # Who had the lock has put another file in the place of this one.
                with workspace.open(path) as now:
                    if os.path.samestat(now.status, file.status):
                        file.status = os.fstat(file.descriptor)
                        return file
            elif time.monotonic() > ends_at:
                raise BursarError("busy", f"another program holds the lock of '{rewritten(path)}'", "Try again")
            pulse.beat(0)
        except BaseException:
            file.close()
            raise
        file.close()
        time.sleep(_LOOK_S)


def _created(args: EditFileArgs, workspace: Workspace) -> _Changed:
    content = _utf8(args.new or "")
    _check_size(len(content), args.path)
    try:
        with workspace.create(args.path) as created:
            created.write(content)
            created.commit()
    except BursarError as error:
        fixes = {"not_found": "Make its directory first", "exists": "Use another path, or give old"}
        raise BursarError(error.code, error.message, fixes.get(error.code, error.fix)) from error
    return _Changed(written(str(created.path)), len(content), [])


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        what = "new has half a character (a lone surrogate), which no file can hold"
        raise BursarError("unencodable", what, "Write it whole") from None


def _read(file: OpenedFile, path: str) -> bytes:
    saving.refuse_unwritable(file, path)
    data = file.read(0, LARGEST_BYTES + 1)
    _check_size(len(data), path)
    return data


def _check_size(size: int, path: str) -> None:
    if size > LARGEST_BYTES:
        what = f"'{rewritten(path)}' has more than {LARGEST_BYTES:,} bytes, or would have"
        raise BursarError("too_large", what, "Change it with a program, by terminal")


def _told(hunks: list[Hunk]) -> str:
    """Name the lines that are new or gone, by their numbers now; neighbours together."""
    ranges: list[tuple[int, int, int]] = []
    for hunk in hunks:
        first, after, gone = hunk.now_first, hunk.now_first + len(hunk.come), 0 if hunk.come else len(hunk.gone)
        if ranges and not gone and not ranges[-1][2] and ranges[-1][1] == first:
            ranges[-1] = (ranges[-1][0], after, 0)
        else:
            ranges.append((first, after, gone))
    told = [_range(*each) for each in ranges[:_TOLD_RANGES]]
    more = [f"{len(ranges) - len(told):,} more"] if len(told) < len(ranges) else []
    return ", ".join(told + more)


def _range(first: int, after: int, gone: int) -> str:
    if gone:
        return f"{gone} gone before line {first}"
    return f"line {first}" if after == first + 1 else f"lines {first}-{after - 1}"
