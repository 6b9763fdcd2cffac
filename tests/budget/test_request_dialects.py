"""Each provider's form: what is valid in it, and what of it may be replaced."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from bursar.budget.request import Limit, Request, fit, is_overflow, problems
from histories import FORMS, MUTATORS, random_history, tools
from strict_provider import rejected

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
ASKED = {"role": "user", "content": "go"}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWERED = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}

INVALID = {
    "a call without its result": [ASKED, CALLED],
    "a result without its call": [ASKED, ANSWERED],
    "a result that comes too late": [ASKED, CALLED, ASKED, ANSWERED],
    "a call without its result, and on": [ASKED, CALLED, {"role": "assistant", "content": "done"}],
    "two results of one call": [ASKED, CALLED, ANSWERED, ANSWERED],
}


def of(dialect, messages):
    try:
        return FORMS[dialect](messages)[1]
    except KeyError:
        pytest.skip("cannot be written in this form")


@pytest.mark.parametrize("dialect", FORMS)
@pytest.mark.parametrize("mutator", MUTATORS)
@pytest.mark.parametrize("seed", range(6))
def test_what_a_provider_takes_has_no_problems(dialect, mutator, seed):
    messages = of(dialect, MUTATORS[mutator](random_history(seed)))
    assert not rejected(dialect, messages)
    assert problems(Request(dialect, messages)) == []


@pytest.mark.parametrize("dialect", FORMS)
@pytest.mark.parametrize("wrong", INVALID)
def test_what_a_provider_rejects_is_told(dialect, wrong):
    messages = of(dialect, INVALID[wrong])
    if dialect in ("responses", "pydantic_ai") and wrong == "a result that comes too late":
        pytest.skip("valid in this form")
    assert problems(Request(dialect, messages)) != []


@pytest.mark.parametrize(
    ("dialect", "messages"),
    [
        ("chat", [ASKED, {"role": "assistant", "content": ""}]),
        ("chat", [ASKED, {"role": "robot", "content": "x"}]),
        ("chat", [{"role": "user", "content": None}]),
        ("responses", [{"role": "user", "content": ""}]),
        ("responses", [ASKED, {"type": "reasoning", "id": "rs_1", "summary": []}]),
        ("responses", [ASKED, {"type": "reasoning", "id": "rs_1", "summary": []}, ASKED]),
        ("anthropic", [{"role": "assistant", "content": "hi"}]),
        ("anthropic", [ASKED, {"role": "assistant", "content": []}, ASKED]),
        ("anthropic", [{"role": "user", "content": [{"type": "text", "text": " "}]}]),
        ("anthropic", [ASKED, {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}]),
        ("anthropic", [{"role": "system", "content": "x"}]),
        (
            "anthropic",
            [
                ASKED,
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": "1"}],
                },
            ],
        ),
        (
            "anthropic",
            [
                ASKED,
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": "{}"}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "x"}]},
            ],
        ),
        ("pydantic_ai", [{"kind": "request", "parts": []}]),
        ("pydantic_ai", [{"kind": "note", "parts": [{"part_kind": "text", "content": "x"}]}]),
    ],
)
def test_the_rules_of_one_form_are_known(dialect, messages):
    assert problems(Request(dialect, messages)) != []


@dataclass
class Part:
    part_kind: str
    content: Any = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    args: Any = None


@dataclass
class Message:
    kind: str
    parts: list[Part] = field(default_factory=list)


def objects(turns, size):
    """Write a history of pydantic-ai as objects, as an agent has it."""
    messages = [Message("request", [Part("system-prompt", "Be brief."), Part("user-prompt", "Find it.")])]
    for turn in range(turns):
        call = {"tool_name": "bash", "tool_call_id": f"c{turn}"}
        messages.append(Message("response", [Part("tool-call", args={"command": f"cat {turn}.log"}, **call)]))
        messages.append(Message("request", [Part("tool-return", f"line {turn}\n" * size, **call)]))
    return messages


def test_objects_of_pydantic_ai_are_copied_where_they_change_and_nowhere_else():
    messages = objects(60, 300)
    before = repr(messages)
    request = Request("pydantic_ai", messages, tools=tools("pydantic_ai"))
    fitted = fit(request, Limit(tokens=16_000), lambda leaving: "a1")
    assert repr(messages) == before
    assert problems(Request("pydantic_ai", fitted.messages)) == []
    assert {type(message) for message in fitted.messages} == {Message}
    assert fitted.messages[0] is messages[0]
    assert fitted.messages[-1] is messages[-1]
    assert fitted.messages[1].parts[0].part_kind == "user-prompt"
    assert fitted.messages[1].parts[0].content.startswith('{"earlier":"')
    notes = [part.content for message in fitted.messages for part in message.parts if part.part_kind == "tool-return"]
    assert any(note.startswith('{"omitted":"301 lines') for note in notes)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            400,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130011 tokens.",
        ),
        (400, '{"error":{"code":"context_length_exceeded","message":"Input tokens exceed the configured limit"}}'),
        (400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
        (400, "prompt is too long: 210042 tokens > 200000 maximum"),
        (400, "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000"),
        (413, "request_too_large: Request exceeds the maximum size"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        (None, "ValidationException: Input is too long for requested model."),
        (400, "the request exceeds the available context size, try increasing it"),
        (400, "Please reduce the length of the messages or completion."),
        (400, "some new provider: too many tokens, size limit reached"),
    ],
)
def test_a_refusal_for_length_is_recognised_in_each_providers_words(status, message):
    assert is_overflow(status, message)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (429, "Rate limit reached: tokens per min (TPM): Limit 30000"),
        (400, "Rate limit: too many tokens per minute"),
        (400, "Invalid value for 'temperature'"),
        (500, "The server had an error"),
        (401, "Incorrect API key provided"),
    ],
)
def test_other_refusals_are_not(status, message):
    assert not is_overflow(status, message)
