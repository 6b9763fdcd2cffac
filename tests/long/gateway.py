"""Servers behind bursar that are broken or mean harm: faults, results of all kinds, changed definitions, and ends.

python tests/long/gateway.py [ROUNDS of faults, default 40] [RESULTS, default 10000] [ENDS, default 1000]
"""

import asyncio
import base64
import collections
import hashlib
import json
import os
import random
import secrets
import signal
import string
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import marked
from bursar.budget import tokens
from bursar.gateway import children
from bursar.gateway.definition import Definition, loosened
from bursar.server import log
from bursar.server.bootstrap import open_dispatcher
from bursar.server.config import Settings
from wire import Client

STUB = str(Path(__file__).resolve().parents[1] / "support" / "mcp_stub.py")
FAULTS = (
    "exit", "kill", "half", "silence", "noise", "unknown id", "twice", "surrogate", "no result", "error", "bad utf-8",
    "deep", "storm", "grandchild", "a line that never ends", "late", "words", "progress", "requests", "closed output",
    "stopped", "deaf", "long noise", "long no JSON", "empty", "content is a text", "blocks are texts",
    "a text is a number", "an error without a reason", "an error that is a text", "result and error", "broken base64",
    "no picture", "many blocks", "flood",
)  # fmt: skip
TIMEOUT_S = 2.0


def entry(mark="", **own):
    return {"command": sys.executable, "args": [STUB], "env": {"MARK": mark}, "bursar": {"show": "compact", **own}}


def configured(place, servers):
    """Return the settings of a server with others behind it."""
    root, file = Path(place, "root"), Path(place, "mcp.json")
    root.mkdir()
    file.write_text(json.dumps({"mcpServers": servers}))
    return Settings(root=(root,), data_dir=Path(place, "data"), mcp=(file,))


