"""A server to put behind another: says and does whatever a test needs, over standard input and output; plain Python.

python mcp_stub.py [old|modern|silent|listless] [PATH of tools as JSON]
"""

import base64
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "old"
TOOLS = sys.argv[2] if len(sys.argv) > 2 else ""

RESULTS = {
    "empty": {"result": {}},
    "content is a text": {"result": {"content": "text"}},
    "blocks are texts": {"result": {"content": ["a", None, 3, []]}},
    "a text is a number": {"result": {"content": [{"type": "text", "text": 3}, {"type": "text"}]}},
    "an error without a reason": {"result": {"content": [], "isError": True}},
    "an error that is a text": {"error": "no"},
    "result and error": {"result": {"content": []}, "error": {"code": 1, "message": "both"}},
    "broken base64": {"result": {"content": [{"type": "image", "data": "!!!not base64", "mimeType": "image/png"}]}},
    "no picture": {"result": {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}},
    "many blocks": {"result": {"content": [{"type": "resource_link", "uri": f"x://{at}"} for at in range(5000)]}},
}
LONG = "é" * 700_000
LONG_RESULTS = {
    "long links": {"result": {"content": [{"type": "resource_link", "uri": "x://" + LONG, "name": "n"}]}},
    "long other": {"result": {"content": [{"type": "strange", "data": 'say "' + LONG, "more": [LONG, 1]}]}},
    "long error": {"error": {"code": -1, "message": "it was " + LONG, "data": {"why": LONG}}},
    "long question": {"result": {"inputRequests": {"a": {"params": {"message": "who is " + LONG}}}}},
}
STATE = {"count": 0}
LOCK = threading.Lock()
CANCELLED: set = set()


def tool(name, properties=None, required=(), read_only=None, description=""):
    told = {
        "name": name,
        "description": description or f"Does {name}.",
        "inputSchema": {"type": "object", "properties": properties or {}, "required": list(required)},
    }
    if read_only is not None:
        told["annotations"] = {"readOnlyHint": read_only}
    return told


def tools():
    if TOOLS:
        with open(TOOLS) as file:
            return json.load(file)
    return [
        tool("say", {"text": {"type": "string"}, "times": {"type": "integer", "default": 1}}, ["text"], read_only=True),
        tool("count", read_only=False, description="Counts its calls. What it counts is kept in memory."),
        tool("send", {"result": {"type": "object"}}, ["result"]),
        tool("big", {"bytes": {"type": "integer"}, "kind": {"enum": ["text", "structured", "lines"]}}, ["bytes"]),
        tool("wait", {"seconds": {"type": "number"}, "text": {"type": "string"}}, ["seconds"]),
        tool("fault", {"how": {"type": "string"}}, ["how"]),
        tool("environment"),
        tool("read", {"path": {"type": "string"}}, ["path"]),
        tool("ask", {"method": {"type": "string"}}, ["method"]),
        tool("run", {"command": {"type": "string"}}, ["command"]),
    ]


def write(text):
    with LOCK:
        sys.stdout.write(text)
        sys.stdout.flush()


def send(message):
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def answer(number, text):
    send({"id": number, "result": {"content": [{"type": "text", "text": text}]}})


def ran(command):
    words = ["bash", "-c", command]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            printed = process.communicate(timeout=10)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            printed = process.communicate()[0]
    return printed.decode("utf-8", "replace")


def begun(number):
    return f'{{"jsonrpc":"2.0","id":{number},"result":'


