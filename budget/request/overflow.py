"""Whether a provider refused a request because it was too long: each says it in words of its own."""

import re

_SCANNED_MAX_CHARACTERS = 4096

_TOO_LONG = re.compile(
    r"context_length_exceeded|model_context_window_exceeded|request_too_large|exceed_context_size_error"
    r"|maximum context length"  # OpenAI, DeepSeek, vLLM
    r"|exceeds the context window|context window exceeds"  # OpenAI Responses, MiniMax
    r"|prompt is too long|input length and `max_tokens` exceed"  # Anthropic
    r"|input token count .{0,40}exceeds"  # Google
    r"|input is too long|too many input tokens"  # Bedrock
    r"|exceeds? the available context size|exceeded max context length"  # llama.cpp, Ollama
    r"|(?:reduce|shorten) the length of (?:the )?(?:messages|prompt|input)",
    re.IGNORECASE,
)
_SIZE = re.compile(r"(?:token|length|context|too (?:long|large)|size)", re.IGNORECASE)
_OUTPUT = re.compile(
    r"rate.?limit|per (?:min|day|hour)|quota|max_(?:output_|completion_)?tokens (?:must|is too)", re.IGNORECASE
)
_SIZED_STATUS = {400, 413}


def is_overflow(status: int | None, message: str) -> bool:
    """Tell whether a refusal means that the request was too long: then compact once, with `is_forced`, and try again.

    Args:
        status: of HTTP, if known; a rate limit (429) is none of this, whatever it says of tokens.
        message: what the provider said, as text or JSON.
    """
    said = message[:_SCANNED_MAX_CHARACTERS]
    if status == 429 or _OUTPUT.search(said):
        return False
    return _TOO_LONG.search(said) is not None or (status in _SIZED_STATUS and _SIZE.search(said) is not None)
