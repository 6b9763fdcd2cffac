"""Copies all of a content, a range of it or the lines that match, without laying anything out."""

from collections.abc import Iterator
from contextlib import closing

from .artifact import Artifact, Opened
from .index import BLOCK, Progress
from .matches import Query, Stretch
from .search import stretch_of
from .spool import Sink


def copy(artifact: Artifact, query: Query, sink: Sink, progress: Progress) -> None:
    """Write the lines that match, whole and in order, or all of the range if the pattern is empty. Blocks.

    Args:
        artifact: what to copy of.
        query: pattern and range.
        sink: where to.
        progress: given now and then how many bytes of the range were read; may end the work.

    Raises:
        BursarError: bad_pattern, beyond_the_end, search_failed, damaged, source_changed; as the sink refuses.
    """
    with artifact.opened() as content:
        stretch = stretch_of(query, content, artifact.index(), progress)
        if query.pattern:
            _copy_matches(content, query.pattern, stretch, sink, progress)
            return
        for block in _blocks(content, stretch, progress):
            sink.write(block)


def _copy_matches(content: Opened, pattern: str, stretch: Stretch, sink: Sink, progress: Progress) -> None:
    from .engines import engine

    with closing(engine(pattern, content, stretch.start, stretch.end, progress).texts()) as found:
        number, wanted = 1, next(found, (0, b""))[0]
        for block in _blocks(content, stretch, progress):
            for piece in _pieces(block):
                if number == wanted:
                    sink.write(piece)
                if not piece.endswith(b"\n"):
                    continue
                if number == wanted:
                    wanted = next((line for line, _ in found if line > number), 0)
                number += 1
            if not wanted:
                return


def _blocks(content: Opened, stretch: Stretch, progress: Progress) -> Iterator[bytes]:
    offset = stretch.start
    while block := content.read(offset, min(BLOCK, stretch.end - offset)):
        offset += len(block)
        yield block
        progress(offset - stretch.start, stretch.end - stretch.start)


def _pieces(block: bytes) -> Iterator[bytes]:
    """Cut behind each line feed."""
    *lines, rest = block.split(b"\n")
    yield from (line + b"\n" for line in lines)
    if rest:
        yield rest
