"""The command line: `bursar` serves, `bursar call` runs one tool as a model would, `bursar tools` lists them."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from .. import __version__
from ..errors import BursarError
from .cli_parser import Parser, add_settings, loaded
from .config import Settings

_DESCRIPTION = """\
An MCP server whose tools never flood a model's context: each answers with one small
JSON reply, and keeps the full content where `read_artifact` finds it.

  bursar                                   serve an MCP client on standard input and output
  bursar serve --http [HOST:PORT]          serve many MCP clients over HTTP
  bursar install [CLIENT ...]              enter bursar for Claude, Cursor, VS Code, Codex and others
  bursar mcp list|add|import|review|approve|call
                                           other MCP servers behind this one, see --mcp
  bursar call TOOL [NAME=TEXT | NAME:=JSON ...]
                                           run one tool and print the reply a model would get
  bursar token NAME >> FILE                make a token for an HTTP client: its hash goes into the file
                                           for --auth-tokens, the token itself is shown once
  bursar tools                             list the tools, their arguments and what they cost
  bursar sessions|artifacts|show|grep|export|rm|stats
                                           what was stored, and what it cost; each has a --help of its own
  bursar doctor [--json]                   try everything, calling each tool once, and say what is wanting
                                           and what cures it

For programs that call a model themselves; each has a --help of its own:

  bursar fit --limit TOKENS < BODY         fit the body of a request, JSON in and JSON out
  bursar history check|export|digest|delete FILE
                                           look at a conversation: of bursar, Claude Code or Codex, or any messages
  bursar task --type TYPE < RESULT         sum up what a task returned in one sentence

  bursar call terminal command='seq 1 200000'
"""


_APART = {
    **dict.fromkeys(("fit", "history", "task"), "cli_history"),
    **dict.fromkeys(("sessions", "artifacts", "show", "grep", "export", "rm", "stats"), "cli_store"),
    "install": "cli_install",
    "mcp": "cli_mcp",
}
"""Commands with words of their own, and the modules that understand them."""


def main(words: Sequence[str] | None = None) -> None:
    """Run the command `bursar`; leaves with 0, with 1 if a called tool answered with an error, with 2 on bad usage."""
    words = sys.argv[1:] if words is None else words
    try:
        if words and words[0] in _APART:
            raise SystemExit(import_module(f".{_APART[words[0]]}", __package__).run(words))
        given = vars(_parser().parse_intermixed_args(words))
        action, rest, as_json = given.pop("action"), given.pop("words"), given.pop("json")
        settings = loaded(given)
        if action == "call":
            raise SystemExit(_call(settings, rest))
        if action == "token":
            _token(rest)
            return
        if unknown := [*rest, *(["--json"] if as_json and action != "doctor" else [])]:
            raise BursarError("bad_command_line", f"`bursar {action}` takes no {unknown[0]!r}", "See `bursar --help`")
        if action == "doctor":
            from .doctor import doctor

            raise SystemExit(doctor(settings, as_json=as_json))
        if action == "tools":
            from .cli_call import print_tools

            print_tools()
        elif settings.http:
            _hide_memory()
            from .http.serve import serve_http

            serve_http(settings)
        else:
            _serve(settings)
    except BursarError as error:
        _fail(error)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except OSError as error:
        # Whoever read our output has gone, or its disk is full; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise SystemExit(1) from None
        what = f"{type(error).__name__}: {error}"
        _fail(BursarError("cannot_run", what, "See that the directory and the output exist"))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="bursar",
        usage="bursar [serve | call TOOL NAME=TEXT ... | token NAME | tools | doctor] [settings]\n"
        "       bursar install | mcp | fit | history | task ...\n"
        "       bursar sessions | artifacts | show | grep | export | rm | stats ...",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    actions = ["serve", "call", "token", "tools", "doctor"]
    parser.add_argument("action", nargs="?", choices=actions, default="serve", help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"bursar {__version__}")
    add_settings(parser)
    return parser


def _fail(error: BursarError) -> NoReturn:
    sys.stderr.write(f"bursar: {error}\n")
    raise SystemExit(2)


def _serve(settings: Settings) -> None:
    if sys.stdin.isatty():
        what = "waiting for an MCP client on standard input; `bursar --help` shows what else there is"
        sys.stderr.write(f"bursar: {what}\n")
    # Nothing that start-up allocates is ever garbage: collecting in between is 10 to 20 % of its time.
    gc.disable()
    _hide_memory()
    from .launcher import step_behind

    front = step_behind()
    from .confinement import begin_early

    begin_early(settings)
    from .stdio import serve_stdio

    gc.freeze()
    gc.enable()
    serve_stdio(settings, front)


def _token(words: Sequence[str]) -> None:
    if len(words) != 1:
        raise BursarError("bad_command_line", "`bursar token` takes one name", "Name whom the token is for")
    from .http.tokens import fresh_token

    token, line = fresh_token(words[0])
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    sys.stderr.write(f"the token of {words[0]}, shown this once: {token}\n")


def _call(settings: Settings, words: Sequence[str]) -> int:
    if not words:
        raise BursarError("bad_command_line", "`bursar call` names no tool", "`bursar tools` lists them")
    if words[0] == "terminal":
        from .confinement import begin_early

        begin_early(settings)
    _hide_memory()
    from .cli_call import argument, call_once

    return call_once(settings, words[0], dict(argument(word) for word in words[1:]))


def _hide_memory() -> None:
    if sys.platform == "linux":
        from ..guard.forkserver.capabilities import hide_memory

        hide_memory()
