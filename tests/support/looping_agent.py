"""An agent as its user would write it: a loop over HTTP that goes on wherever it was killed.

python looping_agent.py URL FORM FOLDER
"""

import asyncio
import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

from bursar.history import Conversation, Limit

WINDOW = 12_000
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}


class RefusedError(Exception):
    def __init__(self, status, said):
        super().__init__(said)
        self.status_code = status


def post(url, body):
    data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"})) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        raise RefusedError(error.code, error.read().decode()) from None


def tool(form, name, field):
    schema = {"type": "object", "properties": {field: {"type": "string"}}}
    if form == "chat":
        return {"type": "function", "function": {"name": name, "parameters": schema}}
    if form == "responses":
        return {"type": "function", "name": name, "parameters": schema}
    return {"name": name, "input_schema": schema}


def run(talk, call, folder):
    given = json.loads(call.text)
    if call.name == "read_artifact":
        return asyncio.run(talk.shelf.read_artifact(**given))
    # An effect that must not happen twice.
    with (folder / "effects").open("a") as effects:
        effects.write(f"{given['command']}\n")
    size = 3000 if given["command"].endswith("7") else 60
    return "".join(f"{given['command']}: src/part_{line}.py says no\n" for line in range(size))


def main():
    url, form, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    talk = Conversation.open(folder / "talk.jsonl", form, Limit(tokens=WINDOW), data_dir=folder / "data")
    tools = [tool(form, "bash", "command"), tool(form, "read_artifact", "artifact")]
    if talk.is_answered:
        talk.say("Why is it red?")
    while True:
        for attempt in talk.attempts(system="Be brief.", tools=tools):
            with attempt:
                reply = post(url + PATHS[form], {"model": "m", **attempt.request})
        if form == "chat":
            messages = [choice["message"] for choice in reply["choices"]]
        elif form == "responses":
            messages = reply["output"]
        else:
            messages = [{"role": "assistant", "content": reply["content"]}]
        talk.add(*messages, usage=reply["usage"])
        if not talk.pending:
            return
        for call in talk.pending.values():
            talk.result(call.call, run(talk, call, folder), did=call.text)


if __name__ == "__main__":
    main()
