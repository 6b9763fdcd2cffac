"""What a tool of another server returns, as artifacts and facts: every kind of block, and nothing of it twice."""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import anyio.to_thread

from ..artifacts import Artifact, Writer
from ..artifacts.records import Fact as RecordFact
from ..budget.ceilings import PICTURE_BYTES
from ..budget.clean import clean
from ..budget.previews.preview import Hint
from ..content.picture_kinds import FORMATS
from ..errors import BursarError
from ..tools.base import Call, Done, Fact, Picture
from .message import Message
from .secrets import Blanking
from .untyped import is_mapping, mapping, sequence, text
from .upstream import Upstream

_INSPECT = "bursar.content.pictures:inspect"
_DECODING_S = 8.0
_BLOCKS_MAX = 64
_LINKS_SHOWN = 5
_QUESTIONS_SHOWN = 3
_SAID_CHARACTERS = 500
_BRIEF = 200
_STORED_FROM_CHARACTERS = 1000
_COMPARED_BYTES = 4 * 1024**2

_SUFFIXES = {
    "application/json": "json", "application/pdf": "pdf", "application/xml": "xml", "application/zip": "zip",
    "audio/mpeg": "mp3", "audio/ogg": "ogg", "audio/wav": "wav", "audio/x-wav": "wav", "text/csv": "csv",
    "text/html": "html", "text/markdown": "md", "text/plain": "txt",
}  # fmt: skip

Block = Mapping[str, Any]


