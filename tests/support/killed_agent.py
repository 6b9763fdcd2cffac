"""An agent as a stranger writes it, killed again and again in front of a strict provider over HTTP."""

import json
import random
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bursar.budget import tokens
from looping_agent import WINDOW
from strict_provider import rejected, texts

AGENT = Path(__file__).parent / "looping_agent.py"
TURNS = 40


class Provider:
    """Calls a tool until it has forty results, follows a pointer, ends; refuses what is not valid or too long."""

    def __init__(self, form):
        self.form, self.sent, self.refused, self.found = form, [], [], ""
        self.grew = threading.Event()

    def answer(self, body):
        messages = body["input"] if self.form == "responses" else body["messages"]
        size = tokens.count("\n".join(texts(body)))
        if fault := rejected(self.form, messages):
            self.refused.append(fault)
            return 400, {"error": {"type": "invalid_request_error", "message": fault}}
        if size > WINDOW:
            return 400, {"error": {"type": "invalid_request_error", "message": f"prompt is too long: {size} tokens"}}
        self.sent.append(messages)
        self.grew.set()
        text = "\n".join(texts(messages)).replace("\\", "")
        turn = len(self.sent)
        calls, said = [], "Done."
        if turn <= TURNS:
            calls = [("bash", {"command": f"make a{turn}"}), ("bash", {"command": f"make b{turn}"})]
        elif "read_artifact" in str(messages[-2]) and "says no" in (last := "\n".join(texts(messages[-1]))):
            self.found = last
        else:
            named = re.findall(r'read_artifact\(artifact="(ses_[^"]+)"', text)
            calls = [("read_artifact", {"artifact": named[0]})]
        return 200, self.written(calls, said, size)

    def written(self, calls, said, size):
        made = [(f"c{len(self.sent)}_{place}", name, given) for place, (name, given) in enumerate(calls)]
        usage = {"input_tokens": size, "prompt_tokens": size}
        if self.form == "responses":
            output = [
                {"type": "function_call", "call_id": i, "name": n, "arguments": json.dumps(g)} for i, n, g in made
            ]
            last = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}
            return {"output": output or [last], "usage": usage}
        if self.form == "anthropic":
            blocks = [{"type": "tool_use", "id": i, "name": n, "input": g} for i, n, g in made]
            return {"content": blocks or [{"type": "text", "text": said}], "usage": usage}
        listed = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(g)}} for i, n, g in made
        ]
        message = {"role": "assistant", "content": None if made else said} | ({"tool_calls": listed} if made else {})
        return {"choices": [{"message": message}], "usage": usage}


@contextmanager
def serving(provider):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = provider.answer(body)
            data = json.dumps(answer).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:  # whoever asked was killed
                return

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def prove(form, kills, folder, seed=0):
    """Kill an agent so many times; all that it sends is valid, it forgets nothing, repeats nothing, and ends."""
    provider, chance = Provider(form), random.Random(seed)
    with serving(provider) as url:
        command = [sys.executable, str(AGENT), url, form, str(folder)]
        for _ in range(kills):
            provider.grew.clear()
            agent = subprocess.Popen(command)
            while not provider.grew.wait(0.05) and agent.poll() is None:
                pass
            time.sleep(chance.random() * 0.05)
            agent.kill()
            agent.wait()
        subprocess.run(command, check=True, timeout=60)
    assert provider.refused == []
    assert all("Why is it red?" in "\n".join(texts(messages)) for messages in provider.sent)
    effects = (folder / "effects").read_text().splitlines()
    assert len(effects) == len(set(effects))
    assert "says no" in provider.found
    history = (folder / "talk.jsonl").read_text().splitlines()
    assert sum("Verify before repeating" in line for line in history) <= 2 * kills
    assert tokens.count("\n".join(texts(provider.sent[-1]))) <= WINDOW
    return len(provider.sent)
