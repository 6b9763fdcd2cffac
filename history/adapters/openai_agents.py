# pyright: basic, reportMissingImports=false
"""openai-agents: one object is both the filter of a run's input and its hooks.

`Runner.run(agent, goal, hooks=budget, run_config=RunConfig(call_model_input_filter=budget.filter))`
"""

from collections import OrderedDict
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from agents import FunctionTool, RunHooks, Tool, function_tool
from agents.run_config import CallModelData, ModelInputData

from ...budget.request import Limit, Request, Usage
from ...budget.request.state import history_digest
from ...budget.request.wire import digest
from ..budget import Budget, tool
from ..shelf import Shelf

_USAGES_MAX = 64

_Sent = tuple[str, int, str]
"""A request: the agent's name, how many messages it had, and a digest of these."""

_sent: ContextVar[_Sent | None] = ContextVar("bursar_sent", default=None)
"""The last request of this run: filter and hooks are called within its task, or in tasks that it starts."""


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
        self._usage: OrderedDict[_Sent, int] = OrderedDict()

    async def on_agent_start(self, context: Any, agent: Any) -> None:  # noqa: ANN401 - the framework's own
        """Take note of the tools, those of MCP servers too."""
        self._tools[agent.name] = await agent.get_all_tools(context)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:  # noqa: ANN401 - the framework's own
        """Take note of what the provider counted."""
        sent = _sent.get()
        if response.usage.input_tokens and sent is not None and sent[0] == agent.name:
            self._usage[sent] = response.usage.input_tokens
            while len(self._usage) > _USAGES_MAX:
                self._usage.popitem(last=False)

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """Fit a request."""
        name, given = data.agent.name, data.model_data
        offered = self._tools.get(name) or data.agent.tools
        tools = [tool(one.name, getattr(one, "params_json_schema", None)) for one in offered]
        request = Request("responses", given.input, given.instructions, tools)
        digests = [digest(message) for message in given.input]
        usage = self._usage_of(name, digests)
        _sent.set((name, len(digests), history_digest(digests)))
        return ModelInputData(await self.budget.fitted(request, usage), given.instructions)

    def _usage_of(self, name: str, digests: list[str]) -> Usage | None:
        """Return what was counted of the longest beginning of a history; runs at the same time have others."""
        for count in sorted({sent[1] for sent in self._usage if sent[1] <= len(digests)}, reverse=True):
            tokens = self._usage.get((name, count, history_digest(digests[:count])))
            if tokens is not None:
                return Usage(tokens, count)
        return None
