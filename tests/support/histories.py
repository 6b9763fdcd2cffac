"""Histories in each provider's form, made from OpenAI's chat form: recorded, mutated, or generated at random."""

import base64
import json
import random
import struct
import zlib

CHINESE = "请用中文回答；所有路径保持原样。"


def bare(message):
    """Return a message without what was recorded beside it."""
    return {key: value for key, value in message.items() if key not in ("usage", "raw_output", "name")}


# Mutators: each takes messages in the chat form and returns others


def plain(messages):
    return messages


def parallel(messages):
    """Make of every two turns one with two calls."""
    out, index = [], 0
    while index < len(messages):
        first = messages[index : index + 4]
        roles = [message["role"] for message in first]
        if roles == ["assistant", "tool"] * 2 and all(m.get("tool_calls") for m in first[::2]):
            merged = {**first[0], "tool_calls": first[0]["tool_calls"] + first[2]["tool_calls"]}
            merged["content"] = "\n".join(filter(None, (first[0].get("content"), first[2].get("content")))) or None
            out += [merged, first[1], first[3]]
            index += 4
        else:
            out.append(messages[index])
            index += 1
    return out


def reasoning(messages):
    """Give every turn with a call what led to it."""
    return [
        {**message, "reasoning_content": f"I think of {(message.get('content') or 'this')[:400]}"}
        if message.get("tool_calls")
        else message
        for message in messages
    ]


def pictures(messages):
    """Put a picture behind each tenth message of a user or tool."""
    out = []
    for number, message in enumerate(messages):
        out.append(message)
        if number % 10 == 9 and message["role"] == "assistant" and not message.get("tool_calls"):
            out.append({"role": "user", "content": [{"type": "text", "text": "See."}, picture(200 + 10 * number, 300)]})
    return [
        {**message, "content": [{"type": "text", "text": message["content"]}, picture(200 + 10 * number, 300)]}
        if number % 10 == 1 and message["role"] == "user" and isinstance(message["content"], str)
        else message
        for number, message in enumerate(out)
    ]


def chinese(messages):
    return [
        {**message, "content": f"{message['content']}\n{CHINESE * 20}"}
        if message["role"] in ("system", "user") and isinstance(message["content"], str)
        else message
        for message in messages
    ]


