"""Python clients: each lists and calls every tool, over both transports, in an environment of its own.

python tests/long/clients.py [CLIENT ...]
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import everytool
from serving import serving

CLIENTS = Path(__file__).parent / "clients"
ROWS = [
    ("mcp 2.3.0", "mcp2", "2026-07-28"),
    ("mcp 2.3.0", "mcp2", "legacy"),
    ("mcp 1.30.0", "mcp1", "-"),
    ("fastmcp 4.1.2", "fastmcp4", "-"),
    ("pydantic-ai 2.68.0", "pydantic_ai_2", "-"),
    ("openai-agents 0.24.0", "openai_agents", "-"),
    ("langchain-mcp-adapters 0.3.2", "langchain", "-"),
]
TRANSPORTS = ("stdio", "http")
_TIME_MAX_S = 180


def play(script, plan):
    """Run one client; return what it reports, or why it could not."""
    command = ["uv", "run", "--quiet", "--no-project", "--script", str(CLIENTS / f"{script}.py")]
    done = subprocess.run(
        command, input=json.dumps(plan), capture_output=True, text=True, timeout=_TIME_MAX_S, check=False
    )
    if done.returncode:
        return {"tools": [], "replies": [], "fault": done.stderr[-1500:]}
    return json.loads(done.stdout.splitlines()[-1])


def row(script, era, transport, base, calls, offered):
    """Run one client over one transport; return (cells, faults)."""
    plan = base | {"transport": transport, "era": era, "calls": [[call.tool, call.arguments] for call in calls]}
    report = play(script, plan)
    faults = [report["fault"]] if "fault" in report else []
    cells = ["ok" if sorted(report["tools"]) == offered else f"{len(report['tools'])}/{len(offered)}"]
    for number, call in enumerate(calls):
        text, is_error, tries = (
            report["replies"][number] if number < len(report["replies"]) else ["not called", None, 1]
        )
        cells.append(("ok" if tries == 1 else "ok, 2nd try") if call.met(text, is_error) else "FAIL")
        if cells[-1] == "FAIL":
            faults.append(f"{call.label}: error={is_error} {text[:400]}")
    return cells, faults


def main():
    chosen = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as place, everytool.site() as address:
        options = everytool.prepare(Path(place), address)
        calls = everytool.wanted(address, everytool.earlier_artifact(options))
        offered = sorted({call.tool for call in calls})
        head = f"{'client':30}{'era':12}{'over':7}{'list':6}" + "".join(f"{call.label:16}" for call in calls)
        print(head)
        with serving([sys.executable, "-m", "bursar", "serve", "--http", "127.0.0.1:0", *options]) as url:
            token = (Path(place) / "data" / "bursar" / ".server" / "token").read_text().strip()
            base = {"command": sys.executable, "args": ["-m", "bursar", *options], "url": url, "token": token}
            for client, script, era in ROWS:
                for transport in TRANSPORTS if not chosen or script in chosen else ():
                    cells, faults = row(script, era, transport, base, calls, offered)
                    line = f"{client:30}{era:12}{transport:7}{cells[0]:6}" + "".join(f"{cell:16}" for cell in cells[1:])
                    passed = sum(cell.startswith("ok") for cell in cells)
                    print(line, f"{passed}/{len(cells)}", flush=True)
                    print("".join(f"    {fault}\n" for fault in faults), end="", flush=True)
                    failed += len(cells) - passed
    print(
        "all passed" if not failed else f"{failed} failed", f"(load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores)"
    )
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
