"""The quick start of docs/requests.md runs, with a provider that answers from a script and is strict."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from bursar.budget.request import Limit, Request, problems
from histories import tools
from strict_provider import rejected

PAGE = Path(__file__).parents[2] / "docs" / "requests.md"
TURNS = 30
LONG = "src/app.py:1: a line of the log\n" * 200


class Said(dict):
    """What an SDK returns: fields, and `model_dump`."""

    __getattr__ = dict.__getitem__

    def model_dump(self, **_):
        return dict(self)


class Provider:
    """Calls a tool thirty times, then answers."""

    def __init__(self, dialect):
        self.dialect, self.asked = dialect, 0
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))
        self.responses = self.messages = SimpleNamespace(create=self.create)

    def create(self, **request):
        sent = request.get("messages") or request["input"]
        assert not rejected(self.dialect, sent)
        self.asked += 1
        usage = Said(prompt_tokens=len(str(sent)) // 4, input_tokens=len(str(sent)) // 4)
        return Said(usage=usage, **getattr(self, f"_{self.dialect}")(f"c{self.asked}", self.asked > TURNS))

    def _chat(self, name, is_last):
        call = {"id": name, "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        message = Said(role="assistant", content="Done.") if is_last else Said(role="assistant", tool_calls=[call])
        return {"choices": [Said(message=message)]}

    def _responses(self, name, is_last):
        call = Said(type="function_call", call_id=name, name="bash", arguments="{}")
        said = Said(type="message", role="assistant", content=[Said(type="output_text", text="Done.")])
        return {"output": [said if is_last else call], "output_text": "Done."}

    def _anthropic(self, name, is_last):
        call = Said(type="tool_use", id=name, name="bash", input={})
        return {"content": [Said(type="text", text="Done.") if is_last else call]}


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(block, shown)
    return shown


@pytest.mark.parametrize(("dialect", "name"), [("chat", "converse"), ("responses", "respond"), ("anthropic", "answer")])
def test_the_quick_start_runs_with_each_provider(page, dialect, name):
    provider, offered = Provider(dialect), tools(dialect, ("bash",))
    history = [{"role": "user", "content": "Why is it red?"}]
    system = ["Be brief."] if dialect == "anthropic" else []
    said = page[name](provider, history, *system, offered, lambda call: LONG, Limit(tokens=16_000))
    assert said == "Done."
    assert provider.asked == TURNS + 1
    assert len(list(Path("shelf").iterdir())) > 0


def test_the_capability_of_the_document_fits_messages(page):
    within = page["Within"](tools("pydantic_ai"), Limit(tokens=16_000))
    history = [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Why is it red?"}]}]
    for turn in range(TURNS):
        call = {"tool_name": "bash", "tool_call_id": f"c{turn}"}
        history.append({"kind": "response", "parts": [{"part_kind": "tool-call", "args": "{}", **call}]})
        history.append({"kind": "request", "parts": [{"part_kind": "tool-return", "content": LONG, **call}]})
        assert problems(Request("pydantic_ai", within(history))) == []
    assert within.state.upto > 0
