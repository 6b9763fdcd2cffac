"""The store for whoever owns it: sessions, their artifacts and calls, searched, copied, removed and counted.

No model uses this: it reads the disk as its user may, and names sessions by their directories, for their handles stand
nowhere. What artifacts hold is somebody else's text: on a terminal nothing of it acts.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..artifacts import Artifact, Store
from ..artifacts.ownership import local_owner
from ..artifacts.records import ID
from ..budget.clean import clean
from ..errors import BursarError
from .bootstrap import store_of
from .cli_parser import Parser
from .config import Settings
from .people import ago, agreed, paged, progress, size, table, written

_LINE_CHARACTERS = 2000
_BLOCK = 1 << 20
_LINES_MAX, _HITS_MAX = 10_000, 100_000
_DAY_S = 86_400
_ASKED = 10
"""So many are named before they are removed; of more the number is told."""


def run(words: Sequence[str]) -> int:
    """Run one of `COMMANDS`, which the first word names.

    Returns:
        0, or 1 if a search found nothing or a person said no. What cannot be read is told on standard error.

    Raises:
        BursarError: bad_command_line, bad_setting, unknown_session, unknown_artifact, bad_pattern, read_failed.
    """
    describe = COMMANDS[words[0]]
    parser = Parser(prog=f"bursar {words[0]}", description=describe.__doc__, allow_abbrev=False)
    describe(parser)
    settings = Settings.load({})
    parser.add_argument("--data-dir", type=Path, default=settings.data_dir, help="where artifacts are kept")
    given = parser.parse_args(words[1:])
    with closing(store_of(Settings.load({"data_dir": given.data_dir}))) as store:
        return given.act(store, given)


def _with_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="a line of JSON for each, for other programs")


# Sessions and their artifacts


def _describe_sessions(parser: argparse.ArgumentParser) -> None:
    """List the sessions, the last used first."""
    _with_json(parser)
    parser.set_defaults(act=_sessions)


def _sessions(store: Store, given: argparse.Namespace) -> int:
    rows = list[Mapping[str, Any]]()
    for one in store.listed():
        with _going_on(), closing(store.visit(one.name)) as session:
            told = {
                "session": one.name,
                "owner": one.owner,
                "used": one.used_at,
                "artifacts": len(one.artifacts),
                "calls": sum(1 for _ in session.exchanges()),
                "bytes": session.size,
            }
            rows.append(told)
    if given.json:
        return _json(rows)
    mine = local_owner()
    shown = (
        (row["session"], "" if row["owner"] == mine else row["owner"], ago(row["used"]), row["calls"],
         row["artifacts"], size(row["bytes"]))
        for row in rows
    )  # fmt: skip
    table(("session", "owner", "last used", ">calls", ">artifacts", ">size"), shown)
    return 0


def _describe_artifacts(parser: argparse.ArgumentParser) -> None:
    """List what a session has stored, the latest last."""
    _with_session(parser)
    _with_json(parser)
    parser.set_defaults(act=_artifacts)


def _artifacts(store: Store, given: argparse.Namespace) -> int:
    name = _named(store, given.session)
    with closing(store.visit(name)) as session:
        found = session.artifacts(_open)
    if given.json:
        return _json(_told(name, one, one.path) for one in found)
    table(
        ("artifact", "made by", "what was done", "when", ">lines", ">size"),
        (
            (one.id, one.tool, one.did, ago(one.created), "" if one.lines is None else f"{one.lines:,}",
             size(one.size) if one.state == "whole" else f"{size(one.size)} {one.state}")
            for one in found
        ),
    )  # fmt: skip
    return 0


def _told(session: str, one: Artifact, path: str) -> dict[str, Any]:
    names = "tool did created state size lines sha256".split()
    told = {name: getattr(one, name) for name in names}
    return {"session": session, "artifact": one.id, **told, "path": path, "facts": dict(one.facts)}


# Contents


def _describe_show(parser: argparse.ArgumentParser) -> None:
    """Show an artifact: through a pager on a terminal, with nothing in it that acts there; byte for byte elsewhere."""
    parser.add_argument("what", metavar="[SESSION/]ARTIFACT", help="such as a7, of the session that was used last")
    parser.set_defaults(act=_show)


def _show(store: Store, given: argparse.Namespace) -> int:
    name, artifact = _parted(store, given.what)
    if not artifact:
        what = f"{clean(given.what, 60)!r} names no artifact"
        raise BursarError("bad_command_line", what, "`bursar artifacts` lists them")
    with _opened(store, name, artifact) as found, found.opened() as content:
        if sys.stdout.isatty():
            paged(_lines(content.read, content.size))
            return 0
        for at in range(0, content.size, _BLOCK):
            sys.stdout.buffer.write(content.read(at, _BLOCK))
        sys.stdout.buffer.flush()
    return 0


def _lines(read: Callable[[int, int], bytes], length: int) -> Iterator[str]:
    """Yield the lines of a content; of a long one the beginning."""
    held = b""
    for at in range(0, length, _BLOCK):
        *lines, held = (held + read(at, _BLOCK)).split(b"\n")
        yield from (_line(line) for line in lines)
        if len(held) > _BLOCK:
            yield _line(held)
            held = b""
    if held:
        yield _line(held)


def _line(line: bytes) -> str:
    return line.removesuffix(b"\r")[: 4 * _LINE_CHARACTERS].decode("utf-8", "replace").expandtabs(8)


def _describe_grep(parser: argparse.ArgumentParser) -> None:
    """Search all artifacts of all sessions, or of some."""
    parser.add_argument("pattern", help="a regular expression, as ripgrep has them")
    parser.add_argument("what", nargs="*", metavar="SESSION[/ARTIFACT]")
    parser.add_argument("-i", "--ignore-case", action="store_true")
    parser.add_argument("--most", type=int, default=100, metavar="N", help="matching lines of each (default: 100)")
    _with_json(parser)
    parser.set_defaults(act=_grep)


def _grep(store: Store, given: argparse.Namespace) -> int:
    from ..artifacts.engines import engine

    pattern = f"(?i){given.pattern}" if given.ignore_case else given.pattern
    most = max(1, min(given.most, _LINES_MAX))
    is_found = False
    for name, artifact in progress(list(_chosen(store, given.what)), "searched"):
        with _going_on(), _opened(store, name, artifact) as found, found.opened() as content:
            lines = dict[int, int]()
            for hit in engine(pattern, content, 0, content.size, _ignored).hits(most, _HITS_MAX).found:
                lines.setdefault(hit.line, hit.offset)
            for number, offset in lines.items():
                is_found = True
                line = _line(_line_at(content.read, offset))
                if given.json:
                    _json([{"session": name, "artifact": artifact, "line": number, "text": line}])
                else:
                    written(f"{name}/{artifact}:{number}:{line}")
    return 0 if is_found else 1


def _ignored(_done: int, _total: int) -> None:
    """Take what is told of progress, which is shown by artifacts."""


# Copies and removals


def _describe_export(parser: argparse.ArgumentParser) -> None:
    """Copy sessions or artifacts into a directory, each session into one of its own with a list of what is there."""
    parser.add_argument("what", nargs="+", metavar="SESSION[/ARTIFACT]")
    parser.add_argument("to", metavar="DIRECTORY", type=Path)
    parser.set_defaults(act=_export)


def _export(store: Store, given: argparse.Namespace) -> int:
    lists = dict[str, list[dict[str, Any]]]()
    for name, artifact in progress(list(_chosen(store, given.what)), "copied"):
        with _going_on(), _opened(store, name, artifact) as found, found.opened() as content:
            place: Path = given.to / name
            place.mkdir(parents=True, exist_ok=True)
            file = found.content or f"{artifact}-{Path(found.path).name}"
            if (place / file).exists():
                raise BursarError("exists", f"{clean(str(place / file), 500)} is there already", "Name another place")
            with (place / file).open("xb") as copy:
                for at in range(0, content.size, _BLOCK):
                    copy.write(content.read(at, _BLOCK))
            lists.setdefault(name, []).append(_told(name, found, file))
    for name, told in lists.items():
        (given.to / name / "artifacts.json").write_text(json.dumps(told, indent=1, ensure_ascii=False), "utf-8")
    written(f"{sum(map(len, lists.values()))} artifacts of {len(lists)} sessions are in {clean(str(given.to), 1000)}")
    return 0


def _describe_rm(parser: argparse.ArgumentParser) -> None:
    """Remove sessions, in use or not, or artifacts of them."""
    parser.add_argument("what", nargs="*", metavar="SESSION[/ARTIFACT]")
    parser.add_argument("--idle-days", type=float, metavar="N", help="all sessions that were not used for so long")
    parser.add_argument("--yes", action="store_true", help="without asking")
    parser.set_defaults(act=_rm)


def _rm(store: Store, given: argparse.Namespace) -> int:
    places = [_parted(store, name) for name in given.what]
    if given.idle_days is not None:
        before = time.time() - given.idle_days * _DAY_S
        places += [(one.name, "") for one in store.listed() if one.used_at < before]
    elif not places:
        raise BursarError("bad_command_line", "nothing is named", "Name sessions, or give --idle-days")
    places = list(dict.fromkeys(places))
    shown = ", ".join(f"{name}/{artifact}" if artifact else name for name, artifact in places[:_ASKED])
    more = f" and {len(places) - _ASKED} more" if len(places) > _ASKED else ""
    if places and not given.yes and not agreed(f"Remove {shown}{more}?"):
        return 1
    for name, artifact in places:
        if artifact:
            with closing(store.visit(name)) as session:
                session.remove(session.open(artifact))
        else:
            store.discard(name)
    written(f"removed {len(places)}")
    return 0


# Costs


def _describe_stats(parser: argparse.ArgumentParser) -> None:
    """Count what was sent to models and what was kept out of their context, in tokens of o200k."""
    _with_session(parser, "one; by default all")
    _with_json(parser)
    parser.set_defaults(act=_stats)


def _stats(store: Store, given: argparse.Namespace) -> int:
    from .costs import EXPLAINED, Costs, of_session

    names = [_named(store, given.session)] if given.session else [one.name for one in store.listed()]
    found = list[tuple[str, Costs]]()
    for name in progress(names, "counted"):
        with _going_on(), closing(store.visit(name)) as session:
            found.append((name, of_session(session)))
    if given.json:
        return _json({"session": name, **asdict(costs)} for name, costs in found)
    rows = [(name, costs) for name, costs in found if costs.calls]
    rows.append(("all", sum((costs for _, costs in found), Costs())))
    table(
        ("session", ">calls", ">sent", ">of it read again", ">kept out", ">lists"),
        ((name, *(f"{n:,}" for n in (one.calls, one.sent, one.again, one.kept_out, one.lists))) for name, one in rows),
    )
    for line in EXPLAINED.splitlines():
        written(line)
    return 0


# What is named


def _with_session(parser: argparse.ArgumentParser, which: str = "by default the one that was used last") -> None:
    parser.add_argument("session", nargs="?", default="", help=f"its name or the beginning of it; {which}")


def _named(store: Store, name: str) -> str:
    """Return the name of the only session that begins so; of the one that was used last if nothing is given.

    Raises:
        BursarError: unknown_session.
    """
    found = [one.name for one in store.listed() if one.name.startswith(name)]
    if not found or (name and len(found) > 1):
        begin = f"begin with {clean(name, 40)!r}" if name else "are there"
        what = f"{len(found) or 'no'} sessions {begin}"
        raise BursarError("unknown_session", what, "`bursar sessions` lists them")
    return found[0]


def _parted(store: Store, what: str) -> tuple[str, str]:
    """Take SESSION/ARTIFACT apart; an artifact alone is of the session that was used last.

    Raises:
        BursarError: bad_command_line, unknown_session.
    """
    name, slash, artifact = what.partition("/")
    if not slash and ID.fullmatch(name.partition("-")[0]):
        return _named(store, ""), name.partition("-")[0]
    if not name:
        raise BursarError("bad_command_line", f"{clean(what, 60)!r} names no session", "`bursar sessions` lists them")
    return _named(store, name), artifact.partition("-")[0]


def _chosen(store: Store, what: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the session and the id of each artifact that is named, or of all."""
    for name, artifact in [_parted(store, one) for one in what] or [(one.name, "") for one in store.listed()]:
        if artifact:
            yield name, artifact
            continue
        with _going_on(), closing(store.visit(name)) as session:
            yield from [(name, one) for one in session.ids()]