def big(number, size, kind):
    head = begun(number)
    if kind == "structured":
        rows = [{"id": at, "name": f"row {at}"} for at in range(size // 30)]
        write(head + json.dumps({"content": [], "structuredContent": {"rows": rows}}) + "}\n")
        return
    line = "2026-07-01T00:00:00Z INFO [worker] a line of text\\n" if kind == "lines" else "x"
    with LOCK:
        sys.stdout.write(head + '{"content":[{"type":"text","text":"')
        block = line * (100_000 // len(line))
        for _ in range(size // (len(block) - block.count("\\"))):
            sys.stdout.write(block)
        sys.stdout.write('"}]}}\n')
        sys.stdout.flush()


def wait(number, given, token):
    for step in range(int(given["seconds"] * 20)):
        time.sleep(0.05)
        if number in CANCELLED:
            return
        if token is not None:
            progress = {"progressToken": token, "progress": step, "total": given["seconds"] * 20, "message": "steps"}
            send({"method": "notifications/progress", "params": progress})
    answer(number, given.get("text", "waited"))


def fault(number, how):
    if how == "exit":
        sys.stderr.write("I am leaving, for a reason\n")
        os._exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "late half":
        time.sleep(2)
    if how in ("half", "late half"):
        write(begun(number) + '{"content":[{"type":"text","text":"half of')
        os._exit(1)
    if how == "silence":
        return
    if how == "noise":
        write("this is no JSON\n\n[1,2]\n" + "y" * 100_000 + "\n")
    if how == "unknown id":
        send({"id": 987654, "result": {}})
        send({"id": "abc", "result": {}})
    if how == "twice":
        answer(number, "first")
    if how == "surrogate":
        write(begun(number) + '{"content":[{"type":"text","text":"a\\ud800b"}]}}\n')
        return
    if how == "no result":
        send({"id": number, "result": None})
        return
    if how == "error":
        send({"id": number, "error": {"code": -32000, "message": "it went wrong"}})
        return
    if how == "bad utf-8":
        sys.stdout.buffer.write(begun(number).encode() + b'{"content":[{"type":"text","text":"a\xffb"}]}}\n')
        sys.stdout.buffer.flush()
        return
    if how == "deep":
        write(begun(number) + "[" * 100_000 + "1" + "]" * 100_000 + "}\n")
    if how.startswith("nested "):
        depth = int(how.removeprefix("nested "))
        told = "[" * depth + "1" + "]" * depth
        content = '[{"type":"text","text":"' + told + '"}]'
        write(begun(number) + '{"content":' + content + ',"structuredContent":{"a":' + told + "}}}\n")
        return
    if how == "storm":
        for _ in range(3000):
            send({"method": "notifications/tools/list_changed"})
    if how == "a line that never ends":
        write(begun(number))
        return
    if how == "late":
        time.sleep(3)
    if how == "words":
        sys.stderr.write("words " * 500_000 + "\n")
    if how == "secret words":
        sys.stderr.write("x" * 65530 + os.environ["TOKEN"] + "\n")
        sys.stderr.flush()
    if how == "progress":
        for at in range(3000):
            send({"method": "notifications/progress", "params": {"progressToken": at, "progress": "x", "total": []}})
    if how == "flood":
        until = time.monotonic() + 5
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 20}}) + "\n"
        while time.monotonic() < until:
            write(line * 1000)
            sys.stderr.write("words\n" * 1000)
    if how == "requests":
        for at in range(300):
            send({"id": f"r{at}", "method": "sampling/createMessage", "params": {"messages": at}})
    if how in RESULTS or how in LONG_RESULTS:
        send({"id": number, **(RESULTS | LONG_RESULTS)[how]})
        return
    if how == "number as text":
        send({"id": str(number), "result": {"content": [{"type": "text", "text": "after all"}]}})
        return
    if how == "mark of byte order":
        write("\ufeff")
    if how == "closed output":
        os.close(1)
        time.sleep(1000)
    if how == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if how == "deaf":
        time.sleep(1000)
    if how == "long noise":
        write("z" * 5_000_000 + "\n")
    if how == "long no JSON":
        write(begun(number) + '"' + "z" * 5_000_000 + "\n")
        return
    if how == "grandchild" and os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    answer(number, "after all")


def call(number, params):
    name, given = params["name"], params.get("arguments") or {}
    token = (params.get("_meta") or {}).get("progressToken")
    if name == "say":
        answer(number, given["text"] * given.get("times", 1))
    elif name == "count":
        STATE["count"] += 1
        answer(number, str(STATE["count"]))
    elif name == "send":
        send({"id": number, "result": given["result"]})
    elif name == "big":
        big(number, given["bytes"], given.get("kind", "text"))
    elif name == "wait":
        threading.Thread(target=wait, args=(number, given, token), daemon=True).start()
    elif name == "fault":
        fault(number, given["how"])
    elif name == "environment":
        answer(number, json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid()}))
    elif name == "read":
        try:
            with open(given["path"]) as file:
                answer(number, file.read())
        except OSError as error:
            answer(number, f"{type(error).__name__}: {error}")
    elif name == "run":
        answer(number, ran(given["command"]))
    elif name == "ask":
        STATE["asked"] = number
        send({"id": "mine", "method": given["method"], "params": {}})
    else:
        send({"id": number, "error": {"code": -32602, "message": f"no tool {name}"}})


def main():
    for line in sys.stdin:
        message = json.loads(line)
        method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
        if number == "mine":
            answer(STATE["asked"], json.dumps(message))
        elif method == "server/discover":
            if MODE == "modern":
                send({"id": number, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}})
            elif MODE == "silent":
                pass
            else:
                send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
        elif method == "initialize":
            if MODE == "modern":
                send({"id": number, "error": {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}}})
            else:
                about = {"name": "stub", "version": "1"}
                result = {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": about,
                }
                send({"id": number, "result": result})
        elif method == "tools/list" and MODE == "listless":
            pass
        elif method == "tools/list":
            send({"id": number, "result": {"tools": tools()}})
        elif method == "resources/read":
            blob = base64.b64encode(b"\x00\x01").decode()
            send({"id": number, "result": {"contents": [{"uri": params["uri"], "blob": blob}]}})
        elif method == "tools/call":
            call(number, params)
        elif method == "notifications/cancelled":
            CANCELLED.add(params.get("requestId"))
        elif number is not None and method:
            send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


random.seed(1)
main()
