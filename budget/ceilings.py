"""What is known of clients: how large a result may be, and how long they wait for it."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Limits of one reply.

    Attributes:
        bytes: of the serialised reply, as UTF-8. 8,192 because the tightest client known (VS Code) cuts there.
        tokens: of the serialised reply, o200k.
        patience_s: seconds after which a call is answered, with what there is by then.
    """

    bytes: int = 8192
    tokens: int = 2000
    patience_s: float = 25.0


_SDK_DEFAULT = "mcp"
"""What a client built on the Python SDK calls itself unless told otherwise."""

_WAITS_S: dict[str, float] = {
    # Measured with each client's default settings against a slow tool; a tenth is kept back for the way there and back.
    _SDK_DEFAULT: 4.0,  # openai-agents and google-adk wait 5 s under it, agno 10 s
    "claude-code": 270.0,  # 300 s idle over HTTP, 30 min on stdio
    "codex-mcp-client": 270.0,  # tool_timeout_sec = 300
    "gemini-cli-mcp-client": 270.0,  # 600 s
    "opencode": 54.0,  # 60 s
    "github-copilot-developer": 162.0,  # 180 s
    "qwen-code": 135.0,  # more than 150 s
    "cline": 54.0,  # 60 s
    "continue": 54.0,  # 60 s
}


def ceiling_for(client: str, base: Ceiling) -> Ceiling:
    """Return the limits for a client by the name it gives itself (`clientInfo.name`).

    A name that only begins with a product's counts as that one (`gemini-cli-mcp-client-myserver`); the SDK's default
    is no product, and `mcp-inspector` is not impatient for it. An unknown client gets `base`, whose wait stays below
    the 30 s that several agent frameworks allow.
    """
    name = client.lower()
    products = (known for known in _WAITS_S if known != _SDK_DEFAULT and name.startswith(f"{known}-"))
    known = name if name in _WAITS_S else max(products, key=len, default=None)
    return base if known is None else replace(base, patience_s=_WAITS_S[known])
