"""Tools that ask the client between two rounds of one call, as protocol 2026-07-28 does."""

from typing import Any

from bursar.tools.base import Call, Done
from mcp.shared.exceptions import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY, ClientCapabilities, InputRequiredResult
from tooling import Nothing, aside, said, tool

ROOTS = {"method": "roots/list", "params": {}}
_TEXT = {"type": "string"}
_YES_OR_NO = {"type": "boolean"}


def question(message: str, name: str, kind: dict[str, Any] = _TEXT) -> dict[str, Any]:
    wanted = {"type": "object", "properties": {name: kind}, "required": [name]}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": wanted}}


def _sampling(text: str, max_tokens: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": max_tokens}}


def required(requests: dict[str, Any], state: str | None = None) -> InputRequiredResult:
    """Make the result that asks for input; each request as it stands on the wire."""
    return InputRequiredResult.model_validate({"inputRequests": requests, "requestState": state}, by_name=False)


def _ask(requests: dict[str, Any], state: str | None = None) -> Done:
    aside.get().instead = required(requests, state)
    return said("more input is needed")


def _answers() -> dict[str, Any]:
    """Return the client's answers by name, as on the wire; one that was declined counts as none."""
    given = aside.get().params.input_responses or {}
    plain = {name: answer.model_dump(by_alias=True, mode="json") for name, answer in given.items()}
    return {name: answer for name, answer in plain.items() if answer.get("action", "accept") == "accept"}


@tool()
async def test_input_required_result_elicitation(args: Nothing, call: Call) -> Done:
    """Asks for a name and greets it."""
    name = (_answers().get("user_name", {}).get("content") or {}).get("name")
    if not isinstance(name, str):
        return _ask({"user_name": question("What is your name?", "name")})
    return said(f"Hello, {name}!")


@tool()
async def test_input_required_result_sampling(args: Nothing, call: Call) -> Done:
    """Asks the client's model for a capital."""
    answer = _answers().get("capital_question")
    if answer is None:
        return _ask({"capital_question": _sampling("What is the capital of France?", 100)})
    return said(answer["content"]["text"])


@tool()
async def test_input_required_result_list_roots(args: Nothing, call: Call) -> Done:
    """Asks for the client's roots."""
    answer = _answers().get("client_roots")
    if answer is None:
        return _ask({"client_roots": ROOTS})
    return said(", ".join(root["uri"] for root in answer["roots"]))


@tool()
async def test_input_required_result_request_state(args: Nothing, call: Call) -> Done:
    """Asks for a confirmation and gets its own state back."""
    state = aside.get().params.request_state
    if state is None or "confirm" not in _answers():
        return _ask({"confirm": question("Please confirm", "ok", _YES_OR_NO)}, "asked")
    return said("state-ok" if state == "asked" else "not my state")


@tool()
async def test_input_required_result_tampered_state(args: Nothing, call: Call) -> Done:
    """Asks for a confirmation with a state that nobody may change."""
    if aside.get().params.request_state is None:
        return _ask({"confirm": question("Please confirm", "ok", _YES_OR_NO)}, "asked")
    return said("state-ok")


@tool()
async def test_input_required_result_multiple_inputs(args: Nothing, call: Call) -> Done:
    """Asks for a name, a greeting and the roots at once."""
    requests = {
        "user_name": question("What is your name?", "name"),
        "greeting": _sampling("Generate a greeting", 50),
        "client_roots": ROOTS,
    }
    if not requests.keys() <= _answers().keys():
        return _ask(requests, "asked")
    return said("All three were answered.")


@tool()
async def test_input_required_result_multi_round(args: Nothing, call: Call) -> Done:
    """Asks twice, one after the other."""
    given, state = _answers(), aside.get().params.request_state
    if state == "asked for the colour" and "step2" in given:
        return said("Both were answered.")
    if state == "asked for the name" and "step1" in given:
        return _ask({"step2": question("Step 2: What is your favorite color?", "color")}, "asked for the colour")
    return _ask({"step1": question("Step 1: What is your name?", "name")}, "asked for the name")


@tool()
async def test_input_required_result_capabilities(args: Nothing, call: Call) -> Done:
    """Asks only for what the client can do."""
    able = aside.get().ctx.session.client_capabilities or ClientCapabilities()
    requests = {
        "user_name": (able.elicitation, question("What is your name?", "name")),
        "greeting": (able.sampling, _sampling("Generate a greeting", 50)),
        "client_roots": (able.roots, ROOTS),
    }
    wanted = {name: request for name, (can, request) in requests.items() if can is not None}
    return _ask(wanted) if wanted and not _answers() else said("Nothing to ask for.")


@tool()
async def test_missing_capability(args: Nothing, call: Call) -> Done:
    """Needs a client that lets its model be asked."""
    able = aside.get().ctx.session.client_capabilities
    if able is not None and able.sampling is not None:
        return said("The client can be asked.")
    needed = {"requiredCapabilities": {"sampling": {}}}
    aside.get().instead = MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This needs the sampling capability", needed)
    return said("refused")


@tool()
async def test_streaming_elicitation(args: Nothing, call: Call) -> Done:
    """Reports progress, then asks for a name."""
    await call.progress(1, 2, "steps")
    return _ask({"user_name": question("What is your name?", "name")})
