"""What processes are started with: a short list of names for commands, never secrets; and our own helpers."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

HERE = str(Path(__file__).parent)

ALLOWED = (
    "PATH HOME USER LOGNAME SHELL TMPDIR TZ LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION "
    "LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME"
).split()
"""What is handed on when the server has it. Names, not patterns: a pattern lets tomorrow's secret through."""

ALLOWED_ON_WINDOWS = (
    "ALLUSERSPROFILE APPDATA COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA "
    "NUMBER_OF_PROCESSORS OS PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PSMODULEPATH "
    "PUBLIC SYSTEMDRIVE SYSTEMROOT TEMP TMP USERDOMAIN USERNAME USERPROFILE WINDIR"
).split()
"""Without these most programs of Windows do not start, or do not find their files."""

FOR_LOADING = (
    "PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH DYLD_FRAMEWORK_PATH DYLD_FALLBACK_FRAMEWORK_PATH"
).split()
"""Without these some builds of Python do not start: our own helper processes get them, commands do not."""

FOR_WORKERS = (
    "HOME LANG LC_ALL LC_CTYPE TZ TMPDIR TEMP TMP SYSTEMROOT USERPROFILE LOCALAPPDATA PYTHONPATH PYTHONHOME".split()
)
"""What workers get, besides what any process needs to be loaded."""

FIXED = {
    # The output is a file: no colours, no cursor movements.
    "TERM": "dumb",
    "NO_COLOR": "1",
    # A pager, a password prompt or an editor would wait for somebody who is not there.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    # Python holds back what it prints into a file: a live artifact would stay empty, and errors would come first.
    "PYTHONUNBUFFERED": "1",
}
"""What every command is told about where it runs."""

_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def python(module: str, *arguments: str) -> list[str]:
    """Return how to start a bare Python that imports only `forkserver`, and runs `main` of a module in it.

    Its arguments stand from `sys.argv[1]` on.

    It runs as a module and not as a script, so that its compiled form is kept.
    """
    boot = f"import sys; sys.path.append(sys.argv.pop(1)); from forkserver.{module} import main; main()"
    return [sys.executable, "-I", "-S", "-c", boot, HERE, *arguments]


def helper_environment() -> dict[str, str]:
    """Build the environment of a Python process of our own: what it needs to start."""
    return {name: os.environ[name] for name in FOR_LOADING if name in os.environ}


def worker_environment() -> dict[str, str]:
    """Build the environment of a process that parses, or that forks those.

    It keeps compiled modules where this process does, or nowhere. Without them it would compile a megabyte of libraries
    anew at each start: installers such as uv leave that to the first.
    """
    kept = {name: os.environ[name] for name in FOR_WORKERS if name in os.environ} | {"PYTHONUTF8": "1"}
    kept |= {} if sys.pycache_prefix is None else {"PYTHONPYCACHEPREFIX": sys.pycache_prefix}
    return helper_environment() | kept | ({"PYTHONDONTWRITEBYTECODE": "1"} if sys.dont_write_bytecode else {})


def command_environment(pass_env: Iterable[str] = (), source: Mapping[str, str] | None = None) -> dict[str, str]:
    """Build the environment of a command from the server's own (`source`; default: `os.environ`).

    A name in `pass_env` is handed on as the server has it and wins over everything fixed here; a name that the server
    does not have is left out.
    """
    source = os.environ if source is None else source
    names = (*ALLOWED, *ALLOWED_ON_WINDOWS) if sys.platform == "win32" else ALLOWED
    environment = {name: source[name] for name in names if name in source}
    environment.update(FIXED)
    environment.update({name: source[name] for name in pass_env if name in source})
    if sys.platform != "win32":
        environment.setdefault("PATH", _DEFAULT_PATH)
        if not any(name in environment for name in ("LANG", "LC_ALL", "LC_CTYPE")):
            environment["LANG"] = "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8"
    return environment
