"""What others do to a history before each request, each as its documents say it is used; those that are installed."""

import asyncio
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

from bursar.budget import tokens
from histories import to_pydantic_ai
from strict_provider import texts

HIGH, LOW = 0.88, 0.50
SUMMARY_SENTENCES = 40


def count(messages):
    return sum(tokens.count("\n".join(texts(message))) + 4 for message in messages)


class Peer:
    """An algorithm with a memory of its own: it is given what is new, and says what is sent.

    Attributes:
        spent: tokens of its own calls of a model.
    """

    def __init__(self, limit):
        self.limit, self.seen, self.state = limit, 0, []
        self.compactions = self.calls = self.spent = 0

    def __call__(self, messages):
        self.state = self.state + self.made(messages[self.seen :])
        self.seen = len(messages)
        before = len(self.state)
        self.state = self.step(self.state)
        self.compactions += len(self.state) < before
        return self.sent(self.state)

    def made(self, messages):
        return messages

    def sent(self, messages):
        return messages

    def step(self, messages):
        return messages

    def told(self, total, messages):
        pass

    def follow(self, text, fact):
        return None


def langchain() -> Iterator[tuple[str, type[Peer]]]:
    from langchain.agents.middleware.context_editing import ClearToolUsesEdit
    from langchain.agents.middleware.summarization import SummarizationMiddleware
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages, trim_messages

    def counted(messages):
        return count(convert_to_openai_messages(messages))

    class LangChain(Peer):
        def made(self, messages):
            return convert_to_messages(messages)

        def sent(self, messages):
            return convert_to_openai_messages(messages)

    class Trim(LangChain):
        """trim_messages(strategy="last"), of the whole history each time."""

        def sent(self, messages):
            kept = trim_messages(
                messages, max_tokens=self.limit, token_counter=counted, strategy="last", include_system=True
            )
            return convert_to_openai_messages(kept)

    class Clear(LangChain):
        """ClearToolUsesEdit, keep 3."""

        def sent(self, messages):
            copied = [message.model_copy() for message in messages]
            ClearToolUsesEdit(trigger=int(HIGH * self.limit), keep=3).apply(copied, count_tokens=counted)
            return convert_to_openai_messages(copied)

    class Summarize(LangChain):
        keep = 0.3

        def __init__(self, limit):
            super().__init__(limit)
            self.middleware = SummarizationMiddleware(
                GenericFakeChatModel(messages=iter(())),
                trigger=("tokens", int(HIGH * limit)),
                keep=("tokens", int(self.keep * limit)),
                token_counter=counted,
            )

        def step(self, messages):
            def summary(older):
                self.calls += 1
                shown = self.middleware._trim_messages_for_summary(older)  # noqa: SLF001
                self.spent += counted(shown)
                return lead(convert_to_openai_messages(shown))

            self.middleware._create_summary = summary  # noqa: SLF001
            done = self.middleware.before_model({"messages": messages}, None)
            return done["messages"][1:] if done else messages

    yield "langchain trim_messages", Trim
    yield "langchain ClearToolUsesEdit keep 3", Clear
    yield "langchain Summarization keep 0.3", Summarize


def lead(messages):
    """Summarise as a model of the simplest kind would: by first sentences."""
    said = [re.split(r"(?<=[.!?])\s|\n", text, maxsplit=1)[0][:200] for m in messages for text in texts(m)]
    return "\n".join(said[-SUMMARY_SENTENCES:])


def deepagents() -> Iterator[tuple[str, type[Peer]]]:
    from deepagents.backends import FilesystemBackend
    from deepagents.middleware.summarization import SummarizationMiddleware
    from langchain.agents.middleware.types import ModelRequest, ModelResponse
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, SystemMessage, convert_to_messages, convert_to_openai_messages

    class Deep(Peer):
        """Its summarization with its files, keep 10 %."""

        keep = 0.10

        def __init__(self, limit):
            super().__init__(limit)
            self.place = tempfile.TemporaryDirectory()
            self.middleware = SummarizationMiddleware(
                GenericFakeChatModel(messages=iter(())),
                backend=FilesystemBackend(root_dir=self.place.name, virtual_mode=True),
                trigger=("tokens", int(0.85 * limit)),
                keep=("tokens", int(self.keep * limit)),
                token_counter=lambda messages, **_: count(convert_to_openai_messages(messages)),
            )
            self.memory = {}

        def made(self, messages):
            return convert_to_messages(messages)

        def step(self, messages):
            def summary(older):
                self.calls += 1
                self.compactions += 1
                shown = convert_to_openai_messages(older)
                self.spent += min(4000, count(shown))
                return lead(shown)

            self.middleware._create_summary = summary  # noqa: SLF001
            first = [message for message in messages if isinstance(message, SystemMessage)]
            request = ModelRequest(
                model=self.middleware.model,
                messages=[message for message in messages if not isinstance(message, SystemMessage)],
                system_message=first[0] if first else None,
                tools=[],
                state=self.memory,
                runtime=SimpleNamespace(context=None, config={}, state=self.memory),
            )

            def handler(asked):
                self.asked = [*first, *asked.messages]
                return ModelResponse(result=[AIMessage("")])

            done = self.middleware.wrap_model_call(request, handler)
            if (command := getattr(done, "command", None)) is not None:
                self.memory.update(command.update)
            return messages

        def sent(self, messages):
            return convert_to_openai_messages(self.asked)

        def follow(self, text, fact):
            for path in Path(self.place.name).rglob("*.md"):
                held = path.read_text("utf-8")
                if path.name in text and fact in held:
                    at = held.index(fact)
                    return 60 + tokens.count(held[max(0, at - 1000) : at + 1000])
            return None

    yield "deepagents 0.85, keep 0.10", Deep
    yield "deepagents 0.85, keep 0.45", type("Deeper", (Deep,), {"keep": 0.45})


