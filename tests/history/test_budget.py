"""One budget for many conversations: each is continued as it was compacted, after a restart too."""

import json
from itertools import pairwise

import histories
import pytest
from bursar.budget.request import Limit, Request
from bursar.history.budget import Budget
from bursar.history.shelf import MemoryShelf, Shelf

LONG = "src/app_%s.py:7: error in the log\n" * 40


def grown(name, turns):
    messages = [{"role": "user", "content": "Why is it red?"}]
    for turn in range(turns):
        call = {"id": f"{name}{turn}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": name, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"{name}{turn}", "content": LONG % ((name,) * 40)})
    return messages


def asked(budget, name, turns):
    return budget.fit(Request("chat", grown(name, turns), None, histories.tools("chat")))


@pytest.fixture
def shelf(tmp_path):
    opened = Shelf.open("", tmp_path)
    yield opened
    opened.session.close()


def test_conversations_that_begin_alike_are_told_apart(shelf):
    budget = Budget(Limit(tokens=8000), shelf)
    sent = {name: [] for name in "abc"}
    for turns in range(1, 40):
        for name, before in sent.items():
            before.append(asked(budget, name, turns))
    for name, requests in sent.items():
        assert sum(b[: len(a)] != a for a, b in pairwise(requests)) in range(1, 8), name
        assert not any(other in json.dumps(requests) for other in {"app_a", "app_b", "app_c"} - {f"app_{name}"})


def test_a_compaction_is_remembered_across_a_restart(shelf, tmp_path):
    budget = Budget(Limit(tokens=8000), shelf, tmp_path / "memory.jsonl")
    for turns in range(1, 30):
        sent = asked(budget, "a", turns)
    budget.close()
    again = Budget(Limit(tokens=8000), shelf, tmp_path / "memory.jsonl")
    assert json.dumps(asked(again, "a", 29)) == json.dumps(sent)
    again.close()


def test_many_conversations_do_not_fill_the_memory(shelf):
    budget = Budget(Limit(tokens=8000), MemoryShelf())
    for number in range(200):
        budget.fit(Request("chat", [{"role": "user", "content": str(number)}]))
    assert len(budget._states) <= 64


def test_a_fresh_state_hides_no_compacted_one(shelf):
    budget = Budget(Limit(tokens=8000), shelf)
    for turns in range(1, 30):
        sent = asked(budget, "a", turns)
    asked(budget, "b", 1)
    assert asked(budget, "a", 29) == sent


def test_messages_that_are_made_anew_each_time_do_not_fill_the_memory(shelf):
    budget = Budget(Limit(tokens=8000), shelf)
    for turns in range(400):
        messages = [{"role": "user", "content": "Why is it red?"}, {"role": "assistant", "content": f"{turns}"}]
        budget.fit(Request("chat", [*messages, {"role": "user", "content": f"Go on {turns}"}]))
    (states,) = budget._states.values()
    assert all(len(one.measures._by_object) <= 80 for one in states)
    assert all(len(one.measures._by_digest) <= 80 for one in states)