@contextmanager
def _going_on() -> Generator[None]:
    """Tell what cannot be read, so that the rest is done: it may have been removed meanwhile, or damaged.

    Raises:
        BursarError: what would fail everywhere.
    """
    try:
        yield
    except BursarError as error:
        if error.code in ("bad_pattern", "exists"):
            raise
        sys.stderr.write(f"bursar: {error}\n")


@contextmanager
def _opened(store: Store, name: str, artifact: str) -> Generator[Artifact]:
    with closing(store.visit(name)) as session:
        yield session.open(artifact, _open)


def _open(path: str) -> int:
    return os.open(path, os.O_RDONLY)


def _line_at(read: Callable[[int, int], bytes], offset: int) -> bytes:
    """Return the line in which a match begins, of a long one what is near it."""
    start = max(0, offset - _LINE_CHARACTERS // 2)
    before = read(start, offset - start).rpartition(b"\n")[2]
    return before + read(offset, _LINE_CHARACTERS).partition(b"\n")[0]


def _json(rows: Iterable[Mapping[str, Any]]) -> int:
    for row in rows:
        sys.stdout.write(f"{json.dumps(row)}\n")  # of ASCII alone: nothing in it acts
    sys.stdout.flush()
    return 0


COMMANDS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "sessions": _describe_sessions,
    "artifacts": _describe_artifacts,
    "show": _describe_show,
    "grep": _describe_grep,
    "export": _describe_export,
    "rm": _describe_rm,
    "stats": _describe_stats,
}
"""What each command is and takes, by its name."""
