"""Writes a PDF from Markdown or plain text: into the workspace, or as an artifact."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Literal, Self, cast

import anyio
import anyio.to_thread
from pydantic import Field, model_validator

from ..artifacts import Spool
from ..content.writeback import refuse_truncated
from ..errors import BursarError
from ..guard.created import CreatedFile
from ..guard.names import written
from ..pdf.fonts import readable_places
from .base import Call, Done, Fact, Tool, ToolArgs, unlisted
from .pdf_pictures import PictureFinder
from .progress import watched

_REFERENCES = "bursar.pdf.work:references"
_WRITE = "bursar.pdf.work:write"
_MEMORY_BYTES = 2_500_000_000
"""Enough for some 1,600 pages."""
_MAX_TEXT_BYTES = 32 << 20
_MAX_LIST_BYTES = 2 * _MAX_TEXT_BYTES
_LONGEST_S = 180.0
_SHORT_BYTES = 64 << 10
"""Laid out in a second or less: if there was no time for that, loading the layout or the machine was slow."""
_MARGIN = 0.1
"""Share of the client's patience that is kept for storing the document and for the reply."""
_PICTURES = 0.6
"""Share of the time that is left which looking for pictures may take."""


class WritePdfArgs(ToolArgs):
    """Arguments of `write_pdf`."""

    zeros = frozenset({"margin_mm"})

    content: str = ""
    artifact: str = Field(default="", description="or stored text")
    path: str = Field(default="", description="default: an artifact")
    overwrite: bool = unlisted(default=False)
    layout: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        description="title, toc, page_size …",
    )
    title: str = unlisted("")
    author: str = unlisted("")
    page_size: str = unlisted("A4")
    margin_mm: float = unlisted(22)
    toc: bool = unlisted(default=False)
    page_numbers: bool = unlisted(default=True)
    plain: bool = unlisted(default=False)
    emoji: Literal["name", "drop", "box"] = unlisted("name")
    allow_markers: bool = unlisted(default=False)

    @model_validator(mode="before")
    @classmethod
    def _with_layout(cls, given: object) -> object:
        """Take what `layout` says for arguments, which they may be as well."""
        arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        layout = cast("object", arguments.get("layout"))
        if not isinstance(layout, dict):
            return cast("object", given)
        return {**arguments, **cast("dict[str, Any]", layout), "layout": {}}


class WritePdf(Tool[WritePdfArgs]):
    """Write a PDF from Markdown; images by artifact, path or URL."""

    name: ClassVar[str] = "write_pdf"
    destructive: ClassVar[bool] = True
    open_world: ClassVar[bool] = True
    Args = WritePdfArgs

    def did(self, args: WritePdfArgs) -> str:
        """Name source and target."""
        source = f"artifact {args.artifact}" if args.artifact else f"{len(args.content):,} characters of content"
        return f"write PDF {args.path or 'report.pdf'} from {source}"

    async def run(self, args: WritePdfArgs, call: Call) -> Done:
        """Check everything that can be refused at once, then find the pictures and write."""
        if bool(args.content.strip()) == bool(args.artifact):
            raise BursarError("bad_argument", "give either content or artifact", "Call again with one of them")
        if args.path and PurePath(args.path).suffix.casefold() != ".pdf":
            raise BursarError("bad_path", "the path does not end in .pdf", "Name a file such as out/report.pdf")
        with ExitStack() as spools:
            job = _Document.begin(args, call, spools)
            await anyio.to_thread.run_sync(job.take_text)
            if not args.path:
                return await job.stored(await job.made())
            with await anyio.to_thread.run_sync(_create, call, args.path, args.overwrite) as target:
                return await job.saved(await job.made(), target)


