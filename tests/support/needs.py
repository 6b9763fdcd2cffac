"""What tests need besides Python, told as `@pytest.mark.needs("bwrap", "root")`, and whether it is here.

python3 tests/support/needs.py      prints the Debian packages of the programs that are not here, a line each
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGES = {
    "DejaVu Sans": "fonts-dejavu-core",
    "ar": "binutils",
    "bc": "bc",
    "bindfs": "bindfs",
    "bwrap": "bubblewrap",
    "bzip2": "bzip2",
    "dpkg-deb": "dpkg",
    "ensurepip": "python3-venv",
    "ed": "ed",
    "fusermount": "fuse3",
    "gdb": "gdb",
    "git": "git",
    "less": "less",
    "make": "make",
    "node": "nodejs",
    "npm": "npm",
    "pdftotext": "poppler-utils",
    "perl": "perl",
    "ps": "procps",
    "rpmbuild": "rpm",
    "sqlite3": "sqlite3",
    "strace": "strace",
    "top": "procps",
    "vi": "vim-tiny",
    "xz": "xz-utils",
    "zip": "zip",
    "zstd": "zstd",
}
"""The Debian package of each program, font or module of Python's that a test may need."""


FRAMEWORKS = {
    "pydantic-ai": "pydantic_ai",
    "langchain": "langchain",
    "openai-agents": "agents",
    "google-adk": "google.adk",
}
"""What is imported of each framework that an adapter is for; too heavy to be installed for the others' tests."""


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


_VIEW = ["--mount", "--pid", "--fork", "--mount-proc", "true"]
_FUSE = "d=$(mktemp -d) && bindfs $d $d && fusermount -u -z $d; code=$?; rmdir $d; exit $code"
_TRIALS = {
    "bwrap": ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"],
    "bindfs": ["sh", "-c", _FUSE],
    "strace": ["sh", "-c", "sleep 0.2 & strace -qq -o /dev/null -p $! || exit 1; exit 0"],
    "IPv6": [sys.executable, "-c", "import socket; socket.socket(socket.AF_INET6).bind(('::1', 0))"],
    "mounts": ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/tmp"],
    "namespaces": ["unshare", *([] if _is_root() else ["--map-root-user"]), *_VIEW],
    "user namespaces": ["unshare", "--user", "--map-user=1000", "true"],
}
"""Commands that work where a program is allowed what it is for."""

NEEDS = sorted({"root", *PACKAGES, *_TRIALS})


def _is_here(program: str) -> bool:
    if program == "DejaVu Sans":
        return any(Path("/usr/share/fonts").rglob("DejaVuSans.ttf"))
    return bool(find_spec(program) if program == "ensurepip" else shutil.which(program))


def _can_import(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False


@cache
def wanting(need: str) -> str:
    """Return why a need is not met here, beginning with its name; or nothing.

    Raises:
        KeyError: no such need is known.
    """
    if need in FRAMEWORKS:
        return "" if _can_import(FRAMEWORKS[need]) else f"{need}: not installed, tests/long/frameworks.py runs these"
    if need == "root":
        return "" if _is_root() else "root: only root may do this"
    if need in PACKAGES and not _is_here(need):
        return f"{need}: not installed"
    if need in PACKAGES and need not in _TRIALS:
        return ""
    command = _TRIALS[need]
    if shutil.which(command[0]) is None:
        return f"{need}: not on this system"
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (tried.stderr.strip().splitlines() or [f"exit {tried.returncode}"])[-1]
    return f"{need}: not allowed here ({said})" if tried.returncode else ""


def fix(programs: list[str]) -> str:
    """Return the line that installs programs, or what to say where Debian's tools are not."""
    packages = " ".join(sorted({PACKAGES[program] for program in programs}))
    if shutil.which("apt-get"):
        return f"{'' if _is_root() else 'sudo '}apt-get install {packages}"
    return f"install what Debian calls {packages} by the package manager of this system"


if __name__ == "__main__":
    print(*sorted({PACKAGES[program] for program in PACKAGES if not _is_here(program)}), sep="\n", end="")
