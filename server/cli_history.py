"""`bursar fit`, `bursar history` and `bursar task`: what agents of any language do with their histories and results."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

from ..errors import BursarError, RequestTooLarge
from .config import Settings

_NOT_FITTED, _DAMAGED = 3, 1
_MESSAGES = ("messages", "input", "contents")
_SYSTEMS = ("system", "instructions", "system_instruction")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BursarError("bad_command_line", message.rstrip("."), f"See `{self.prog} --help`")


def run(words: Sequence[str]) -> int:
    """Run one of the commands, and return the exit status.

    Raises:
        BursarError: as the commands do.
    """
    parser = _Parser(prog="bursar", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    _describe_fit(commands.add_parser("fit", help="fit the body of a request", description=_fit.__doc__))
    _describe_history(commands.add_parser("history", help="look at a conversation", description=_history.__doc__))
    _describe_task(commands.add_parser("task", help="sum up a result", description=_task.__doc__))
    given = parser.parse_args(words)
    act: Callable[[argparse.Namespace], int] = given.act
    return act(given)


def _with_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data-dir", type=Path, default=Settings.load({}).data_dir, help="where artifacts are kept")
    parser.add_argument("--session", default=os.environ.get("BURSAR_SESSION", ""), help="go on with one; default: new")


def _describe_fit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, metavar="TOKENS", help="the model's window; default: 900,000 characters")
    parser.add_argument("--reply", type=int, default=0, metavar="TOKENS", help="of it, kept free for the answer")
    parser.add_argument(
        "--dialect", default="", help="chat, responses, anthropic, pydantic_ai, google; default: guessed"
    )
    parser.add_argument("--state", type=Path, metavar="FILE", help="remembers compactions from one call to the next")
    parser.add_argument("--usage", type=int, metavar="TOKENS", help="what the provider counted for the last request")
    parser.add_argument("--usage-messages", type=int, metavar="N", help="how many messages that one had")
    _with_store(parser)
    parser.set_defaults(act=_fit)


def _fit(given: argparse.Namespace) -> int:
    """Read a request's body, or its messages alone, as JSON on standard input; write it with messages that fit.

    All else in the body stays as it is. What leaves it is kept as artifacts. Exit status 3: it cannot be made to fit.
    """
    from ..budget.request import Limit, Request, State, Usage, fit
    from ..history.shelf import Shelf
    from ..history.wires import guessed

    body: Any = _read_json()
    fields = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    name = next((one for one in _MESSAGES if one in fields), "")
    held: object = fields[name] if name else cast("object", body)
    messages = cast("list[Any]", held) if isinstance(held, list) else [None]
    if not all(isinstance(one, dict) for one in messages):
        raise _bad_input("it is neither a list of messages nor a body with one")
    system = next((fields[one] for one in _SYSTEMS if one in fields), None)
    forms = {"input": "responses", "contents": "google"}
    dialect = given.dialect or forms.get(name) or ("anthropic" if "system" in fields else guessed(messages))
    limit = (
        Limit(reply=given.reply) if given.limit is None else Limit(tokens=given.limit, chars=None, reply=given.reply)
    )
    kept = _state(given.state)
    # The session is remembered with the state, so that one history has one session.
    shelf = Shelf.open(given.session or kept.get("session", ""), given.data_dir)
    state = State.from_json(json.dumps(kept["state"])) if "state" in kept else State()
    usage = Usage(given.usage, given.usage_messages or len(messages)) if given.usage else None
    try:
        fitted = fit(Request(dialect, messages, system, fields.get("tools", ())), limit, shelf, state, usage)
    except RequestTooLarge as error:
        sys.stderr.write(f"bursar: {error}\n")
        return _NOT_FITTED
    if given.state is not None:
        remembered = {"session": shelf.session.handle, "state": json.loads(fitted.state.to_json())}
        _replace(given.state, json.dumps(remembered).encode())
    out: object = {**fields, name: fitted.messages} if name else fitted.messages
    _write(json.dumps(out, ensure_ascii=False))
    if fitted.told:
        sys.stderr.write(f"bursar: {json.dumps(fitted.told)}\n")
    return 0


def _read_json() -> Any:  # noqa: ANN401 - whatever JSON can carry
    try:
        return json.load(sys.stdin.buffer)
    except (ValueError, RecursionError) as error:
        raise _bad_input(str(error)) from None


def _bad_input(why: str) -> BursarError:
    return BursarError(
        "bad_input", f"standard input cannot be used: {why}", "Give the JSON of a request, or its messages"
    )


def _state(path: Path | None) -> dict[str, Any]:
    if path is None or not path.exists():
        return {}
    try:
        return cast("dict[str, Any]", json.loads(path.read_bytes()))
    except ValueError as error:
        fix = "Remove it; the next compaction is remembered in a new one"
        raise BursarError("bad_input", f"{path} holds no state: {error}", fix) from None


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    beside.replace(path)


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass") + b"\n")
    sys.stdout.buffer.flush()


def _describe_history(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("check", "export", "digest", "delete"))
    parser.add_argument("file", type=Path, help="a history of bursar's, a transcript of Claude Code or Codex, or JSON")
    forms = ("chat", "responses", "anthropic", "markdown")
    parser.add_argument("--as", dest="form", choices=forms, default="chat", help="of an export")
    parser.add_argument("--tokens", type=int, default=2000, metavar="N", help="of a digest")
    _with_store(parser)
    parser.set_defaults(act=_history)


def _history(given: argparse.Namespace) -> int:
    """Check a conversation, export it, write a hand-over of it for a new one, or delete it with its artifacts.

    Exit status 1 of a check: it is damaged.
    """
    from ..history import conversation, handover, transcripts

    if given.what == "delete":
        conversation.delete(given.file, given.data_dir)
        return 0
    found = transcripts.load(given.file, given.data_dir)
    if given.what == "export":
        is_text = given.form == "markdown"
        _write(transcripts.markdown(found) if is_text else json.dumps(transcripts.converted(found, given.form)))
    elif given.what == "digest":
        _write(handover.handover(found, given.tokens))
    else:
        _write(f"{found.kind}, {found.dialect}: {len(found.messages)} messages")
        for problem in found.problems:
            _write(f"a provider would refuse it: {problem}")
    for damage in found.damage:
        sys.stderr.write(f"bursar: history_damaged: {damage}\n")
    return _DAMAGED if found.damage and given.what == "check" else 0


def _describe_task(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--type", default="general", help="general, explore or skill:NAME")
    parser.add_argument("--failed", action="store_true", help="the task ended in an error")
    parser.add_argument(
        "--summariser", metavar="COMMAND", help="answers a prompt on its standard input with a sentence"
    )
    parser.add_argument("--timeout", type=float, default=20.0, metavar="S", help="how long that may take")
    _with_store(parser)
    parser.set_defaults(act=_task)


def _task(given: argparse.Namespace) -> int:
    """Read what a task returned on standard input, store it, and write one sentence of at most 4,096 tokens."""
    import shutil
    import subprocess
    import tempfile
    from contextlib import suppress

    import anyio

    from ..agent.task import is_task, report
    from ..history.shelf import Shelf

    task = f"task:{given.type}"
    if not is_task(task):
        raise BursarError("bad_command_line", f"{given.type!r} is no task", "Use general, explore or skill:NAME")

    def summarise(prompt: str) -> str:
        data = prompt.encode("utf-8", "replace")
        done = subprocess.run(given.summariser, shell=True, input=data, stdout=subprocess.PIPE, check=True)  # noqa: S602 - it is the user's own
        return done.stdout.decode("utf-8", "replace")

    shelf: Shelf | None = None
    with suppress(BursarError):  # a sentence is written in any case
        shelf = Shelf.open(given.session, given.data_dir)
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw"
        with raw.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        asked = summarise if given.summariser else None
        work = partial(report, task, raw, failed=given.failed, summarise=asked, timeout_s=given.timeout, shelf=shelf)
        _write(anyio.run(work))
    return 0