@asynccontextmanager
async def behind(servers):
    """Yield a choke point with servers behind it, and a client."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as place:
        async with open_dispatcher(configured(place, servers)) as dispatcher:
            client = dispatcher.client("proof")
            yield dispatcher, replace(client, ceiling=replace(client.ceiling, patience_s=60.0))


async def faults(rounds):
    """Have each fault happen, and see that the next call works and nothing hangs."""
    children._DEATHS_WITHIN_S = 0.0  # a server that keeps ending would be left alone, which is tried elsewhere
    outcomes, longest, failed = collections.Counter(), 0.0, 0
    async with behind({"stub": entry(timeoutS=TIMEOUT_S)}) as (dispatcher, client):
        for round_ in range(rounds):
            for how in FAULTS:
                began = time.monotonic()
                arguments = {"tool": "stub.fault", "arguments": {"how": how}}
                answer = await dispatcher.answer("call_tool", arguments, client)
                outcomes[how, answer.code or "ok"] += 1
                if answer.code in ("internal_error", "timeout") or len(answer.text.encode()) > 8192:
                    failed += 1
                    print(f"!! {how}: {answer.text[:300]}")
                took = time.monotonic() - began
                longest = max(longest, took)
                for _ in range(3):
                    again = await dispatcher.answer(
                        "call_tool", {"tool": "stub.say", "arguments": {"text": str(round_)}}, client
                    )
                    if not again.is_error:
                        break
                else:
                    failed += 1
                    print(f"!! after {how}: {again.text[:300]}")
    for (how, code), count in sorted(outcomes.items()):
        print(f"  {how:28} {code:20} {count}")
    print(f"{rounds} x {len(FAULTS)} faults: {failed} failed, the longest took {longest:.1f} s\n", flush=True)
    return failed


def random_text(chance):
    """Return a text of any length and script."""
    alphabet = chance.choice(
        [string.printable, "äöü漢字كلمة😀", "\x00\x1b[31m\u202e", '{"a":[1,2]}', "line of words\n"]
    )
    return "".join(chance.choices(alphabet, k=int(10 ** chance.uniform(0, 4.5))))


def random_block(chance):
    data = base64.b64encode(chance.randbytes(int(10 ** chance.uniform(0, 4)))).decode()
    return chance.choice(
        [
            {"type": "text", "text": random_text(chance)},
            {"type": "image", "data": data, "mimeType": "image/png"},
            {"type": "audio", "data": data, "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": random_text(chance)[:300], "text": random_text(chance)}},
            {"type": "resource", "resource": {"uri": "x://1", "blob": data, "mimeType": random_text(chance)[:50]}},
            {"type": "resource_link", "uri": random_text(chance)[:2000], "name": random_text(chance)[:100]},
            {"type": random_text(chance)[:30], "what": random_text(chance)},
        ]
    )


async def results(count):
    """Send results of every kind; see that replies keep their bounds, and that contents are kept byte for byte."""
    chance, failed, bytes_, kept = random.Random(7), 0, 0, 0
    async with behind({"stub": entry()}) as (dispatcher, client):
        for number in range(count):
            blocks = [random_block(chance) for _ in range(chance.choice([1, 1, 1, 2, 3, 8]))]
            result = {"content": blocks, "isError": chance.random() < 0.05}
            if chance.random() < 0.2:
                result["structuredContent"] = {
                    "rows": [random_text(chance)[:200] for _ in range(chance.randint(0, 50))]
                }
            arguments = {"tool": "stub.send", "arguments": {"result": result}}
            answer = await dispatcher.answer("call_tool", arguments, client)
            size, cost = len(answer.text.encode()), tokens.count(answer.text)
            if size > 8192 or cost > 2000 or answer.code in ("internal_error", "timeout"):
                failed += 1
                print(f"!! {number}: {size} bytes, {cost} tokens: {answer.text[:300]}")
            if not result["isError"]:
                session = next(iter(dispatcher.store.root.glob("[a-z2-7]" * 12)))
                texts = [block["text"] for block in blocks if block["type"] == "text"]
                wanted = ["\n".join(texts)] if texts else []
                wanted += [b["resource"]["text"] for b in blocks if b["type"] == "resource" and "text" in b["resource"]]
                blobs = [base64.b64decode(b["data"]) for b in blocks if b["type"] in ("image", "audio")]
                sums = {hashlib.sha256(path.read_bytes()).hexdigest() for path in newest(session)}
                for content in [*(text.encode() for text in wanted), *blobs]:
                    bytes_ += len(content)
                    if hashlib.sha256(content).hexdigest() in sums:
                        kept += 1
                    else:
                        failed += 1
                        print(f"!! {number}: {len(content)} bytes are not kept as sent: {content[:80]}")
            if number % 1000 == 999:
                print(f"  {number + 1} results", flush=True)
    print(f"{count} results: {failed} failed; {kept:,} contents, {bytes_:,} bytes kept as sent\n", flush=True)
    return failed


def newest(session):
    """Return the files that the last call stored, and some before."""
    files = [path for path in session.glob("a*") if not path.name.endswith(".json") or "-" in path.name]
    files.sort(key=lambda path: int(path.name.partition("-")[0].partition(".")[0][1:] or 0))
    return [path for path in files if "-" in path.name][-24:]


def definitions(count):
    """Change definitions at random: wording alone refuses nothing, what is loosened is refused."""
    chance, failed = random.Random(3), 0
    before = {
        "name": "read",
        "description": "Reads a file.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }
    approved = Definition.of(before)
    for _ in range(count):
        changed = json.loads(json.dumps(before))
        kind = chance.choice(["words", "order", "more", "annotation", "world", "hidden"])
        if kind == "words":
            changed["description"] = random_text(chance)
            changed["inputSchema"]["properties"]["path"]["description"] = random_text(chance)
        elif kind == "order":
            changed = dict(reversed(changed.items()))
        elif kind == "more":
            name = random_text(chance)[:20] or "x"
            changed["inputSchema"]["properties"][name] = {"type": "string"}
            changed["inputSchema"]["required"].append(name)
        elif kind == "annotation":
            changed["annotations"]["readOnlyHint"] = False
        elif kind == "world":
            changed["annotations"]["openWorldHint"] = True
        else:
            changed["name"] = "read" + chance.choice("\u200b\u202e\U000e0041")
        live = Definition.of(changed)
        is_refused = live is None or bool(loosened(approved, live))
        if is_refused != (kind in ("more", "annotation", "world", "hidden")):
            failed += 1
            print(f"!! {kind}: {'refused' if is_refused else 'let through'}: {changed}")
    print(f"{count} changed definitions: {failed} judged wrongly\n", flush=True)
    return failed


WAYS = ("end of input", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL", "killed group")


def ends(count):
    """End bursar in six ways while a server and what it started run; count what is left of them."""
    left = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as place:
        for number in range(count):
            mark, way = secrets.token_hex(16), WAYS[number % len(WAYS)]
            file = Path(place, "mcp.json")
            file.write_text(json.dumps({"mcpServers": {"stub": entry(mark)}}))
            command = [
                sys.executable,
                "-m",
                "bursar",
                "--root",
                place,
                "--data-dir",
                f"{place}/data",
                "--mcp",
                str(file),
            ]
            client = Client(command, cwd=place, start_new_session=True)
            client.handshake()
            client.call("call_tool", tool="stub.fault", arguments={"how": "grandchild"})
            if way == "end of input":
                client.process.stdin.close()
            elif way == "killed group":
                os.killpg(client.process.pid, signal.SIGKILL)
            else:
                os.kill(client.process.pid, getattr(signal, way))
            client.process.wait(10)
            until = time.monotonic() + 5
            while (held := marked.holding(mark)) and time.monotonic() < until:
                time.sleep(0.02)
            if held:
                left += len(held)
                print(f"!! {way}: {held} are left")
            client.process.stdout.close()
    print(f"{count} ends in {len(WAYS)} ways: {left} processes left", flush=True)
    return left


def main():
    given = [int(word) for word in sys.argv[1:]]
    rounds, count, many = [*given, *(40, 10_000, 1000)[len(given) :]]
    log.mute()
    failed = asyncio.run(faults(rounds)) if rounds else 0
    failed += asyncio.run(results(count)) if count else 0
    failed += definitions(1000)
    failed += ends(many) if many else 0
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
