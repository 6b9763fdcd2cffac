"""The one prompt: how to go about a big output."""

from collections.abc import Mapping
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    PromptMessage,
    TextContent,
)

from ..budget.clean import clean
from ..budget.json_size import dumps
from .client import Context
from .offer import PROMPT

NAME = PROMPT["name"]

_QUESTION_CHARACTERS = 2000

_TEXT = """\
Find out from the stored output {artifact}: {question}

It is too big to read whole. Go from what stands out to searches, and from there to pages:
1. Start with the notable lines of its preview if you have it. If not: read_artifact(artifact={artifact}, tail=40).
2. read_artifact(artifact={artifact}, grep="(?i)error|fail|warn"), or a pattern that suits the question.
3. Read around the matches that matter: read_artifact(artifact={artifact}, lines="FROM-TO"), some 40 lines each, or
   a narrower grep with context="5".
4. Too many matches: a narrower pattern, or within lines="FROM-TO". None: other words for the same.
Answer with the line numbers that show it, and say what you did not look at."""


def offer(server: Server[Any], lists: Mapping[str, Mapping[str, Any]]) -> None:
    """Have a server offer the prompt, listed as it is in `lists`."""

    async def list_prompts(ctx: Context, params: PaginatedRequestParams) -> ListPromptsResult:
        return ListPromptsResult.model_validate(lists["prompts/list"])

    async def get_prompt(ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != NAME:
            raise _bad("unknown_prompt", f"there is no {clean(params.name, 64)!r}; this server offers {NAME}")
        return _filled(params.arguments or {})

    server.add_request_handler("prompts/list", PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", GetPromptRequestParams, get_prompt)


def _filled(given: dict[str, str]) -> GetPromptResult:
    for name in given:
        if name not in {"artifact", "question"}:
            raise _bad("bad_argument", f"{NAME} has no argument {clean(name, 64)!r}; it takes artifact, question")
    artifact = clean(given.get("artifact", "").strip())
    if not artifact:
        raise _bad("bad_argument", f"{NAME} needs 'artifact', {PROMPT['arguments'][0]['description']}")
    question = clean(given.get("question", "").strip(), _QUESTION_CHARACTERS) or "what went wrong, and why."
    text = _TEXT.format(artifact=dumps(artifact), question=question)
    return GetPromptResult(
        description=PROMPT["description"],
        messages=[PromptMessage(role="user", content=TextContent(type="text", text=text))],
    )


def _bad(code: str, message: str) -> MCPError:
    return MCPError(INVALID_PARAMS, f"{code}: {message}.")
