"""Shows what a directory holds: a picture that fits a reply, and the listing of all below as an artifact."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from ..artifacts import Writer
from ..budget.previews.preview import Hint
from ..budget.previews.tree import Branch, TreeView
from ..content.ignore import RULES_BYTES, Rules
from ..content.walk import COUNT_S, Node, Walk
from ..errors import BursarError
from ..guard.names import rewritten, written
from ..guard.opened import OpenedDirectory
from ..guard.paths import Workspace
from .base import Call, Done, Tool, ToolArgs
from .progress import Pulse, in_thread

DEEPEST = 3
"""Fixed: a deeper picture is a question about a subdirectory."""

_WRITE_CHARACTERS = 1 << 18
_LEVELS_UP = 40


def _unsaid(schema: dict[str, Any]) -> None:
    """List an argument without its default, which anybody would guess."""
    del schema["default"]


class DirectoryTreeArgs(ToolArgs):
    """What to list, how deep, and whether to keep ignored files out."""

    zeros = frozenset({"depth"})

    path: str = ""
    depth: int = Field(1, description=f"1 to {DEEPEST}", json_schema_extra=_unsaid)
    all: bool = Field(default=False, description="also what .gitignore hides")


class DirectoryTree(Tool[DirectoryTreeArgs]):
    """List a directory with sizes and counts; its artifact lists every path below."""

    name: ClassVar[str] = "directory_tree"
    read_only: ClassVar[bool] = True
    Args = DirectoryTreeArgs

    def did(self, args: DirectoryTreeArgs) -> str:
        """Describe the listing."""
        return f"tree {rewritten(args.path) or '.'}, depth {args.depth}" + (", all" if args.all else "")

    async def run(self, args: DirectoryTreeArgs, call: Call) -> Done:
        """List.

        Raises:
            BursarError: a depth out of range, or a path that cannot be listed.
        """
        if not 0 <= args.depth <= DEEPEST:
            fix = f"Use 0 to {DEEPEST}; to see deeper, call it with the path of a subdirectory"
            raise BursarError("bad_argument", f"depth must be from 0 to {DEEPEST}, got {args.depth}", fix)
        writer = call.output("tree.txt")
        found = await in_thread(lambda pulse: _walked(args, call, writer, pulse), call.progress, "entries seen")
        facts: dict[str, str] = {}
        if found.ignored:
            facts["ignored"] = f"{_entries(found.ignored)} (.gitignore); all=true shows them"
        unlisted = 1 + found.tree.total.files + found.tree.total.directories - found.listed
        if unlisted > 0:
            bound = "≥" if found.tree.total.at_least else ""
            facts["unlisted"] = f"{bound}{_entries(unlisted)}; give a path below to have them listed"
        if not found.in_time:
            facts["unfinished"] = "≥ marks figures that are not whole: there was more than could be counted in time"
        return Done(facts, writer, Hint(name="tree.txt", kind="text"), view=TreeView(found.tree, found.listed))


def _entries(number: int) -> str:
    return f"{number:,} entr{'y' if number == 1 else 'ies'}"


@dataclass(frozen=True, slots=True)
class _Found:
    tree: Branch
    listed: int
    ignored: int
    in_time: bool


def _walked(args: DirectoryTreeArgs, call: Call, writer: Writer, pulse: Pulse) -> _Found:
    """Walk the tree and write its listing."""
    with call.workspace.directory(args.path or ".") as top:
        path = written(str(top.path))
        rules = None if args.all else _rules_above(top, call.workspace)
        node = Node(name=path, path=_written_path(top.path, call.workspace), way=(), rules=rules)
        walk = Walk(top, node, depth=args.depth, beat=pulse.beat, list_s=max(COUNT_S, call.patience_s / 2))
        tree = walk.run()
    pending: list[str] = []
    waiting = 0
    for text in walk.listing():
        pending.append(text)
        waiting += len(text)
        if waiting > _WRITE_CHARACTERS:
            pulse.beat(walk.seen)
            writer.write("".join(pending).encode())
            pending, waiting = [], 0
    writer.write("".join(pending).encode())
    return _Found(tree, walk.listed, walk.ignored, walk.in_time)


def _written_path(path: Path, workspace: Workspace) -> str:
    """Return how entries of a directory begin in the listing, so that they can be given to any tool as they stand."""
    root = workspace.roots[0]
    text = written((path.relative_to(root) if path.is_relative_to(root) else path).as_posix())
    return "" if text == "." else text.rstrip("/") + "/"


def _rules_above(top: OpenedDirectory, workspace: Workspace) -> Rules:
    """Return the rules that hold in a directory from those above it, up to the repository or the workspace root.

    A directory that these rules themselves hide was asked for by name: then they do not count.
    """
    levels: list[tuple[str, bytes | None, bytes | None]] = []
    place = top.path
    for _ in range(_LEVELS_UP):
        try:
            with workspace.directory(written(str(place))) as directory:
                prefix = _written_path(place, workspace)
                levels.append(
                    (prefix, _small(directory, (".git", "info"), "exclude"), _small(directory, (), ".gitignore"))
                )
                is_last = place in workspace.roots or _is_repository(directory)
        except (BursarError, OSError):
            break
        if is_last:
            break
        place = place.parent
    rules = Rules()
    for prefix, exclude, own in reversed(levels[1:]):
        rules = rules.within(prefix, exclude).within(prefix, own)
    if rules.hides(_written_path(top.path, workspace).rstrip("/"), is_directory=True):
        rules = Rules()
    return rules.within(*levels[0][:2]) if levels else rules


def _small(directory: OpenedDirectory, way: tuple[str, ...], name: str) -> bytes | None:
    """Return a small file below a directory, None if it is not there."""
    at = directory.again()
    try:
        for step in way:
            with at:
                below = at.enter(step)
            at = below
        return at.read(name, RULES_BYTES)
    except OSError:
        return None
    finally:
        at.close()


def _is_repository(directory: OpenedDirectory) -> bool:
    try:
        directory.enter(".git").close()
    except NotADirectoryError:  # the file of a worktree
        return True
    except OSError:
        return False
    return True
