# /// script
# requires-python = ">=3.11"
# ///
"""Format, lint, types, arrows and tests, against a wheel of this checkout and exactly the pinned dependencies.

uv run tests/run.py [PYTEST ARGUMENTS]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-test"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / "python"
TESTS_AT_ONCE = 1 + len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
"""One more than there are processors: many tests wait."""


def begin(name, command, environment, output=None):
    words = [str(BIN / command[0]), *map(str, command[1:])]
    return name, subprocess.Popen(words, cwd=ROOT, env=environment, stdout=output, stderr=output and subprocess.STDOUT)


def has_failed(name, process):
    """Wait for a step and tell how it went, with what it said if that was kept and is of interest."""
    said, _ = process.communicate()
    if said and process.returncode:
        print(said.decode(errors="replace"), end="")
    outcome = f"FAILED ({process.returncode})" if process.returncode else "ok"
    print(f"--- {name}: {outcome}", flush=True)
    return process.returncode != 0


def install():
    with tempfile.TemporaryDirectory() as wheels:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        steps = [
            ["uv", "venv", "--quiet", "--clear", "--python", version, VENV],
            ["uv", "pip", "sync", "--quiet", "--python", PYTHON, "--require-hashes", "requirements.lock"],
            ["uv", "build", "--quiet", "--wheel", "--out-dir", wheels],
        ]
        for step in steps:
            subprocess.run([str(word) for word in step], cwd=ROOT, check=True)
        wheel = next(Path(wheels).glob("*.whl"))
        subprocess.run(
            ["uv", "pip", "install", "--quiet", "--python", PYTHON, "--no-deps", "--reinstall", wheel],
            cwd=ROOT,
            check=True,
        )
    # Left behind by the build; with it in the tree a stale copy could be linted or imported.
    shutil.rmtree(ROOT / "build", ignore_errors=True)


def main():
    started = time.monotonic()
    install()
    print(f"--- install: ok, {time.monotonic() - started:.1f} s", flush=True)
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(VENV)}
    # Otherwise each of the many processes that tests start would compile all that it imports.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    # Of its own: pytest clears away what earlier runs left in the common place, and fails where it cannot.
    place = tempfile.mkdtemp(prefix="bursar-tests-")
    tests = ["python", "-m", "pytest", "--basetemp", f"{place}/t", "--numprocesses", TESTS_AT_ONCE]
    tests += ["--dist", "worksteal", *sys.argv[1:]]
    beside = {
        "format": ["ruff", "format", "--check", "."],
        "lint": ["ruff", "check", "."],
        "types": ["python", "-m", "pyright", "--pythonpath", BIN / "python"],
        "arrows": ["lint-imports"],
    }
    steps = [begin("tests", tests, environment)]
    steps += [begin(name, command, environment, subprocess.PIPE) for name, command in beside.items()]
    failed = [step[0] for step in steps if has_failed(*step)]
    if not failed:
        subprocess.run(["rm", "-rf", place], check=False)
    outcome = f"failed: {', '.join(failed)}" if failed else "all is well"
    print(f"{outcome}, {time.monotonic() - started:.0f} s")
    sys.exit(bool(failed))


main()
