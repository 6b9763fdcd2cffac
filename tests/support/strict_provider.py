"""What a strict provider does with a request: rejects what is not valid, counts tokens, serves prefixes from its cache.

The rules are written by hand after the providers' own documents and share nothing with bursar.
"""

import json


def texts(value):
    """Yield all texts in a message; pictures are none."""
    if isinstance(value, str):
        if len(value) < 2000 or " " in value or "\n" in value or "base64," not in value[:60]:
            yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in ("data", "encrypted_content", "signature"):
                yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


def rejected(dialect, messages):
    """Return why a request would be rejected; empty if it would not be."""
    rules = {"chat": _chat, "responses": _responses, "anthropic": _anthropic, "google": _google}
    return (rules | {"pydantic_ai": _pydantic_ai, "langchain": _langchain})[dialect](messages)


def _chat(messages):
    if not messages or all(message["role"] == "system" for message in messages):
        return "no messages"
    waiting = []
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            waiting.remove(message["tool_call_id"])
            if not isinstance(message.get("content"), str | list):
                return "content of a tool message"
            continue
        if waiting:
            return "an assistant message with 'tool_calls' must be followed by tool messages"
        if message["role"] == "assistant":
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
            if not waiting and not message.get("content"):
                return "assistant message without content"
        elif message["role"] not in ("user", "system", "developer"):
            return f"role {message['role']!r}"
        elif not message.get("content"):
            return "no content"
    return "an assistant message with 'tool_calls' must be followed by tool messages" if waiting else ""


def _responses(items):
    made, answered = set(), set()
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            made.add(item["call_id"])
            if not isinstance(item["arguments"], str):
                return "arguments must be a string"
        elif kind == "function_call_output":
            if item["call_id"] not in made:
                return "No tool call found for function call output"
            answered.add(item["call_id"])
        elif kind == "reasoning":
            following = items[number + 1] if number + 1 < len(items) else {}
            if following.get("type") not in ("function_call", "reasoning") and following.get("role") != "assistant":
                return "Item of type 'reasoning' was provided without its required following item"
        elif not item.get("content"):
            return "no content"
    return "No tool output found for function call" if made - answered or not items else ""


def _anthropic(messages):
    if not messages or messages[0]["role"] != "user":
        return "first message must use the user role"
    waiting = set()
    for number, message in enumerate(messages):
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        if not blocks or any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            return "text content blocks must be non-empty"
        kinds = [block["type"] for block in blocks]
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if waiting - results:
            return "`tool_use` ids were found without `tool_result` blocks immediately after"
        if results - waiting:
            return "unexpected `tool_use_id` found in `tool_result` blocks"
        if results and any(kind != "tool_result" for kind in kinds[: len(results)]):
            return "tool_result blocks first"
        waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
        if waiting and message["role"] != "assistant":
            return "tool_use in a user message"
        if any(block["type"] == "tool_use" and not isinstance(block["input"], dict) for block in blocks):
            return "input should be a valid dictionary"
        if "thinking" in kinds and kinds[0] != "thinking":
            return "thinking blocks first"
        if any(block["type"] == "thinking" and not block.get("signature") for block in blocks):
            return "signature: field required"
        if message["role"] == "assistant" and number + 1 == len(messages) and waiting:
            return "`tool_use` ids were found without `tool_result` blocks"
    return ""


def _google(contents):
    if not contents or contents[0]["role"] != "user":
        return "Please ensure that multiturn requests begin with a user turn"
    waiting = []
    for content in contents:
        if not content["parts"]:
            return "contents.parts must not be empty"
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        answers = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        if content["role"] not in ("user", "model"):
            return "Please use a valid role: user, model"
        if sorted(answer["name"] for answer in answers) != sorted(call["name"] for call in waiting):
            return "the number of function response parts must equal the number of function call parts"
        if any(
            not isinstance(one, dict) for one in [call["args"] for call in calls] + [a["response"] for a in answers]
        ):
            return "Invalid value: must be a Struct"
        if any(not isinstance(part.get("text", ""), str) for part in content["parts"]):
            return "Invalid value at text"
        waiting = calls
    return "function call without function response" if waiting else ""


def _langchain(messages):
    waiting = set()
    for message in messages:
        if message["type"] == "tool":
            if message["tool_call_id"] not in waiting:
                return "result without a call"
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            return "calls without results"
        calls = message.get("tool_calls") or ()
        if any(not isinstance(call["args"], dict) for call in calls):
            return "args must be an object"
        waiting = {call["id"] for call in calls}
    return "calls without results" if waiting or not messages else ""


def _pydantic_ai(messages):
    waiting = set()
    for message in messages:
        if not message["parts"]:
            return "no parts"
        if message["kind"] == "response":
            if waiting:
                return "calls without returns"
            waiting = {part["tool_call_id"] for part in message["parts"] if part["part_kind"] == "tool-call"}
            continue
        returned = {part["tool_call_id"] for part in message["parts"] if part["part_kind"] == "tool-return"}
        if returned - waiting:
            return "returns without calls"
        waiting -= returned
    return "calls without returns" if waiting or not messages else ""


class Cache:
    """What a provider charges: what it saw before as the beginning of a request costs a tenth."""

    def __init__(self, count):
        self._count = count
        self._seen = []
        self._sizes = {}
        self.fresh = self.cached = 0

    def size(self, message):
        text = json.dumps(message, ensure_ascii=False, sort_keys=True)
        if text not in self._sizes:
            self._sizes[text] = self._count("\n".join(texts(message))) + 4
        return text, self._sizes[text]

    def ask(self, messages):
        """Book a request, and return its tokens."""
        sized = [self.size(message) for message in messages]
        same = 0
        while same < min(len(sized), len(self._seen)) and sized[same][0] == self._seen[same]:
            same += 1
        cached = sum(size for _, size in sized[:same])
        total = sum(size for _, size in sized)
        self.cached += cached
        self.fresh += total - cached
        self._seen = [text for text, _ in sized]
        return total

    @property
    def billed(self):
        return self.fresh + 0.1 * self.cached
