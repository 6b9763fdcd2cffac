"""The forms in which providers take a request: what its messages hold, and what would be rejected."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from ..wire import Part, Wire
from . import anthropic, chat, google, langchain, pydantic_ai, responses

Role = Literal["system", "user", "assistant", "result", "other"]


class Dialect(Protocol):
    """What is to be known of a form; each is a module."""

    ARGUMENTS_BESIDE_REASONING: bool
    """Whether the arguments of a call may be shortened while the reasoning that led to it stays."""

    def role(self, message: Wire) -> Role:
        """Tell who speaks; `result` if anything in it is a tool's."""
        ...

    def parts(self, message: Wire) -> Iterator[Part]:
        """Take a message apart, in the order in which the model reads it."""
        ...

    def user(self, text: str, like: Wire | None) -> Wire:
        """Make a user's message; `like` is another one, which shows the kind of object that is wanted."""
        ...

    def text_block(self, text: str, like: Wire) -> Any:  # noqa: ANN401 - whatever JSON can carry
        """Make what stands in a list in place of a medium, `like`."""
        ...

    def problems(self, messages: Sequence[Wire]) -> Iterator[str]:
        """Tell what the provider would reject."""
        ...


DIALECTS: Mapping[str, Dialect] = {
    "chat": chat,
    "responses": responses,
    "anthropic": anthropic,
    "google": google,
    "pydantic_ai": pydantic_ai,
    "langchain": langchain,
}
"""By name: OpenAI chat completions and all that are compatible; OpenAI Responses; Anthropic Messages; Google's
contents; messages of pydantic-ai and of LangChain."""
