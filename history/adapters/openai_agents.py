# pyright: basic, reportMissingImports=false
"""openai-agents: one object is both the filter of a run's input and its hooks.

`Runner.run(agent, goal, hooks=budget, run_config=RunConfig(call_model_input_filter=budget.filter))`
"""

from pathlib import Path
from typing import Any

from agents import FunctionTool, RunHooks, Tool, function_tool
from agents.run_config import CallModelData, ModelInputData

from ...budget.request import Limit, Request, Usage
from ..budget import Budget, tool
from ..shelf import Shelf


class RequestBudget(RunHooks):
    """Fits each request of a run; what the session or the run keeps stays whole.

    Attributes:
        budget: with its shelf.
        read_artifact: the tool to give to agents, for what is left out.
    """

    def __init__(self, limit: Limit | None = None, shelf: Shelf | None = None, memory: Path | None = None) -> None:
        """Prepare, as `Budget` does."""
        self.budget = Budget(limit, shelf, memory)
        self.read_artifact: FunctionTool = function_tool(self.budget.shelf.read_artifact)
        self._tools: dict[str, list[Tool]] = {}
        self._sent: dict[str, int] = {}
        self._usage: dict[str, Usage] = {}

    async def on_agent_start(self, context: Any, agent: Any) -> None:  # noqa: ANN401 - the framework's own
        """Take note of the tools, those of MCP servers too."""
        self._tools[agent.name] = await agent.get_all_tools(context)
        self._usage.pop(agent.name, None)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:  # noqa: ANN401 - the framework's own
        """Take note of what the provider counted."""
        if response.usage.input_tokens and agent.name in self._sent:
            self._usage[agent.name] = Usage(response.usage.input_tokens, self._sent[agent.name])

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """Fit a request."""
        name, given = data.agent.name, data.model_data
        offered = self._tools.get(name) or data.agent.tools
        tools = [tool(one.name, getattr(one, "params_json_schema", None)) for one in offered]
        request = Request("responses", given.input, given.instructions, tools)
        self._sent[name] = len(given.input)
        return ModelInputData(await self.budget.fitted(request, self._usage.get(name)), given.instructions)
