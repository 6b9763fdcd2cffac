# pyright: basic, reportMissingImports=false
"""LangChain and LangGraph: `create_agent(model, tools, middleware=[RequestBudgetMiddleware(limit)])`."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.tools import tool as as_tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from ...budget.request import Limit, Request, is_overflow
from ..budget import Budget, last_usage
from ..shelf import Shelf


class RequestBudgetMiddleware(AgentMiddleware):
    """Fits each request of an agent, and offers `read_artifact` for what is left out; the graph's state stays whole.

    A request that the provider refuses as too long is compacted and sent once more.

    Attributes:
        budget: with its shelf.
    """

    def __init__(self, limit: Limit | None = None, shelf: Shelf | None = None, memory: Path | None = None) -> None:
        """Prepare, as `Budget` does."""
        super().__init__()
        self.budget = Budget(limit, shelf, memory)
        self.tools = [as_tool(self.budget.shelf.read_artifact)]

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        """Fit a request."""
        for is_forced in (False, True):
            try:
                return handler(request.override(messages=self.budget.fit(*_read(request), is_forced=is_forced)))
            except Exception as error:
                if is_forced or not _is_overflow(error):
                    raise
        raise AssertionError

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Fit a request."""
        for is_forced in (False, True):
            try:
                messages = await self.budget.fitted(*_read(request), is_forced=is_forced)
                return await handler(request.override(messages=messages))
            except Exception as error:
                if is_forced or not _is_overflow(error):
                    raise
        raise AssertionError


def _read(request: ModelRequest) -> tuple[Request, Any]:
    tools = [convert_to_openai_tool(one) for one in request.tools]
    system = request.system_message.text if request.system_message else None
    told = [(getattr(one, "usage_metadata", None) or {}).get("input_tokens") for one in request.messages]
    return Request("langchain", request.messages, system, tools), last_usage(told)


def _is_overflow(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    return is_overflow(status if isinstance(status, int) else None, str(error))