@dataclass
class Result:
    """The result of one call, on its way into artifacts.

    Attributes:
        message: the answer of the server.
        call: whose session keeps it.
        label: begins the names of files, such as `playwright-browser_snapshot`.
        upstream: the server, whose secrets are blanked in texts and in what is told.
    """

    message: Message
    call: Call
    label: str
    upstream: Upstream
    _facts: dict[str, Fact] = field(default_factory=dict[str, Fact])
    _picture: Picture | None = None
    _blanked: int = 0

    async def done(self, output: Writer | None = None) -> Done:
        """Store it, and return what is told of it.

        Args:
            output: takes its text, if something does already.

        Raises:
            BursarError: upstream_error or needs_input, as the server says; what storing raises.
        """
        if "error" in self.message.value:
            raise await self._refused(mapping(self.message.value["error"]))
        result = self._result()
        blocks = _blocks(result)
        if result.get("isError") is True:
            raise await self._error(blocks)
        texts = [block for block in blocks if _is_text(block)]
        writer = output
        if texts:
            writer = writer or self.call.output(f"{self.label}.{self._suffix(texts)}")
            await self._write(writer, texts)
        structured = result.get("structuredContent")
        if structured is not None and not self._says_the_same(texts, structured):
            if writer is None or (not texts and output is writer):
                writer = writer or self.call.output(f"{self.label}.json")
                await self._poured(writer, self.message.as_json(structured))
            else:
                whole = self.message.as_json(structured)
                self._facts["structured"] = await self._kept(f"{self.label}-structured.json", whole)
        for number, block in enumerate(block for block in blocks if not _is_text(block)):
            if number >= _BLOCKS_MAX:
                await self._rest([block for block in blocks if not _is_text(block)][_BLOCKS_MAX:])
                break
            await self._attach(block)
        await self._link([block for block in blocks if block.get("type") == "resource_link"])
        if self._blanked:
            self._facts["blanked"] = f"{self._blanked:,} secrets of this server's entry"
        if self.message.replaced:
            self._facts["replaced"] = f"{self.message.replaced:,} halves of characters, by U+FFFD"
        if writer is None and not self._facts:
            writer = self.call.output(f"{self.label}.txt")
        return Done(self._facts, writer, Hint(), picture=self._picture)

    def _result(self) -> Mapping[str, Any]:
        found = mapping(self.message.value.get("result"))
        if not found and not isinstance(self.message.value.get("result"), dict):
            raise BursarError("upstream_protocol", f"{self.label} gave no result", "Call again")
        if found.get("resultType") == "input_required" or found.get("inputRequests"):
            requests = list(mapping(found.get("inputRequests")).values())[:_QUESTIONS_SHOWN]
            asked = "; ".join(self._said(mapping(mapping(one).get("params")).get("message")) for one in requests)
            what = f"{self.label} asks its user{f': {asked}' if asked else ''}"
            raise BursarError("needs_input", what, "Give what it asks for as arguments, or ask the user")
        return found

    async def _refused(self, error: Mapping[str, Any]) -> BursarError:
        """Return an error of the protocol; one that is long is stored."""
        said, details = self._said(error.get("message")) or "nothing of why", self._details(error.get("data"))
        if self.message.size > _STORED_FROM_CHARACTERS:
            await self._kept(f"{self.label}-error.json", self.message.as_json(error))
        what = f"{self.label} says: {said} ({clean(str(error.get('code')), 20)}){f': {details}' if details else ''}"
        return BursarError("upstream_error", what, "Mend the call")

    async def _error(self, blocks: Sequence[Block]) -> BursarError:
        """Return what the server says went wrong; a longer text is stored."""
        texts = [block for block in blocks if _is_text(block)]
        said = " ".join(self._ends_of(_text(block)) for block in texts[:3])
        if len(said) > _STORED_FROM_CHARACTERS or any(self.message.is_long(_text(block)) for block in texts):
            await self._write(self.call.output(f"{self.label}-error.txt"), texts)
        shown = _ends(clean(self._shown(said), len(said) + 1)) or "nothing of why"
        return BursarError("upstream_error", f"{self.label} says: {shown}", "Mend the call, or try another tool")

    def _ends_of(self, said: str) -> str:
        if not self.message.is_long(said):
            return said
        blocks = list(self.message.blocks(said))
        return (blocks[0][:_STORED_FROM_CHARACTERS] + blocks[-1][-_STORED_FROM_CHARACTERS:]).decode("utf-8", "replace")

    def _head(self, said: str) -> Iterator[bytes]:
        yield next(self.message.blocks(said), b"")[: 4 * _STORED_FROM_CHARACTERS]

    async def _write(self, writer: Writer, texts: Sequence[Block]) -> None:
        """Write texts one behind the other, with a line break between them."""
        for number, block in enumerate(texts):
            if number:
                writer.write(b"\n")
            await self._poured(writer, self.message.blocks(_text(block)))

    async def _poured(self, writer: Writer, blocks: Iterator[bytes]) -> None:
        blanking = Blanking(self.upstream.secrets)

        def pour() -> None:
            try:
                for block in blocks:
                    writer.write(blanking.feed(block))
            except RecursionError:
                what = f"what {self.label} gave is nested too deep to be written"
                raise BursarError("upstream_protocol", what, "Ask it for something flatter") from None
            writer.write(blanking.end())

        if self.message.is_large:
            await anyio.to_thread.run_sync(pour)
        else:
            pour()
        self._blanked += blanking.found

    def _said(self, told: object, most: int = _SAID_CHARACTERS) -> str:
        """Return the beginning of what a text of the server says, in one line."""
        return clean(self._shown(self.message.head(text(told), most)), most)

    def _details(self, data: object) -> str:
        """Return the beginning of what an error has besides its message."""
        if isinstance(data, str) or not data:
            return self._said(data, _BRIEF)
        with suppress(RecursionError):
            head = next(self.message.as_json(data))[: 4 * _SAID_CHARACTERS]
            return clean(self._shown(head.decode("utf-8", "replace")), _BRIEF)
        return ""

    def _shown(self, said: str) -> str:
        return self.upstream.secrets.blanked(said)

    async def _kept(
        self, label: str, blocks: Iterator[bytes], facts: Mapping[str, RecordFact] | None = None
    ) -> Artifact:
        writer = self.call.output(label)
        await self._poured(writer, blocks)
        return await writer.finish(facts=facts)

    def _suffix(self, texts: Sequence[Block]) -> str:
        head = next(self._head(_text(texts[0])), b"").lstrip()[:1]
        return "json" if head in (b"{", b"[") and len(texts) == 1 else "txt"

    def _says_the_same(self, texts: Sequence[Block], structured: object) -> bool:
        """Tell whether texts say all that a structured result does."""
        if self.message.is_long(structured):
            return self.message.is_repeated(structured)
        said = [_text(block) for block in texts]
        if not said or any(self.message.is_long(one) for one in said) or sum(map(len, said)) > _COMPARED_BYTES:
            return False
        members = list(mapping(structured).values())
        wrapped = members[0] if len(members) == 1 else _NOTHING
        values = [_loaded(one) for one in said]
        is_list = isinstance(wrapped, list)
        with suppress(RecursionError):
            return (
                (len(said) == 1 and (values[0] == structured or wrapped in (said[0], values[0])))
                or (is_list and (values == wrapped or said == wrapped))
            )  # fmt: skip
        return False

    async def _attach(self, block: Block) -> None:
        """Store a block that is no text."""
        kind = block.get("type")
        if kind in ("image", "audio"):
            await self._blob(text(block.get("data")), self._said(block.get("mimeType"), 80), str(kind))
        elif kind == "resource":
            await self._resource(mapping(block.get("resource")))
        elif kind != "resource_link":
            kept = await self._kept(f"{self.label}-block.json", self.message.as_json(block))
            self._tell("other", kept, {"type": self._said(kind, 40)})

    async def _resource(self, held: Mapping[str, Any]) -> None:
        """Store a resource that is sent along."""
        uri, form = self._said(held.get("uri")), self._said(held.get("mimeType"), 80)
        if "blob" in held:
            await self._blob(text(held["blob"]), form, "resource", uri)
            return
        label = f"{self.label}-resource.{_suffix_of(form, 'txt')}"
        kept = await self._kept(label, self.message.blocks(text(held.get("text"))), {"uri": uri})
        self._tell("resource", kept, {"uri": uri})

    async def _blob(self, data: str, form: str, name: str, uri: str = "") -> None:
        """Store what was sent as base64."""
        with self.call.session.spool(f"the {name}") as spool:
            is_whole = True
            try:
                for part in _decoded(self.message.blocks(data)):
                    spool.write(part)
            except binascii.Error:
                is_whole = False
            found: Mapping[str, Any] = {}
            if name == "image" or form.startswith("image/"):
                found = await self._looked_at(spool.path)
            suffix = FORMATS[found["format"]].suffix if "format" in found else _suffix_of(form, "bin")
            writer = self.call.output(f"{self.label}-{name}.{suffix}")
            await anyio.to_thread.run_sync(spool.pour, writer)
            told = {key: found[key] for key in ("format", "width", "height", "frames") if key in found}
            if found.get("bad"):
                told["unreadable"] = str(found["bad"])
            if not is_whole:
                told["unreadable"] = "what was sent is not all base64"
            facts: dict[str, RecordFact] = {"type": form, **told, **({"uri": uri} if uri else {})}
            kept = await writer.finish("whole" if is_whole else "partial", facts=facts)
        self._tell(name, kept, {key: value for key, value in facts.items() if value})

    async def _looked_at(self, path: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a path
        wanted = self.upstream.images == "show" and self.call.shows_pictures and self._picture is None
        with self.call.session.spool("the small picture") as small:
            try:
                found = await self.call.workers.call(
                    _INSPECT,
                    {"path": str(path), "thumbnail_to": str(small.path) if wanted else ""},
                    reads=[path],
                    writes=[small.path] if wanted else [],
                    deadline_s=_DECODING_S,
                    within_s=self.call.patience_s / 2,
                )
            except BursarError as error:
                return {"bad": error.code}
            told = cast("dict[str, Any]", found)
            form = told.get("thumbnail")
            if form in ("image/png", "image/jpeg") and 0 < small.size <= PICTURE_BYTES:
                self._picture = Picture(str(form), small.read(0, small.size))
            return told

    def _tell(self, name: str, kept: Artifact, facts: Mapping[str, Any]) -> None:
        """Name an artifact beside the text; what is known of it is told for the first of its kind."""
        number = 1 + sum(known.partition("_")[0] == name for known in self._facts if not known.endswith("_is"))
        key = name if number == 1 else f"{name}_{number}"
        self._facts[key] = kept
        if number == 1:
            said = ", ".join(f"{key} {value}" for key, value in facts.items())
            self._facts[f"{name}_is"] = f"{said}, {kept.size:,} bytes"

    async def _rest(self, blocks: Sequence[Block]) -> None:
        kept = await self._kept(f"{self.label}-blocks.json", self.message.as_json([dict(block) for block in blocks]))
        self._tell("more", kept, {"blocks": len(blocks)})

    async def _link(self, links: Sequence[Block]) -> None:
        """Name the resources that a result points to."""
        if not links:
            return
        shown = [
            (self._said(link.get("uri"), _BRIEF), self._said(link.get("name"), 80)) for link in links[:_LINKS_SHOWN]
        ]
        self._facts["links"] = [f"{uri} {name}".strip() for uri, name in shown]
        if len(links) > _LINKS_SHOWN or self.message.is_large:
            whole = self.message.as_json([dict(link) for link in links])
            self._facts["all_links"] = await self._kept(f"{self.label}-links.json", whole)


def _blocks(result: Mapping[str, Any]) -> list[Block]:
    """Return the blocks of a result; those of a resource that was read are blocks too."""
    held: list[Block] = [{"type": "resource", "resource": one} for one in sequence(result.get("contents"))]
    return [mapping(block) for block in sequence(result.get("content")) if is_mapping(block)] or held


def _is_text(block: Block) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def _text(block: Block) -> str:
    return cast("str", block["text"])


def _ends(said: str) -> str:
    """Return the beginning and the end of what is said: programs tell last why they failed."""
    if len(said) <= _SAID_CHARACTERS:
        return said
    return f"{said[: _SAID_CHARACTERS // 2]} … {said[-_SAID_CHARACTERS // 2 :]}"


def _loaded(said: str) -> object:
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        return _NOTHING


_NOTHING = object()


def _suffix_of(form: str, usual: str) -> str:
    return _SUFFIXES.get(form.partition(";")[0].strip().lower(), usual)


def _decoded(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Decode base64 as it arrives.

    Raises:
        binascii.Error: it is none.
    """
    rest = b""
    for block in blocks:
        held = rest + block.translate(None, b" \r\n\t")
        whole = len(held) - len(held) % 4
        yield base64.b64decode(held[:whole], validate=True)
        rest = held[whole:]
    if rest:
        yield base64.b64decode(rest + b"=" * (-len(rest) % 4), validate=True)
