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


def run(name, command, **options):
    print(f"--- {name}", flush=True)
    started = time.monotonic()
    code = subprocess.run([str(word) for word in command], cwd=ROOT, check=False, **options).returncode
    print(f"--- {name}: {'ok' if code == 0 else f'FAILED ({code})'}, {time.monotonic() - started:.1f} s", flush=True)
    return code


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
    install()
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(VENV)}
    failed = [
        name
        for name, command in {
            "format": ["ruff", "format", "--check", "."],
            "lint": ["ruff", "check", "."],
            "types": [PYTHON, "-m", "pyright", "--pythonpath", PYTHON],
            "arrows": ["lint-imports"],
            "tests": [PYTHON, "-m", "pytest", *sys.argv[1:]],
        }.items()
        if run(name, [BIN / command[0] if command[0] != PYTHON else PYTHON, *command[1:]], env=environment)
    ]
    print(f"failed: {', '.join(failed)}" if failed else "all is well")
    sys.exit(bool(failed))


main()
