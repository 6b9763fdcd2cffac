"""`bursar install`: bursar entered into the configurations of MCP clients, and taken out again."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import BursarError
from ..install.clients import CLIENTS, Client
from ..install.install import Change, entering, is_entered, leaving
from .cli_parser import Parser

_EPILOG = """\
Without a client it lists them all. What follows `--` is handed on to the server, such as `-- --terminal off`.
Nothing else in a configuration changes, and beside it lies a copy of what it was.
"""


def run(words: Sequence[str]) -> int:
    """Run `bursar install`.

    Returns:
        0, or 1 if one of several clients' configurations could not be changed.

    Raises:
        BursarError: bad_command_line, broken_configuration, configuration_not_written or read_failed.
    """
    at = words.index("--") if "--" in words else len(words)
    given = _parser().parse_args(words[1:at])
    if unknown := [name for name in given.clients if name not in CLIENTS]:
        raise BursarError("bad_command_line", f"there is no client {unknown[0]!r}", "Name one: " + ", ".join(CLIENTS))
    if not given.clients and not given.all:
        _list()
        return 0
    clients = [client for client in CLIENTS.values() if client.name in given.clients or (given.all and client.is_here)]
    if not clients:
        raise BursarError("bad_command_line", "no client was found on this machine", "Name one: " + ", ".join(CLIENTS))
    failed = 0
    for client in clients:
        try:
            change = (
                leaving(client)
                if given.uninstall
                else entering(client, [*_roots(client, given.root), *words[at + 1 :]])
            )
            _tell(change, is_tried=given.dry_run)
        except BursarError as error:
            if len(clients) == 1:
                raise
            failed = 1
            sys.stderr.write(f"bursar: {client.title}: {error}\n")
    return failed


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="bursar install",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--all", action="store_true", help="all clients that are found on this machine")
    parser.add_argument(
        "--root", action="append", default=[], metavar="DIR", help="what the tools may use; repeat for more"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    parser.add_argument("--uninstall", action="store_true", help="take bursar out again")
    return parser


def _roots(client: Client, named: Sequence[str]) -> list[str]:
    """Return the arguments for the directories: those named, the one that a client means by itself, or this one."""
    roots = [str(Path(root).absolute()) for root in named] or [client.root]
    if roots == [""]:
        here = Path.cwd()
        if here in {Path.home(), Path(here.anchor)}:
            what = f"{client.title} means no directory by itself, and this is not a project"
            raise BursarError("bad_command_line", what, "Name the directory that it may use with --root DIR")
        roots = [str(here)]
    return [word for root in roots for word in ("--root", root)]


def _list() -> None:
    for client in CLIENTS.values():
        try:
            state = "entered" if is_entered(client) else "found" if client.is_here else "-"
        except BursarError as error:
            state = error.message
        sys.stdout.write(f"{client.name:15} {state:8} {client.file()}\n")
    sys.stdout.write("\n`bursar install CLIENT` enters bursar, `bursar install --all` for all that are found.\n")


def _tell(change: Change, *, is_tried: bool) -> None:
    title = change.client.title
    if change.before == change.after:
        stands = "stands there already; `--uninstall` takes it out" if change.is_entered else "is not there"
        sys.stdout.write(f"{title}: bursar {stands}: {change.file}\n")
        return
    sys.stdout.write(f"{change.diff()}\n")
    if is_tried:
        return
    change.apply()
    done = "entered" if change.is_entered else "taken out"
    backup = f"; as it was: {change.backup}" if change.is_entered and change.before is not None else ""
    sys.stdout.write(f"{title}: bursar is {done}{backup}. Restart {title}.\n")
