"""What every client does with a server: lists its tools, makes the calls of a plan, and tells what came of each."""

import asyncio
import json
import sys


def play(connect):
    """Read a plan on standard input, carry it out, and print what came as JSON.

    Args:
        connect: given the plan, an asynchronous context manager that yields the names of the tools and a function
            that makes a call and returns (text of the reply, whether the client takes it for an error).
    """
    plan = json.load(sys.stdin)
    tools, replies = asyncio.run(_play(connect, plan))
    print(json.dumps({"tools": tools, "replies": replies}))


async def _play(connect, plan):
    replies, artifact = [], ""
    async with connect(plan) as (tools, call):
        for name, arguments in plan["calls"]:
            filled = {key: artifact if value == "$ARTIFACT" else value for key, value in arguments.items()}
            text, is_error = await _tried(call, name, filled)
            tries = 1
            if text.startswith("timeout:"):
                # What a model does then: on a busy machine the first call of a process may be too slow for the client.
                text, is_error = await _tried(call, name, filled)
                tries = 2
            replies.append([text, is_error, tries])
            if name == "terminal" and not is_error:
                artifact = _artifact(text)
    return list(tools), replies


async def _tried(call, name, arguments):
    try:
        return await call(name, arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}", None


def _artifact(text):
    try:
        return json.loads(text)["artifact"]
    except (ValueError, KeyError, TypeError):
        return ""


def bearer(plan):
    """Return the headers that a request over HTTP needs."""
    return {"Authorization": f"Bearer {plan['token']}"}


def first_text(blocks):
    """Return the text of the first text block of a result."""
    return next((block.text for block in blocks if block.type == "text"), "")