def harness() -> Iterator[tuple[str, type[Peer]]]:
    from pydantic_ai.messages import ModelMessagesTypeAdapter
    from pydantic_ai_harness.compaction import ClearToolResults, SlidingWindowCompaction, TieredCompaction

    context = SimpleNamespace(model=None, run_id=None, conversation_id=None, messages=[], usage=None)

    def chat(messages):
        out = []
        for message in ModelMessagesTypeAdapter.dump_python(messages, mode="json"):
            said = {"role": "assistant", "content": None, "tool_calls": []}
            for part in message["parts"]:
                kind = part["part_kind"]
                if kind in ("system-prompt", "user-prompt"):
                    out.append({"role": kind.partition("-")[0], "content": part["content"]})
                elif kind == "tool-return":
                    out.append({"role": "tool", "tool_call_id": part["tool_call_id"], "content": part["content"]})
                elif kind == "text":
                    said["content"] = part["content"]
                elif kind == "tool-call":
                    called = {"name": part["tool_name"], "arguments": part["args"]}
                    said["tool_calls"].append({"id": part["tool_call_id"], "type": "function", "function": called})
            if message["kind"] == "response":
                out.append({key: value for key, value in said.items() if value or key != "tool_calls"})
        return out

    class Harness(Peer):
        def made(self, messages):
            return ModelMessagesTypeAdapter.validate_python(to_pydantic_ai(messages)[1])

        def sent(self, messages):
            return chat(messages)

        def step(self, messages):
            if count(chat(messages)) <= HIGH * self.limit:
                return messages
            return asyncio.run(self.strategy().compact(messages, context))

    class Clear(Harness):
        def strategy(self):
            return ClearToolResults(max_tokens=1, tokenizer=tokens.count)

    class Slide(Harness):
        def strategy(self):
            return SlidingWindowCompaction(max_tokens=1, keep_tokens=int(LOW * self.limit), tokenizer=tokens.count)

    class Tiered(Harness):
        def strategy(self):
            slide = SlidingWindowCompaction(max_tokens=1, keep_tokens=int(0.3 * self.limit), tokenizer=tokens.count)
            clear = ClearToolResults(max_tokens=1, tokenizer=tokens.count)
            return TieredCompaction(tiers=[clear, slide], target_tokens=int(LOW * self.limit), tokenizer=tokens.count)

    yield "harness ClearToolResults keep 3", Clear
    yield "harness SlidingWindow 0.5", Slide
    yield "harness Tiered (clear 3, slide 0.3)", Tiered


def litellm() -> Iterator[tuple[str, type[Peer]]]:
    from litellm.utils import trim_messages

    class Trim(Peer):
        def sent(self, messages):
            return trim_messages([dict(m) for m in messages], model="gpt-4o", max_tokens=self.limit, trim_ratio=1.0)

    yield "litellm trim_messages", Trim


def headroom() -> Iterator[tuple[str, type[Peer]]]:
    from headroom import compress, densify

    class Compress(Peer):
        """compress(), as it is."""

        def sent(self, messages):
            return compress([dict(m) for m in messages], model="gpt-4o", model_limit=self.limit).messages

    class Densify(Peer):
        """densify(): what can be written shorter without loss."""

        def sent(self, messages):
            return densify([dict(m) for m in messages], model="gpt-4o", model_limit=self.limit).messages

    yield "headroom compress", Compress
    yield "headroom densify", Densify


def installed(*, with_slow=False):
    """Return the peers that can be imported, by name."""
    found = {}
    for peers in (langchain, deepagents, harness, *((litellm, headroom) if with_slow else ())):
        with suppress(ImportError):
            found |= dict(peers())
    return found
