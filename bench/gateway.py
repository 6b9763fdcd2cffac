"""Servers behind bursar: what a call, a list, a start and a long result cost beside the same without it.

python bench/gateway.py [--npm DIR] [--catalogue FILE...] [--questions FILE] [--sessions FILE]

DIR is where `npm i @modelcontextprotocol/server-everything …` was run; without it calls are of the tests' stub alone.
A catalogue is a list of tools as JSON (name or tool, description, inputSchema or schema, server), to make lists of.
Tokens are those of o200k. Milliseconds are of this machine; read the ratios.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import inputs
from bursar.budget import tokens
from bursar.gateway.definition import Definition
from bursar.gateway.find import Finder
from bursar.gateway.gateway import pinned
from bursar.gateway.pins import Pins
from bursar.gateway.present import Offered, presented
from bursar.gateway.signature import in_line, sentence, signature
from bursar.gateway.tools import CallReadTool, CallTool, FindTool, gateway_tools
from bursar.gateway.upstream import Upstream, load
from bursar.server.offer import as_listed
from bursar.tools import tools as own_tools
from processes import family, pss_mib
from wire import Client

STUB = [sys.executable, str(Path(__file__).resolve().parents[1] / "tests" / "support" / "mcp_stub.py")]
MIB = 1 << 20
CACHED, OUTPUT = 0.1, 5
"""What cached and written tokens cost, in fresh ones."""

FRESH_OF_A_TURN, SAID_IN_A_TURN = 100, 60


def row(what, measured, target):
    print(f"| {what} | {measured} | {target} |", flush=True)


@contextmanager
def bursar(place, servers=None, *options):
    """Start bursar with servers behind it."""
    words = [sys.executable, "-m", "bursar", "--root", str(place), "--data-dir", str(place / "data"), *options]
    if servers:
        file = place / "mcp.json"
        file.write_text(json.dumps({"mcpServers": servers}))
        words += ["--mcp", str(file)]
    client = Client(words, cwd=place)
    try:
        client.handshake()
        yield client
    finally:
        client.close()


def entry(*words, **own):
    return {"command": STUB[0], "args": [STUB[1], *words], **own}


def calls(place, everything, rounds):
    """Time a small call, direct and through bursar, in turns."""
    command = [everything] if everything else STUB
    tool, given = ("echo", {"message": "hello"}) if everything else ("say", {"text": "hello"})
    servers = {"it": {"command": command[0], "args": command[1:]}}
    direct = Client(command)
    direct.handshake()
    with bursar(place, servers, "--mcp-tokens", "1") as client:
        through = partial(client.call, "call_tool", tool=f"it.{tool}", arguments=given)
        straight = partial(direct.call, tool, **given)
        took = {through: [], straight: []}
        for _ in range(20 + rounds):
            for each, times in took.items():
                started = time.perf_counter()
                each()
                times.append((time.perf_counter() - started) * 1000)
        text = through()[0]
    direct.kill()
    p50 = {each: statistics.median(values[20:]) for each, values in took.items()}
    p95 = {each: statistics.quantiles(values[20:], n=20)[18] for each, values in took.items()}
    shown = f"{p50[straight]:.2f} direct, +{p50[through] - p50[straight]:.2f}; p95 +{p95[through] - p95[straight]:.2f}"
    row(f"small call of {'server-everything' if everything else 'the stub'}, ms", shown, "+0.8; p95 +2")
    wrapping = tokens.count(text) - tokens.count("Echo: hello" if everything else "hello")
    row("wrapping of a small result, tokens", wrapping, "30")


def long_results(place):
    """Time long results, and watch the memory."""
    direct = Client(STUB)
    direct.handshake()
    with bursar(place, {"it": entry()}, "--mcp-tokens", "1") as client:
        client.call("call_tool", tool="it.say", arguments={"text": "up"})
        client.call("call_tool", tool="it.big", arguments={"bytes": 3 * MIB})
        for size in (50, 256):
            for kind in ("text", "lines", "structured"):
                if size == 256 and kind != "lines":
                    continue
                before = client.forget_peak()
                wanted = (250 if size == 256 else size) * MIB
                text, failed, took = client.call("call_tool", tool="it.big", arguments={"bytes": wanted, "kind": kind})
                assert not failed, text
                while '"state":"running"' in text:
                    reference = client.artifact_of(text)
                    text, failed, more = client.call("read_artifact", artifact=reference, wait_s=60)
                    took += more
                peak = client.memory("VmHWM") - before
                started = time.perf_counter()
                direct.request("tools/call", {"name": "big", "arguments": {"bytes": wanted, "kind": kind}})
                alone = time.perf_counter() - started
                target = "2 s, +16 MiB" if size == 50 else "10 s, +16 MiB"
                row(f"{size} MiB of {kind}", f"{took:.2f} s (direct {alone:.2f}), +{peak:.0f} MiB", target)
    direct.kill()


def needles(place):
    """Have large inputs come from a server behind, and look for what is in the middle of each."""
    made = {
        "log": inputs.log,
        "source": inputs.source,
        "JSON in one line": inputs.one_line_json,
        "minified": inputs.minified,
        "Chinese": inputs.chinese,
    }
    seen, by_grep, at_once = [], [], []
    pattern = inputs.NEEDLE.replace("-", "[-_]")
    with bursar(place, {"it": entry(bursar={"timeoutS": 60})}, "--mcp-tokens", "0") as client:
        for name, make in made.items():
            path = place / name.replace(" ", "-")
            make(path)
            given = {"tool": "it.read", "arguments": {"path": str(path)}}
            text = client.call("call_tool", **given, grep=pattern)[0]
            at_once.append(found_in(text))
            text = client.call("call_tool", **given)[0]
            seen.append(found_in(text))
            by_grep.append(found_in(client.call("read_artifact", artifact=client.artifact_of(text), grep=pattern)[0]))
    count = len(made)
    row(
        f"needles in {count} inputs",
        f"{sum(seen)} in sight, {sum(by_grep)} by one grep, {sum(at_once)} in one call",
        "all",
    )


def found_in(text):
    return inputs.NEEDLE in text or inputs.NEEDLE.replace("-", "_") in text


def catalogues(files):
    """Return the servers of catalogues, with their tools as their servers would send them."""
    servers = {}
    for file in files:
        told = json.loads(Path(file).read_text())
        for one in told["tools"] if isinstance(told, dict) else told:
            definition = {
                "name": one.get("tool") or one["name"],
                "description": one.get("description") or "",
                "inputSchema": one.get("inputSchema") or one.get("schema") or {"type": "object"},
            }
            servers.setdefault(one.get("server", "all").replace(".", "-")[:32], []).append(definition)
    return servers


class Shown:
    """Stands for a gateway in the making of a list."""

    def __init__(self, offered, most):
        self.presentation = presented(offered, most)


def listed_tokens(tools):
    """Count what a model is given of a list."""
    told = [{key: one[key] for key in ("name", "description", "inputSchema")} for one in as_listed(tools)]
    return tokens.count(json.dumps(told, ensure_ascii=False, separators=(",", ":")))


def lists(servers):
    """Count what lists of tools cost."""
    everything = [(server, tool) for server, tools in servers.items() for tool in tools]
    own = own_tools(0)

    def cost(chosen):
        grouped = {}
        for server, tool in chosen:
            grouped.setdefault(server, []).append(tool)
        offered = [
            Offered(upstream := Upstream(server, ("x",), show="compact"), pinned(upstream, tools))
            for server, tools in grouped.items()
        ]
        shown = Shown(offered, 1)
        added = listed_tokens(gateway_tools(shown))
        full = tokens.count(json.dumps([tool for _, tool in chosen], ensure_ascii=False, separators=(",", ":")))
        both = listed_tokens([*own, *gateway_tools(shown)])
        return added, both, full, shown.presentation.level

    for seed in (1, 2, 3):
        if len(everything) >= 100:
            added, both, full, level = cost(random.Random(seed).sample(everything, 100))
            row(
                f"100 tools, sample {seed}",
                f"{added} as {level} ({full:,} in full), {both} with bursar's",
                "650; 1,800",
            )
    added, both, full, level = cost(everything)
    row(f"all {len(everything)} tools", f"{added} as {level} ({full:,} in full)", "780 for 160, 520 for 527")
    fixed = listed_tokens([FindTool(None), CallTool(None, None), CallReadTool(None, None)])
    row("the three tools alone", fixed, "212")


def signatures(servers):
    """Look at how much signatures leave out."""
    made = [Definition.of(tool) for tools in servers.values() for tool in tools]
    made = [one for one in made if one is not None]
    written = [signature(one) for one in made]
    named = sum(all(name in shown.text for name in one.required) for one, shown in zip(made, written, strict=True))
    row("signatures that name every required argument", f"{named} of {len(made)}", "all")
    lossy = sum(shown.is_lossy for shown in written)
    row("signatures that leave something out", f"{lossy} of {len(made)} ({100 * lossy / len(made):.1f} %)", "10 %")


def found(servers, questions):
    """Time searching, and count what a reply costs."""
    finder = Finder({server: [d for d in map(Definition.of, tools) if d] for server, tools in servers.items()})
    queries = [sentence(Definition.of(tool)) for tools in servers.values() for tool in tools[:3]][:100]
    took, sizes = [], []
    for query in queries:
        started = time.perf_counter()
        hits = finder.find(query, 12)
        took.append((time.perf_counter() - started) * 1000)
        lines = [in_line(hit.definition, f"{hit.server}.{hit.definition.name}") for hit in hits]
        sizes.append(tokens.count("\n".join(lines)))
    shown = f"mean {statistics.mean(sizes):.0f}, most {max(sizes)} tokens; {statistics.median(took):.1f} ms"
    row("find_tool, 12 hits", shown, "450, 750; 5 ms")
    if questions:
        asked = json.loads(Path(questions).read_text())
        hits = [[hit.definition.name for hit in finder.find(one["query"], 5)].count(one["tool"]) > 0 for one in asked]
        row(f"recall@5, {len(asked)} questions", f"{statistics.mean(hits):.3f}", "0.68; 0.70 unseen")


def starts(place, rounds):
    """Time the start to the answered list, with twelve servers and without, in turns."""
    servers = {f"server{n}": entry() for n in range(12)}
    file = place / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    for upstream in load([file]):
        tools = [{"name": f"t{n}", "description": "Does something of use.", "inputSchema": {}} for n in range(13)]
        Pins(place / "data" / "bursar" / ".gateway").keep(upstream, pinned(upstream, tools))
    took = {"without": [], "with": []}
    below, memory = [], {"without": [], "with": []}
    for _ in range(rounds):
        for name, behind in (("without", None), ("with", servers)):
            started = time.perf_counter()
            with bursar(place, behind) as client:
                client.tools()
                took[name].append(time.perf_counter() - started)
                time.sleep(0.3)
                memory[name].append(pss_mib(client.server))
                if behind:
                    below.append(sum("mcp_stub" in line(one) for one in family(client.process.pid)))
    ratio = statistics.median(took["with"]) / statistics.median(took["without"])
    row("start to answered list, 12 servers", f"{ratio:.2f} x, {max(below)} processes of them", "1.05 x, 0")
    more = (statistics.median(memory["with"]) - statistics.median(memory["without"])) / 12
    row("memory of an unused server, MiB", f"{more:.2f}", "0.2")


def line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def children(place):
    """Measure what bursar itself keeps for each server that runs."""
    names = [f"server{n}" for n in range(6)]
    with bursar(place, {name: entry() for name in names}, "--mcp-tokens", "1") as client:
        client.call("call_tool", tool="server0.say", arguments={"text": "a"})

        def own():
            all_of_it = pss_mib(client.process.pid)
            theirs = 0
            for one in family(client.process.pid):
                if "mcp_stub" in line(one):
                    theirs += pss_mib(one)
            return all_of_it - theirs

        before = own()
        for name in names[1:]:
            client.call("call_tool", tool=f"{name}.say", arguments={"text": "a"})
        row("memory for a running server beside its own, MiB", f"{(own() - before) / 5:.1f}", "1")


def turns(file):
    """Tell what one further turn costs in recorded sessions, in tokens of a list that is sent with every request."""
    worth, counts = [], []
    for line in Path(file).read_text().splitlines():
        usages = [message.get("usage") or {} for message in json.loads(line)["messages"]]
        prompts = [usage["prompt_tokens"] for usage in usages if usage.get("prompt_tokens")]
        if len(prompts) > 2:
            listed = 1 + CACHED * (len(prompts) - 1)
            turn = CACHED * statistics.mean(prompts) + FRESH_OF_A_TURN + OUTPUT * SAID_IN_A_TURN
            worth.append(turn / listed)
            counts.append(len(prompts))
    deciles = statistics.quantiles(worth, n=10)
    shown = f"{statistics.median(worth):.0f} tokens of a list ({deciles[0]:.0f} to {deciles[-1]:.0f})"
    row(f"one further turn, {len(worth)} sessions of {statistics.median(counts):.0f} requests", shown, "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npm", help="where server-everything was installed")
    parser.add_argument("--catalogue", nargs="*", default=[], help="lists of tools as JSON")
    parser.add_argument("--questions", help="a list of query and tool, as JSON")
    parser.add_argument("--sessions", help="recorded sessions with the usage of each request, a line each")
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    everything = f"{given.npm}/node_modules/.bin/mcp-server-everything" if given.npm else ""
    print("| what | measured | target |\n|---|---|---|")
    for part in (
        lambda place: calls(place, everything, given.rounds),
        lambda place: calls(place, "", given.rounds),
        long_results,
        needles,
        lambda place: starts(place, max(3, given.rounds // 20)),
        children,
    ):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp"), ignore_cleanup_errors=True) as place:
            part(Path(place))
    if given.sessions:
        turns(given.sessions)
    if given.catalogue:
        servers = catalogues(given.catalogue)
        lists(servers)
        signatures(servers)
        found(servers, given.questions)


if __name__ == "__main__":
    main()
