"""`bursar fit`, `bursar history` and `bursar task`: what agents of any language do with their histories and results."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from ..errors import BursarError, RequestTooLarge
from .cli_parser import Parser
from .config import Settings

_NOT_FITTED, _DAMAGED, _NOT_STORED = 3, 1, 4
_MESSAGES = ("messages", "input", "contents")
_SYSTEMS = ("system", "instructions", "system_instruction")


def run(words: Sequence[str]) -> int:
    """Run one of the commands, and return the exit status.

    Raises:
        BursarError: as the commands do.
    """
    parser = Parser(prog="bursar", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    _describe_fit(commands.add_parser("fit", help="fit the body of a request", description=_fit.__doc__))
    _describe_history(commands.add_parser("history", help="look at a conversation", description=_history.__doc__))
    _describe_task(commands.add_parser("task", help="sum up a result", description=_task.__doc__))
    given = parser.parse_args(words)
    act: Callable[[argparse.Namespace], int] = given.act
    return act(given)


def _above(least: float) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not int(text) > least:
            raise ValueError
        return int(text)

    number.__name__ = f"number above {least}"
    return number


def _with_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data-dir", type=Path, default=Settings.load({}).data_dir, help="where artifacts are kept")


def _with_store(parser: argparse.ArgumentParser) -> None:
    _with_data(parser)
    parser.add_argument("--session", default=os.environ.get("BURSAR_SESSION", ""), help="go on with one; default: new")


def _describe_fit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit", type=_above(0), metavar="TOKENS", help="the model's window; default: 900,000 characters"
    )
    parser.add_argument("--reply", type=_above(-1), default=0, metavar="TOKENS", help="of it, kept free for the answer")
    forms = ("chat", "responses", "anthropic", "pydantic_ai", "google")
    parser.add_argument("--dialect", choices=forms, default="", help="form of the messages; default: guessed")
    parser.add_argument("--state", type=Path, metavar="FILE", help="remembers compactions from one call to the next")
    parser.add_argument(
        "--usage", type=_above(0), metavar="TOKENS", help="what the provider counted for the last request"
    )
    parser.add_argument("--usage-messages", type=_above(0), metavar="N", help="how many messages that one had")
    _with_store(parser)
    parser.set_defaults(act=_fit)


def _fit(given: argparse.Namespace) -> int:
    """Read a request's body, or its messages alone, as JSON on standard input; write it with messages that fit.

    All else in the body stays as it is. What leaves it is kept as artifacts. Exit status 3: it cannot be made to fit.
    """
    from ..budget.request import Leaving, Limit, Request, State, Usage, fit
    from ..history.shelf import Shelf
    from ..history.wires import guessed

    body: Any = _read_json()
    fields = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    name = next((one for one in _MESSAGES if one in fields), "")
    held: object = fields[name] if name else cast("object", body)
    messages = cast("list[Any]", held) if isinstance(held, list) else [None]
    if not all(isinstance(one, dict) for one in messages):
        raise _bad_input("it is neither a list of messages nor a body with one")
    tools: Any = fields.get("tools") or []
    if not isinstance(tools, list):
        raise _bad_input("its tools are no list")
    system = next((fields[one] for one in _SYSTEMS if one in fields), None)
    forms = {"input": "responses", "contents": "google"}
    dialect = given.dialect or forms.get(name) or ("anthropic" if "system" in fields else guessed(messages))
    limit = (
        Limit(reply=given.reply) if given.limit is None else Limit(tokens=given.limit, chars=None, reply=given.reply)
    )
    kept = _state(given.state)
    state = kept.pop("state", None) or State()
    # The session is remembered with the state, so that one history has one session; without either nobody knows it.
    handle = given.session or kept.get("session", "")

    @cache
    def shelf() -> Shelf:
        return Shelf.open(handle, given.data_dir, is_kept=given.state is not None)

    if given.session:
        shelf()

    def store(leaving: Leaving) -> str:
        return shelf()(leaving)

    usage = Usage(given.usage, given.usage_messages or len(messages)) if given.usage else None
    try:
        fitted = fit(Request(dialect, messages, system, cast("list[Any]", tools)), limit, store, state, usage)
    except RequestTooLarge as error:
        sys.stderr.write(f"bursar: {error}\n")
        return _NOT_FITTED
    if given.state is not None:
        session = shelf().session.handle if shelf.cache_info().currsize else handle
        remembered = {"session": session, "state": json.loads(fitted.state.to_json())}
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
    from ..budget.request import State

    try:
        kept = json.loads(path.read_bytes())
        return {"session": str(kept["session"]), "state": State.from_json(json.dumps(kept["state"]))}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        fix = "Remove it; the next compaction is remembered in a new one"
        raise BursarError("bad_input", f"{path} holds no state: {error}", fix) from None


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    beside.replace(path)


def _write(text: str) -> None:
    # Half of a pair of surrogates is escaped, as JSON has it too.
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def _describe_history(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("check", "export", "digest", "delete"))
    parser.add_argument("file", type=Path, help="a history of bursar's, a transcript of Claude Code or Codex, or JSON")
    forms = ("chat", "responses", "anthropic", "atif", "markdown")
    parser.add_argument("--as", dest="form", choices=forms, default="chat", help="of an export")
    parser.add_argument("--tokens", type=_above(0), default=2000, metavar="N", help="of a digest")
    _with_data(parser)
    parser.set_defaults(act=_history)


def _history(given: argparse.Namespace) -> int:
    """Check a conversation, export it, write a hand-over of it for a new one, or delete it with its artifacts.

    Exit status 1 of a check: it is damaged.
    """
    from ..history import conversation, exports, handover, transcripts

    if given.what == "delete":
        conversation.delete(given.file, given.data_dir)
        return 0
    found = transcripts.load(given.file, given.data_dir)
    if given.what == "export":
        if given.form == "markdown":
            _write(exports.markdown(found))
        else:
            is_atif = given.form == "atif"
            _write(json.dumps(exports.trajectory(found) if is_atif else exports.converted(found, given.form)))
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
    """Read what a task returned on standard input, store it, and write one sentence of at most 4,096 tokens.

    Exit status 4: what it returned is not stored, or not all of it.
    """
    import tempfile
    from contextlib import ExitStack, suppress

    import anyio

    from ..agent.task import is_task, report
    from ..history.shelf import Shelf

    task = f"task:{given.type}"
    if not is_task(task):
        raise BursarError("bad_command_line", f"{given.type!r} is no task", "Use general, explore or skill:NAME")

    lost: list[str] = []
    shelf: Shelf | None = None
    try:
        shelf = Shelf.open(given.session, given.data_dir, is_kept=False)
    except BursarError as error:  # a sentence is written in any case
        lost.append(str(error))
    with ExitStack() as held:
        folder = None
        with suppress(OSError):
            folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        asked = partial(_answered, given.summariser, given.timeout) if given.summariser else None
        work = partial(report, task, _held(folder), failed=given.failed, summarise=asked, timeout_s=given.timeout)
        _write(anyio.run(partial(work, shelf=shelf, tell=lost.append)))
    for why in lost:
        sys.stderr.write(f"bursar: not stored: {why}\n")
    return _NOT_STORED if lost else 0


def _held(folder: Path | None) -> str | Path:
    """Return standard input as a file, or as a text where no file has room for it."""
    if folder is None:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    raw, block = folder / "raw", b""
    try:
        with raw.open("wb", buffering=0) as file:
            while block := sys.stdin.buffer.read(1 << 20):
                while block:
                    block = block[file.write(block) :]
    except OSError:
        before = raw.read_bytes() if raw.exists() else b""
        return (before + block + sys.stdin.buffer.read()).decode("utf-8", "replace")
    return raw


def _answered(command: str, timeout_s: float, prompt: str) -> str:
    """Return what a command answers to a prompt; it is killed with all that it started when its time is over."""
    import signal
    import subprocess

    pipe = subprocess.PIPE
    with subprocess.Popen(command, shell=True, stdin=pipe, stdout=pipe, start_new_session=True) as process:  # noqa: S602 - it is the user's own
        try:
            out, _ = process.communicate(prompt.encode("utf-8", "replace"), timeout=timeout_s)
        except BaseException:
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return out.decode("utf-8", "replace")
