"""What may go wrong while a task's result becomes a sentence: results, models, disks, counters, logs."""

import logging
import random
import time
from contextlib import ExitStack
from unittest.mock import patch

import anyio
from bursar.agent import task
from bursar.budget import tokens

RAW = (
    *(
        "",
        " \n\t ",
        "...",
        "Done.",
        "Dr. Smith fixed src/app.py v1.2.3. All is well.",
        "# Title\n\n* one\n* two\n",
        "\0" * 50,
    ),
    *("\ud800\udc00 half", "漢字決定。改用新的。" * 900, "🙂" * 3000, "word " * 30_000, "w" * 40_000, "line\n" * 9000),
    *(
        "Traceback:\nValueError: no such thing\n",
        "FAILED tests/test_x.py::test_y - assert 1 == 2",
        "\u2028a\u202eb\x85c",
    ),
)
ANSWERS = (
    *(
        "It works.",
        "",
        "  ",
        "One. Two! Three?",
        "```\nfenced\n```",
        "x" * 300_000,
        "word " * 20_000,
        "\ud800",
        "a\nb\r\nc\u2029d",
    ),
    *(
        ". ".join(f"Sentence {n}" for n in range(50)),
        "漢字。" * 3000,
        "…" * 9000,
        None,
        7,
        ["It"],
        {"tool": "call"},
        b"It",
    ),
)
RAISED = (
    ValueError("x" * 9000),
    SystemExit(3),
    MemoryError(),
    RecursionError(),
    UnicodeError("\ud800"),
    GeneratorExit(),
)


def _model(chance):
    """Return a summariser that may do anything."""
    answer, raised = chance.choice(ANSWERS), chance.choice(RAISED)

    async def answers(prompt):
        return answer

    async def raises(prompt):
        raise raised

    async def hangs(prompt):
        await anyio.sleep(60)

    def in_thread(prompt):
        return answer

    def raises_in_thread(prompt):
        raise ValueError("no")

    return chance.choice((None, answers, answers, raises, raises, hangs, in_thread, raises_in_thread))


def _broken(*_, **__):
    raise OSError("broken")


async def trial(seed, shelf):
    """Report once, with faults; return what is wrong with the sentence, or nothing."""
    chance = random.Random(seed)
    raw, name = chance.choice(RAW), chance.choice(("task:general", "task:explore", "task:skill:a-b.c"))
    most = chance.choice((4096, 4096, 4096, 300, 40, 1))
    began = time.monotonic()
    with ExitStack() as faults:
        if chance.random() < 0.2:
            faults.enter_context(patch.object(tokens, chance.choice(("fits", "count", "estimate")), _broken))
        if chance.random() < 0.2:
            faults.enter_context(patch.object(type(shelf.session), "writer", _broken))
        if chance.random() < 0.2:
            faults.enter_context(patch.object(logging.getLogger("bursar.task"), "info", _broken))
        if chance.random() < 0.1:
            faults.enter_context(patch.object(task, "_sentences", _broken))
        line = await task.report(
            name,
            raw,
            failed=chance.random() < 0.3,
            summarise=_model(chance),
            timeout_s=0.02,
            max_tokens=most,
            shelf=shelf,
        )
    if not isinstance(line, str) or not line.strip():
        return f"seed {seed}: {line!r:.80}"
    if len(line.splitlines()) != 1 or tokens.count(line) > most:
        return f"seed {seed}: {tokens.count(line)} tokens of {most}: {line!r:.80}"
    took_s = time.monotonic() - began
    return f"seed {seed}: {took_s:.2f} s" if took_s > 5 else ""
