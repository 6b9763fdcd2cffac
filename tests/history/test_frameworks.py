"""The agents of docs/frameworks.md run: each request is valid and within its limit, and what left it is read again."""

import asyncio
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from bursar.budget import tokens
from bursar.history import Limit
from strict_provider import rejected, texts

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"
TURNS = 30
LIMIT = 12_000
GOAL = "Why is it red?"


def bash(command: str) -> str:
    """Run a command.

    Args:
        command: what to run.
    """
    return "".join(f"{command} src/part_{line}.py says no\n" for line in range(60))


class Model:
    """What all the fakes do: call `bash` thirty times, then read the first thing that was left out, then end."""

    def __init__(self, form):
        self.form, self.sent, self.found = form, [], ""

    def answer(self, messages):
        """Return the name and the arguments of the next call; None at the end."""
        assert rejected(self.form, messages) == ""
        self.sent.append(messages)
        self.size = tokens.count("\n".join(texts(messages)))
        turn = len(self.sent)
        if turn <= TURNS:
            return "bash", {"command": f"make part_{turn}"}
        text = "\n".join(texts(messages)).replace("\\", "")
        if turn == TURNS + 1:
            return "read_artifact", {
                "artifact": re.findall(r'read_artifact\(artifact="([^"]+)"', text)[0],
                "grep": "part_1",
            }
        self.found = "\n".join(texts(messages[-1]))
        return None

    def check(self):
        sizes = [tokens.count("\n".join(texts(messages))) for messages in self.sent]
        assert max(sizes) <= LIMIT
        assert all(GOAL in "\n".join(texts(messages)) for messages in self.sent)
        broken = [b[: len(a)] != a for a, b in pairwise(self.sent)]
        assert 0 < sum(broken) <= 4
        assert "part_1" in self.found


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    shown = {"limit": Limit(tokens=LIMIT)}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(block, shown)
    return shown


@pytest.mark.needs("pydantic-ai")
def test_an_agent_of_pydantic_ai_runs_within_its_limit(page):
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import RequestUsage

    model = Model("pydantic_ai")

    def script(messages, info):
        assert {tool.name for tool in info.function_tools} == {"bash", "read_artifact"}
        call = model.answer(ModelMessagesTypeAdapter.dump_python(messages, mode="json"))
        part = TextPart("Done.") if call is None else ToolCallPart(*call)
        return ModelResponse([part], usage=RequestUsage(input_tokens=model.size))

    agent = page["pydantic_ai_agent"](FunctionModel(script), [bash], page["limit"])
    run = asyncio.run(agent.run(GOAL))
    assert run.output == "Done."
    model.check()
    whole = run.all_messages_json().decode()
    assert all(f"make part_{turn} src" in whole for turn in range(1, TURNS + 1))


@pytest.mark.needs("langchain")
def test_an_agent_of_langchain_runs_within_its_limit(page):
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool

    model = Model("langchain")

    class Scripted(BaseChatModel):
        def _generate(self, messages, *_, **__):
            call = model.answer([json.loads(message.model_dump_json()) for message in messages])
            made = [] if call is None else [{"name": call[0], "args": call[1], "id": f"c{len(model.sent)}"}]
            message = AIMessage("Done." if call is None else "", tool_calls=made)
            return ChatResult(generations=[ChatGeneration(message=message)])

        def bind_tools(self, tools, **_):
            return self

        @property
        def _llm_type(self):
            return "scripted"

    agent = page["langchain_agent"](Scripted(), [tool(bash)], page["limit"])
    ended = asyncio.run(agent.ainvoke({"messages": [("user", GOAL)]}, {"recursion_limit": 300}))
    assert ended["messages"][-1].content == "Done."
    model.check()
    assert sum(len(message.content) > 1000 for message in ended["messages"]) >= TURNS


@pytest.mark.needs("openai-agents")
def test_a_run_of_openai_agents_stays_within_its_limit(page):
    from agents import Model as Base
    from agents import ModelResponse, Usage, function_tool, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(disabled=True)
    model = Model("responses")

    class Scripted(Base):
        async def get_response(self, system_instructions, input, *_, **__):  # noqa: A002 - the framework's own
            items = [{"type": "message", "role": "user", "content": input}] if isinstance(input, str) else input
            call, name = model.answer(json.loads(json.dumps(items))), f"c{len(model.sent)}"
            said = ResponseOutputText(annotations=[], text="Done.", type="output_text")
            output = (
                ResponseOutputMessage(id=name, content=[said], role="assistant", status="completed", type="message")
                if call is None
                else ResponseFunctionToolCall(
                    call_id=name, name=call[0], arguments=json.dumps(call[1]), type="function_call"
                )
            )
            return ModelResponse([output], Usage(input_tokens=model.size), None)

        def stream_response(self, *_, **__):
            raise NotImplementedError

    run = asyncio.run(page["openai_agents_run"](Scripted(), [function_tool(bash)], page["limit"], GOAL))
    assert run.final_output == "Done."
    model.check()


@pytest.mark.needs("google-adk")
def test_a_runner_of_adk_stays_within_its_limit(page):
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai import types

    model = Model("google")

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request, stream=False):
            sent = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in llm_request.contents]
            call = model.answer(sent)
            part = types.Part(text="Done.")
            if call is not None:
                part = types.Part(function_call=types.FunctionCall(name=call[0], args=call[1]))
            told = types.GenerateContentResponseUsageMetadata(prompt_token_count=model.size)
            yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=told)

    async def run():
        runner = page["adk_runner"](Scripted(model="scripted"), [bash], page["limit"])
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
        asked = types.Content(role="user", parts=[types.Part(text=GOAL)])
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=asked):
            last = event
        return last.content.parts[0].text

    assert asyncio.run(run()) == "Done."
    model.check()
