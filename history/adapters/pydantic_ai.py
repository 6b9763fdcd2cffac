"""pydantic-ai: `Agent(model, capabilities=[RequestBudget(Limit(tokens=200_000))])`."""

from pathlib import Path
from typing import Any

from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext

from ...budget.request import Limit, Request
from ..budget import Budget, last_usage, tool
from ..shelf import Shelf


class RequestBudget(AbstractCapability[Any]):
    """Fits each request of an agent, and offers `read_artifact` for what is left out; the history stays whole.

    Attributes:
        budget: with its shelf.
    """

    def __init__(self, limit: Limit | None = None, shelf: Shelf | None = None, memory: Path | None = None) -> None:
        """Prepare, as `Budget` does."""
        self.budget = Budget(limit, shelf, memory)

    def get_toolset(self) -> FunctionToolset[Any]:
        """Offer what reads the artifacts."""
        return FunctionToolset([self.budget.shelf.read_artifact])

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Fit a request."""
        messages, offered = request_context.messages, request_context.model_request_parameters
        definitions = [*offered.function_tools, *offered.output_tools]
        tools = [tool(one.name, one.parameters_json_schema) for one in definitions]
        system = "\n".join(part.content for part in offered.instruction_parts or ())
        told = [one.usage.input_tokens if isinstance(one, ModelResponse) else None for one in messages]
        request = Request("pydantic_ai", messages, system or None, tools)
        request_context.messages = await self.budget.fitted(request, last_usage(told))
        return request_context

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Say that it cannot be written into a description of an agent."""
        return None
