# pyright: basic, reportMissingImports=false
"""Google ADK: `App(name=…, root_agent=agent, plugins=[RequestBudgetPlugin(Limit(tokens=1_000_000))])`."""

from pathlib import Path
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models import LlmRequest, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin

from ...budget.request import Limit, Request, Usage
from ..budget import Budget, tool
from ..shelf import Shelf


class RequestBudgetPlugin(BasePlugin):
    """Fits each request of a runner's agents; the session keeps all events.

    Attributes:
        budget: with its shelf, whose `read_artifact` is the tool to give to agents, for what is left out.
    """

    def __init__(self, limit: Limit | None = None, shelf: Shelf | None = None, memory: Path | None = None) -> None:
        """Prepare, as `Budget` does."""
        super().__init__(name="request_budget")
        self.budget = Budget(limit, shelf, memory)
        self._sent: dict[tuple[str, str], int] = {}
        self._usage: dict[tuple[str, str], Usage] = {}

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Fit a request."""
        of, config = _key(callback_context), llm_request.config
        declared = [one for held in config.tools or () for one in getattr(held, "function_declarations", None) or ()]
        tools = [tool(one.name, one.parameters_json_schema or one.parameters) for one in declared]
        system = config.system_instruction
        request = Request("google", llm_request.contents, system if isinstance(system, str) else None, tools)
        self._sent[of] = len(llm_request.contents)
        llm_request.contents = await self.budget.fitted(request, self._usage.get(of))

    async def after_model_callback(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Take note of what the provider counted."""
        of, told = _key(callback_context), llm_response.usage_metadata
        if told is not None and told.prompt_token_count and of in self._sent:
            self._usage[of] = Usage(told.prompt_token_count, self._sent[of])

    async def after_run_callback(self, *, invocation_context: Any) -> None:  # noqa: ANN401 - the framework's own
        """Forget the run."""
        for held in (self._sent, self._usage):
            for of in [one for one in held if one[0] == invocation_context.invocation_id]:
                del held[of]


def _key(context: CallbackContext) -> tuple[str, str]:
    return context.invocation_id, context.agent_name
