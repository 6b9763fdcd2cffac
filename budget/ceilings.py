"""What is known of clients: how large a result may be, and how long they wait for it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Limits of one reply.

    Attributes:
        bytes: of the reply as it is sent, as UTF-8. 8,192 because the tightest client known (VS Code) cuts there.
        tokens: of the same, o200k: up to so many, to show all costs less than to show a part and be asked again.
        most_tokens: as many as one call may ask for; within the bytes.
        patience_s: seconds after which a call is answered, with what there is by then.
    """

    bytes: int = 8192
    tokens: int = 2000
    most_tokens: int = 2000
    patience_s: float = 25.0


PICTURE_BYTES = 8192
"""Largest picture beside a reply: as large as the reply itself, for a client that puts its base64 before a model."""

_BYTES_PER_TOKEN_LEAST = 3
"""Of nearly all text: a client that takes so many bytes takes so many tokens for a third of them."""

_SDK_DEFAULT = "mcp"
"""What a client built on the Python SDK calls itself unless told otherwise."""

_WAITS_S: dict[str, float] = {
    # By what each client calls itself, measured with its default settings against a slow tool; a tenth is kept back for
    # the way there and back.
    _SDK_DEFAULT: 4.0,  # openai-agents and AutoGen wait 5 s under it, agno 10 s, CrewAI and LlamaIndex 30 s
    "google-adk": 4.0,  # 5 s on standard input and output
    "claude-code": 270.0,  # 300 s idle over HTTP, 30 min on stdio
    "codex-mcp-client": 270.0,  # tool_timeout_sec = 300
    "gemini-cli-mcp-client": 270.0,  # 600 s; NAME of the server follows
    "opencode": 54.0,  # 60 s
    "copilot-cli": 162.0,  # 180 s
    "qwen-cli-mcp-client": 135.0,  # more than 150 s; NAME of the server follows
    "@cline/core": 54.0,  # 60 s
    "continue-cli-client": 54.0,  # 60 s
}

_WHOLE_TOKENS = 4000
"""For a client that takes as much: see `docs/economics.md`."""

_TAKES_BYTES: dict[str, int] = {
    # Measured with its default settings: more is cut, or put into a file of the client's own.
    "claude-code": 48_000,  # 50,000 characters
    "codex-mcp-client": 12_000,  # 12.2 kB with a model it does not know, else 10,000 tokens
    "gemini-cli-mcp-client": 38_000,  # 40,000 characters
    "opencode": 24_000,  # 51,200 bytes or 2,000 lines
    "copilot-cli": 19_000,  # between 20 and 30 kB
    "qwen-cli-mcp-client": 19_000,  # between 20 and 40 kB
}

_STARTS_PER_CALL = frozenset({_SDK_DEFAULT, "inspector-cli", "mcporter"})
"""LangChain by default, LlamaIndex and CrewAI go by the SDK's name."""

_PRINTS_PICTURES = frozenset({_SDK_DEFAULT, "google-adk", "continue-cli-client", "@cline/core"})
"""What these give their model for a picture, measured: its base64 as text. AutoGen and LlamaIndex go by the SDK's name,
AutoGen re-encoded a picture of 13 kB into 135,912 tokens; LangChain, openai-agents, strands, agno and agent-framework,
which show one as a picture, cannot be told from them."""


def ceiling_for(client: str) -> Ceiling:
    """Return the limits for a client by the name it gives itself (`clientInfo.name`).

    A name that only begins with a product's counts as that one (`gemini-cli-mcp-client-myserver`); the SDK's default
    is no product, and `mcp-inspector` is not impatient for it. An unknown client gets the defaults, whose wait stays
    below the 30 s that several agent frameworks allow.
    """
    name = client.lower()
    products = (known for known in _WAITS_S if known != _SDK_DEFAULT and name.startswith(f"{known}-"))
    known = name if name in _WAITS_S else max(products, key=len, default=None)
    if known is None:
        return Ceiling()
    takes = _TAKES_BYTES.get(known)
    if takes is None:
        return Ceiling(patience_s=_WAITS_S[known])
    most = takes // _BYTES_PER_TOKEN_LEAST
    return Ceiling(takes, min(_WHOLE_TOKENS, most), most, _WAITS_S[known])


def starts_per_call(client: str) -> bool:
    """Tell whether a client of this name may start a server for every call, and end it with the answer."""
    return client.lower() in _STARTS_PER_CALL


def prints_pictures(client: str) -> bool:
    """Tell whether a client of this name may put a picture before its model as text, for thousands of tokens."""
    return client.lower() in _PRINTS_PICTURES