def picture(width, height):
    """Make a block with a black picture."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = zlib.compress(b"\0" * (width * 3 + 1) * height)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


MUTATORS = {"plain": plain, "parallel": parallel, "reasoning": reasoning, "pictures": pictures, "chinese": chinese}


def random_history(seed):
    """Generate a valid history of odd parts: huge, tiny, many in parallel, without a goal, with pictures."""
    chance = random.Random(seed)
    messages = [{"role": "system", "content": _text(chance)}] if chance.random() < 0.7 else []
    messages.append({"role": "user", "content": _text(chance) or "go"})
    for turn in range(chance.choice((0, 1, 3, 10, 40))):
        calls = [
            {
                "id": f"c{turn}_{number}",
                "type": "function",
                "function": {"name": chance.choice(("bash", "search")), "arguments": _given(chance)},
            }
            for number in range(chance.choice((0, 1, 1, 1, 2, 8)))
        ]
        said = _text(chance) if chance.random() < 0.6 else None
        turns = {"role": "assistant", "content": said or ("ok" if not calls else None)}
        messages.append({**turns, "tool_calls": calls} if calls else turns)
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": _text(chance)} for call in calls]
        if not calls or chance.random() < 0.2:
            messages.append({"role": "user", "content": _text(chance) or "go on"})
    return messages


def _text(chance):
    unit = chance.choice(
        ("word ", "/src/a_b.py:12 error\n", "漢字、", "🙂", '{"k":[1,2,{"x":"y"}]}', "\ud800", "a" * 50)
    )
    return unit * min(6000, int(chance.paretovariate(0.7))) if chance.random() < 0.95 else ""


def _given(chance):
    if chance.random() < 0.1:
        return "{not json" * int(chance.paretovariate(0.7))
    return json.dumps({"command": _text(chance), "n": [1, 2], "deep": {"text": _text(chance)}})


# Forms


def to_chat(messages):
    return None, [bare(message) for message in messages]


def to_responses(messages):
    items = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            items.append(
                {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}
            )
            continue
        if message.get("reasoning_content"):
            summary = [{"type": "summary_text", "text": message["reasoning_content"]}]
            items.append(
                {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": "x" * 300}
            )
        if message.get("content"):
            items.append({"type": "message", "role": message["role"], "content": _responses_content(message)})
        calls = message.get("tool_calls") or ()
        items += [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls]
    return None, items


def _responses_content(message):
    if isinstance(message["content"], str):
        return message["content"]
    return [
        {"type": "input_text", "text": block["text"]}
        if block["type"] == "text"
        else {"type": "input_image", "image_url": block["image_url"]["url"]}
        for block in message["content"]
    ]


def to_anthropic(messages):
    system = "\n".join(message["content"] for message in messages if message["role"] == "system")
    out = []
    for message in messages:
        if message["role"] == "system":
            continue
        if message["role"] == "tool":
            block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
            if (
                out[-1]["role"] == "user"
                and isinstance(out[-1]["content"], list)
                and out[-1]["content"][-1].get("type") == "tool_result"
            ):
                out[-1]["content"].append(block)
            else:
                out.append({"role": "user", "content": [block]})
            continue
        blocks = []
        if message.get("reasoning_content"):
            blocks.append({"type": "thinking", "thinking": message["reasoning_content"], "signature": "s" * 200})
        content = message.get("content")
        if isinstance(content, str) and content.strip():
            blocks.append({"type": "text", "text": content})
        elif isinstance(content, list):
            blocks += [_anthropic_block(block) for block in content]
        blocks += [
            {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": arguments(call)}
            for call in message.get("tool_calls") or ()
        ]
        out.append({"role": message["role"], "content": blocks or "-"})
    return system or None, out


def _anthropic_block(block):
    if block["type"] == "text":
        return block
    data = block["image_url"]["url"].partition(",")[2]
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def arguments(call):
    try:
        given = json.loads(call["function"]["arguments"])
    except ValueError:
        given = call["function"]["arguments"]
    return given if isinstance(given, dict) else {"input": given}


def to_pydantic_ai(messages):
    out = []
    names = {call["id"]: call["function"]["name"] for m in messages for call in m.get("tool_calls") or ()}
    for message in messages:
        if message["role"] == "assistant":
            parts = []
            if message.get("reasoning_content"):
                parts.append({"part_kind": "thinking", "content": message["reasoning_content"], "signature": "s"})
            if message.get("content"):
                parts.append({"part_kind": "text", "content": message["content"]})
            for call in message.get("tool_calls") or ():
                called = {"tool_name": call["function"]["name"], "tool_call_id": call["id"]}
                parts.append({"part_kind": "tool-call", "args": call["function"]["arguments"], **called})
            out.append({"kind": "response", "parts": parts})
            continue
        if message["role"] == "tool":
            call = message["tool_call_id"]
            part = {
                "part_kind": "tool-return",
                "tool_name": names[call],
                "content": message["content"],
                "tool_call_id": call,
            }
        else:
            kind = "system-prompt" if message["role"] == "system" else "user-prompt"
            part = {"part_kind": kind, "content": _pydantic_content(message["content"])}
        if out and out[-1]["kind"] == "request":
            out[-1]["parts"].append(part)
        else:
            out.append({"kind": "request", "parts": [part]})
    return None, out


def _pydantic_content(content):
    if isinstance(content, str):
        return content
    return [
        block["text"]
        if block["type"] == "text"
        else {"kind": "binary", "media_type": "image/png", "data": block["image_url"]["url"].partition(",")[2]}
        for block in content
    ]


def to_google(messages):
    """As Google's own API has it: results without an id, an answer to each call of the turn before, in its order."""
    system = "\n".join(message["content"] for message in messages if message["role"] == "system")
    out = []
    names = {}
    for message in messages:
        if message["role"] == "system":
            continue
        # An id may be given again.
        names |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls") or ()}
        if message["role"] == "tool":
            part = {
                "functionResponse": {"name": names[message["tool_call_id"]], "response": {"result": message["content"]}}
            }
            if out and out[-1]["role"] == "user" and "functionResponse" in out[-1]["parts"][0]:
                out[-1]["parts"].append(part)
            else:
                out.append({"role": "user", "parts": [part]})
            continue
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        parts = [
            {"text": block["text"]}
            if block["type"] == "text"
            else {"inlineData": {"mimeType": "image/png", "data": block["image_url"]["url"].partition(",")[2]}}
            for block in blocks
        ]
        if message.get("reasoning_content"):
            parts.insert(0, {"text": message["reasoning_content"], "thought": True})
        calls = [{"name": c["function"]["name"], "args": arguments(c)} for c in message.get("tool_calls") or ()]
        parts += [{"functionCall": call} for call in calls]
        if calls and message.get("reasoning_content"):
            parts[-len(calls)]["thoughtSignature"] = "c2ln" * 50
        out.append({"role": "model" if message["role"] == "assistant" else "user", "parts": parts})
    return system or None, out


def to_langchain(messages):
    out = []
    for message in messages:
        kind = {"user": "human", "assistant": "ai"}.get(message["role"], message["role"])
        content = message.get("content") or ""
        if message.get("reasoning_content"):
            said = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
            content = [{"type": "thinking", "thinking": message["reasoning_content"], "signature": "s"}, *said]
        one = {"type": kind, "content": content}
        if message.get("tool_calls"):
            calls = message["tool_calls"]
            one["tool_calls"] = [{"name": c["function"]["name"], "args": arguments(c), "id": c["id"]} for c in calls]
        out.append(one | ({"tool_call_id": message["tool_call_id"]} if kind == "tool" else {}))
    return None, out


FORMS = {
    "chat": to_chat,
    "responses": to_responses,
    "anthropic": to_anthropic,
    "google": to_google,
    "pydantic_ai": to_pydantic_ai,
    "langchain": to_langchain,
}


def tools(dialect, names=("bash", "read_artifact")):
    """Write what a request offers."""
    schemas = {
        "bash": {"type": "object", "properties": {"command": {"type": "string"}}},
        "read_artifact": {"type": "object", "properties": {"artifact": {"type": "string"}, "grep": {"type": "string"}}},
    }
    schemas = {name: schemas.get(name, {"type": "object", "properties": {}}) for name in names}
    if dialect == "chat":
        return [{"type": "function", "function": {"name": n, "parameters": s}} for n, s in schemas.items()]
    if dialect == "responses":
        return [{"type": "function", "name": n, "parameters": s} for n, s in schemas.items()]
    key = "input_schema" if dialect == "anthropic" else "parameters_json_schema"
    return [{"name": n, key: s} for n, s in schemas.items()]