@dataclass(slots=True)
class _Document:
    """One document; what is in the making lies in spools, which are gone at the end of the call, as its fonts are."""

    args: WritePdfArgs
    call: Call
    finder: PictureFinder
    deadline_s: float
    text: Spool
    pictures: Spool
    pdf: Spool
    listing: Spool
    progress: Spool
    fonts: Path
    has_pictures: bool = False

    @classmethod
    def begin(cls, args: WritePdfArgs, call: Call, spools: ExitStack) -> Self:
        """Make the spools."""
        kinds = ("the text", "the list of pictures", "the document", "the list of characters", "the progress")
        text, pictures, pdf, listing, progress = (spools.enter_context(call.session.spool(kind)) for kind in kinds)
        patience_s = min(call.patience_s * (1 - _MARGIN), _LONGEST_S)
        deadline_s = anyio.current_time() + patience_s
        fonts = Path(spools.enter_context(TemporaryDirectory(prefix="bursar-", ignore_cleanup_errors=True)))
        return cls(args, call, PictureFinder(call, spools), deadline_s, text, pictures, pdf, listing, progress, fonts)

    def take_text(self) -> None:
        """Write the text, from the arguments or the artifact, into its spool, if it is all there. Blocks."""
        text = self._source()
        refuse_truncated(text, allow_markers=self.args.allow_markers)
        self.text.write(text)
        self.has_pictures = b"![" in text

    def _source(self) -> bytes:
        if not self.args.artifact:
            return self.args.content.encode("utf-8", "surrogatepass")
        artifact = self.call.session.open(self.args.artifact, self.call.workspace.descriptor)
        if artifact.size > _MAX_TEXT_BYTES:
            raise BursarError(
                "too_large",
                f"the artifact has {artifact.size:,} bytes, more than {_MAX_TEXT_BYTES:,}",
                "Save the part that matters as an artifact of its own and pass that",
            )
        text = artifact.read(0, artifact.size)
        if b"\0" in text[:8192]:
            raise BursarError("not_text", "the artifact is no text", "Pass the id of an artifact with Markdown or text")
        return text

    async def made(self) -> dict[str, Any]:
        """Write the document into its spool; return what came of it."""
        if self.has_pictures and not self.args.plain:
            wanted = {"source": str(self.text.path), "target": str(self.pictures.path)}
            await self._work(_REFERENCES, wanted, reads=[self.text.path], writes=[self.pictures.path])
            references = await anyio.to_thread.run_sync(self._references)
            found = await self.finder.find(references, within_s=self._left_s * _PICTURES)
            await anyio.to_thread.run_sync(self.pictures.path.write_text, json.dumps(found))
        wanted = {
            "source": str(self.text.path),
            "target": str(self.pdf.path),
            "listing": str(self.listing.path),
            "progress": str(self.progress.path),
            "options": self.args.model_dump(exclude={"content", "artifact", "path", "overwrite", "allow_markers"}),
            "pictures": str(self.pictures.path),
            "fonts": str(self.fonts),
        }
        copies = [copy for kind, copy in self.finder.found.values() if kind == "path"]
        reads = [self.text.path, self.pictures.path, *copies, *readable_places()]
        writes = [self.pdf.path, self.listing.path, self.progress.path, self.fonts]
        writing = self._work(_WRITE, wanted, reads=reads, writes=writes)
        return cast("dict[str, Any]", await watched(writing, self.call.progress, self._read_progress))

    def _references(self) -> list[str]:
        try:
            found: object = json.loads(self.pictures.read(0, _MAX_LIST_BYTES))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, list):
            raise BursarError("worker_failed", "the pictures of the document could not be listed", "Write it in parts")
        return [name for name in cast("list[object]", found) if isinstance(name, str)]

    @property
    def _left_s(self) -> float:
        return max(self.deadline_s - anyio.current_time(), 0.1)

    async def _work(
        self, function: str, arguments: Mapping[str, Any], *, reads: Sequence[Path | str], writes: Sequence[Path]
    ) -> object:
        within_s = self._left_s
        try:
            return await self.call.workers.call(
                function, arguments, reads=reads, writes=writes, deadline_s=within_s, memory_bytes=_MEMORY_BYTES
            )
        except BursarError as error:
            raise _about_document(error, within_s, self.text.size) from error

    def _read_progress(self) -> tuple[float, float, str]:
        """Read how far the work is, which the worker writes down in per mille."""
        share = self.progress.read(0, 16).strip()
        return int(share) / 10 if share.isdigit() else 0, 100, "% of the PDF written"

    async def stored(self, made: Mapping[str, Any]) -> Done:
        """Keep the document as an artifact."""
        writer = self.call.output("report.pdf")
        await anyio.to_thread.run_sync(self.pdf.pour, writer)
        artifact = await writer.finish(facts={"pages": int(made["facts"]["pages"]), "title": str(made["title"])})
        return await self._done({"artifact": artifact, "path": artifact.path, "bytes": artifact.size}, made)

    async def saved(self, made: Mapping[str, Any], target: CreatedFile) -> Done:
        """Give the document its name in the workspace."""
        await anyio.to_thread.run_sync(self.pdf.pour, target)
        await anyio.to_thread.run_sync(target.commit)
        return await self._done({"path": written(str(target.path)), "bytes": self.pdf.size}, made)

    async def _done(self, where: Mapping[str, Fact], made: Mapping[str, Any]) -> Done:
        facts: dict[str, Fact] = {**made["status"], **where, **made["facts"], "fonts": made["fonts"]}
        if kinds := facts.get("all_replaced"):
            writer = self.call.output("replaced-characters.tsv")
            await anyio.to_thread.run_sync(self.listing.pour, writer)
            facts["all_replaced"] = f"{kinds}: {(await writer.finish()).ref}"
        return Done(facts=facts)


def _about_document(error: BursarError, within_s: float, text_bytes: int) -> BursarError:
    """Say of a document what the workers say of any content."""
    match error.code:
        case "too_slow":
            # What a short one has waited for is still being loaded, and is there the next time.
            shorter = "Call again" if text_bytes <= _SHORT_BYTES else "Write it in parts"
            return BursarError(
                "timeout",
                f"the document was not ready in the {within_s:.3g} s that were left of what this client waits",
                f"{shorter}, or have the server started with a longer --patience-s",
            )
        case "too_large":
            return BursarError("too_large", "the document needs too much memory", "Write it in parts")
        case "worker_failed":
            what = "the process that lays out the document ended early, perhaps for want of memory"
            return BursarError("worker_failed", what, "Write it in parts, to find the one that cannot be laid out")
        case _:
            return error


def _create(call: Call, path: str, overwrite: bool) -> CreatedFile:
    """Begin a file in the workspace."""
    return call.workspace.create(path, overwrite=overwrite)
