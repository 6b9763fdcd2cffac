"""Recorded sessions as histories in OpenAI's chat form."""

import json
import re
from itertools import cycle
from pathlib import Path

from histories import bare


def coding(data, every=4):
    """Set A: coding sessions in OpenAI's chat form, with what the provider counted for each request."""
    lines = (data / "coding.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["messages"] for line in lines[::every]]


def airline(data):
    """Set B: two working days of a customer service, each one conversation."""
    talks = json.loads((data / "tau-airline.json").read_text("utf-8"))
    days = []
    for trial in sorted({talk["trial"] for talk in talks})[:2]:
        day = []
        for number, talk in enumerate(talk for talk in talks if talk["trial"] == trial):
            day += _own_ids(talk["traj"][0 if not day else 1 :], number)
        days.append(day)
    return days


def demonstrations(data):
    """Set C: demonstrations by function calls, XML and plain text."""
    sessions = []
    for path in sorted((data / "swe-agent").glob("*.traj")):
        history = json.loads(path.read_text("utf-8"))["history"]
        messages = []
        for message in history:
            one = {"role": message["role"], "content": message["content"]}
            if message.get("tool_calls"):
                one["tool_calls"] = message["tool_calls"]
            if message["role"] == "tool":
                one["tool_call_id"] = message["tool_call_ids"][0]
            messages.append(one)
        sessions.append(messages)
    return sessions


def _own_ids(messages, number):
    text = json.dumps(messages)
    return json.loads(re.sub(r'"(call_\w+)"', rf'"\1_{number}"', text))


def joined(sessions, size, count):
    """Make one history of so many tokens out of sessions."""
    out = []
    for number, session in enumerate(cycle(sessions)):
        # A recording may end with a call that was never made.
        whole = session[:-1] if session[-1].get("tool_calls") else session
        own = _own_ids([bare(message) for message in whole], f"n{number}")
        out += own if not out else own[1:]
        size -= count(json.dumps(own, ensure_ascii=False))
        if size <= 0:
            return out
    return out


def load(folder):
    place = Path(folder)
    return place if (place / "coding.jsonl").exists() else place / "trajectories"
