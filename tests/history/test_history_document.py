"""What docs/history.md shows runs: its agent in front of a strict provider, and its commands."""

import asyncio
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from bursar.history import Shelf
from strict_provider import rejected

PAGE = (Path(__file__).parents[2] / "docs" / "history.md").read_text("utf-8")
TRANSCRIPTS = Path(__file__).parent / "transcripts"
TURNS = 30


class Said(dict):
    """What an SDK returns: fields, and `model_dump`."""

    __getattr__ = dict.__getitem__

    def model_dump(self):
        return dict(self)


class Provider:
    """Calls a tool thirty times, then answers; refuses what is not valid, and the first long request."""

    def __init__(self):
        self.asked = self.refused = 0
        self.messages = SimpleNamespace(create=self.create)

    def create(self, messages, system, tools, **_):
        assert not rejected("anthropic", messages)
        size = len(str(messages)) // 4
        if size > 9000 and not self.refused:
            self.refused += 1
            raise ValueError("prompt is too long: 200001 tokens > 200000 maximum")
        self.asked += 1
        call = Said(type="tool_use", id=f"c{self.asked}", name="bash", input={"command": "make"})
        last = Said(type="text", text="Done.")
        return SimpleNamespace(content=[last if self.asked > TURNS else call], usage=Said(input_tokens=size))


@pytest.fixture
def shown(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    return names


def test_the_agent_of_the_document_runs_and_compacts_when_it_is_refused(shown, tmp_path):
    provider = Provider()
    tools = [{"name": "bash", "input_schema": {}}]
    said = shown["work"](
        provider, tmp_path / "talk.jsonl", tools, lambda *_: "a line of the log\n" * 300, "Why is it red?"
    )
    assert said == "Done."
    assert provider.refused == 1


def test_the_report_of_the_document_runs(shown, tmp_path):
    shelf = Shelf.open("", tmp_path)
    line = asyncio.run(shown["delegated"](shelf, lambda prompt: "It works.", "raw"))
    assert line.startswith("It works. (raw: ses_")
    shelf.session.close()


def test_the_commands_of_the_document_run(tmp_path):
    (tmp_path / "talk.jsonl").write_bytes((TRANSCRIPTS / "claude-code.jsonl").read_bytes())
    (tmp_path / "body.json").write_text('{"messages":[{"role":"user","content":"Hello"}]}')
    (tmp_path / "result.txt").write_text("It works.")
    blocks = re.sub(r"~/\S+", str(TRANSCRIPTS / "codex.jsonl"), PAGE).replace("my-model --stdin", "cat")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", blocks, re.DOTALL) for line in block.splitlines()]
    environment = os.environ | {"XDG_DATA_HOME": str(tmp_path / "data")}
    for line in lines:
        command = line.replace("bursar", f"{shlex.quote(sys.executable)} -m bursar", 1)
        subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, check=True)
    assert len(lines) == 5
