"""What is sacrificed, in which order, how it is found again, and that nothing else is touched."""

import json
import logging
import subprocess
import sys

import pytest
from bursar.budget.request import (
    Limit,
    Request,
    RequestTooLarge,
    State,
    Usage,
    apply,
    estimate,
    fit,
    plan,
    problems,
    prompt_tokens,
)
from histories import FORMS, picture, tools
from strict_provider import rejected, texts

GOAL = "Find why the build of /srv/app is red."
LIMIT = Limit(tokens=16_000)


def call(number, name="bash", **given):
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}


def turn(number, result, name="bash", reasoning=None, **given):
    """Write an assistant's turn with one call and its result."""
    message = {"role": "assistant", "content": f"Step {number}.", "tool_calls": [call(number, name, **given)]}
    if reasoning:
        message["reasoning_content"] = reasoning
    return [message, {"role": "tool", "tool_call_id": f"c{number}", "content": result}]


def session(turns=60, size=120, **given):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": GOAL}]
    for number in range(turns):
        messages += turn(
            number, f"src/app_{number}.py:{number}: note\n" * size, command=f"cat logs/{number}.log", **given
        )
    return messages


class Shelf(dict):
    def __call__(self, leaving):
        self[f"a{len(self)}"] = leaving.data.decode()
        return f"a{len(self) - 1}"


def of(dialect, messages, **given):
    system, written = FORMS[dialect](messages)
    return Request(dialect, written, system, given.pop("tools", tools(dialect)), **given)


def fitted(messages, limit=LIMIT, dialect="chat", **given):
    shelf = Shelf()
    return fit(of(dialect, messages, **given), limit, shelf), shelf


def said(messages):
    return "\n".join(text for message in messages for text in texts(message))


def contents(messages, role):
    return [message["content"] for message in messages if message["role"] == role]


# The order of sacrifice


def test_what_fits_is_sent_as_it_is():
    request = of("chat", session(3))
    shelf = Shelf()
    sent = fit(request, LIMIT, shelf)
    assert sent.messages == session(3)
    assert all(one is other for one, other in zip(sent.messages, request.messages, strict=True))
    assert (sent.told, shelf) == ({}, {})


def test_old_results_go_first_and_every_message_stays():
    messages = session(14)
    sent, shelf = fitted(messages)
    assert len(sent.messages) == len(messages)
    assert sent.told["replaced"] > 0
    assert sent.told["dropped"] == 0
    notes = [text.startswith('{"omitted"') for text in contents(sent.messages, "tool")]
    assert notes == sorted(notes, reverse=True)
    assert all(messages[3 + 2 * int(number)]["content"] == shelf[f"a{number}"] for number in range(len(shelf)))


def test_the_newest_results_are_not_replaced():
    sent, _ = fitted(session(14), Limit(tokens=16_000, keep_results=5))
    assert contents(sent.messages, "tool")[-5:] == contents(session(14), "tool")[-5:]


def test_what_came_again_later_goes_before_what_is_older():
    messages = session(14)
    messages[9]["content"] = messages[27]["content"]
    sent, _ = fitted(messages, Limit(tokens=16_000, low=0.85, gain=0.01))
    replaced = [index for index, text in enumerate(contents(sent.messages, "tool")) if text.startswith('{"omitted"')]
    assert replaced[0] == 0 or replaced == [3]
    assert 3 in replaced


def test_equal_results_are_stored_once():
    messages = session(14)
    for index in (3, 5, 7):
        messages[index]["content"] = messages[3]["content"]
    sent, shelf = fitted(messages)
    assert sent.told["replaced"] > len(shelf)


def test_long_arguments_become_short_valid_json_with_the_same_id_and_name():
    messages = session(2, size=5)
    for number in range(30):
        messages += turn(100 + number, "ok", command="write", path="a.py", text="x = 1\n" * 400)
    sent, shelf = fitted(messages)
    assert sent.told["shortened"] > 0
    shown = [call for message in sent.messages for call in message.get("tool_calls") or ()]
    short = [call for call in shown if "stored" in call["function"]["arguments"]]
    assert short
    for one in short:
        given = json.loads(one["function"]["arguments"])
        assert one["function"]["name"] == "bash"
        assert given["path"] == "a.py"
        assert given["text"]["chars"] == 2400
        name = given["text"]["stored"].split('"')[1]
        assert json.loads(shelf[name])["text"] == "x = 1\n" * 400


def test_arguments_that_are_no_json_become_json():
    messages = session(2, size=5)
    for number in range(30):
        messages += turn(100 + number, "ok")
        messages[-2]["tool_calls"][0]["function"]["arguments"] = "{broken " * 400
    sent, _ = fitted(messages)
    given = [call["function"]["arguments"] for m in sent.messages for call in m.get("tool_calls") or ()]
    assert any('"stored"' in one and json.loads(one)["chars"] == 3200 for one in given)


@pytest.mark.parametrize("dialect", FORMS)
def test_old_pictures_become_notes_and_are_counted_by_their_area(dialect):
    messages = session(1, size=5)
    for _ in range(30):
        messages += [
            {"role": "user", "content": [{"type": "text", "text": "See this."}, picture(1200, 1000)]},
            {"role": "assistant", "content": "Seen."},
        ]
    messages.append({"role": "user", "content": "And now?"})
    request = of(dialect, messages)
    assert 30 * 1600 <= estimate(request).tokens <= 1.25 * 30 * 1700
    sent, shelf = fitted(messages, Limit(tokens=32_000), dialect=dialect)
    assert sent.told["replaced"] >= 20
    assert not rejected(dialect, sent.messages)
    assert all("base64" in kept or '"data"' in kept for kept in shelf.values() if "See this" not in kept)


def test_the_oldest_turns_become_one_ledger_behind_the_goal():
    messages = session(200)
    messages[20:20] = [{"role": "user", "content": "Leave /etc/hosts alone."}]
    messages[61:61] = [{"role": "user", "content": "Go on."}]
    sent, shelf = fitted(messages)
    assert sent.told["dropped"] > 0
    assert sent.messages[:2] == messages[:2]
    ledger = json.loads(sent.messages[2]["content"])
    assert ledger["user"] == ["Leave /etc/hosts alone."]
    assert ledger["did"]
    assert ledger["files"]
    name = ledger["read"][0].split('"')[1]
    dropped = [json.loads(line) for line in shelf[name].splitlines()]
    assert dropped == [message for message in messages if message in dropped]
    assert len(dropped) == sent.told["dropped"]


def test_a_result_larger_than_its_share_is_cut_to_both_ends():
    messages = [*session(1, size=1), *turn(9, "".join(f"row {n}\n" for n in range(20_000)), command="dump")]
    sent, shelf = fitted(messages)
    shown = json.loads(sent.messages[-1]["content"])
    assert shown["head"].startswith("row 0\n")
    assert shown["tail"].endswith("row 19999\n")
    assert "read_artifact" in shown["omitted"]
    assert shelf["a0"] == messages[-1]["content"]
    assert sent.told["truncated"] == 1


def test_a_turn_with_many_large_results_fits_too():
    calls = [call(number, command=f"cat {number}") for number in range(40)]
    messages = [*session(1, size=1), {"role": "assistant", "content": None, "tool_calls": calls}]
    messages += [{"role": "tool", "tool_call_id": one["id"], "content": "row\n" * 3000} for one in calls]
    sent, _ = fitted(messages)
    assert sent.told["truncated"] == 40
    assert estimate(of("chat", messages), sent.state).tokens <= 16_000


# What is left alone


@pytest.mark.parametrize("dialect", FORMS)
def test_goal_and_newest_prompt_stay_word_for_word(dialect):
    messages = [*session(60), {"role": "user", "content": "Now fix it. " * 50}, *session(80)[2:]]
    sent, _ = fitted(messages, dialect=dialect)
    assert GOAL in said(sent.messages)
    assert "Now fix it. " * 50 in said(sent.messages)


def test_what_is_pinned_and_the_instruction_of_the_step_stay_the_same_objects():
    request = of("chat", session(200), pins=frozenset({31}), step=44)
    sent = fit(request, LIMIT, Shelf())
    kept = {id(message) for message in sent.messages}
    assert {id(request.messages[31]), id(request.messages[44])} <= kept
    assert problems(Request("chat", sent.messages)) == []


def test_an_open_call_stays_with_all_of_its_turn():
    messages = session(200)
    messages.append({"role": "assistant", "content": None, "tool_calls": [call(998), call(999)]})
    messages.append({"role": "tool", "tool_call_id": "c998", "content": "ok"})
    sent, _ = fitted(messages)
    assert sent.messages[-2:] == messages[-2:]
    assert problems(Request("chat", sent.messages)) == [
        f"message {len(sent.messages) - 2}: call 'c999' has no result",
    ]


@pytest.mark.parametrize("dialect", FORMS)
def test_reasoning_of_the_current_loop_stays_with_its_turn(dialect):
    messages = session(80, reasoning="I think so. " * 20)
    sent, _ = fitted(messages, dialect=dialect)
    written = FORMS[dialect](messages)[1]
    assert not rejected(dialect, sent.messages)
    thoughts = [block for message in written for block in thoughts_of(message)]
    shown = [block for message in sent.messages for block in thoughts_of(message)]
    assert shown == thoughts[len(thoughts) - len(shown) :]
    assert len(shown) == sum("Step" in text for text in texts(sent.messages) if not text.startswith("{"))


def thoughts_of(message):
    if message.get("reasoning_content"):
        return [message["reasoning_content"]]
    if message.get("type") == "reasoning":
        return [message]
    blocks = message.get("parts") or message.get("content") or ()
    blocks = [block for block in blocks if isinstance(block, dict)]
    return [one for one in blocks if "thinking" in (one.get("type"), one.get("part_kind")) or one.get("thought")]


def test_signed_turns_keep_their_arguments():
    messages = session(2, size=5)
    for number in range(30):
        messages += turn(100 + number, "ok", reasoning="So be it.", text="x = 1\n" * 400)
    sent, _ = fitted(messages, dialect="responses")
    assert not [item for item in sent.messages if "stored" in str(item.get("arguments"))]
    assert sent.told["dropped"] > 0


@pytest.mark.parametrize("dialect", ["chat", "anthropic"])
def test_reasoning_of_finished_loops_is_dropped(dialect):
    messages = session(40, size=3, reasoning="I think so. " * 120)
    messages += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Thanks. And the tests?"}]
    sent, _ = fitted(messages, dialect=dialect)
    assert sent.told["shortened"] > 0
    assert sent.told["dropped"] == 0
    assert not rejected(dialect, sent.messages)


# How it is found again


@pytest.mark.parametrize(
    ("names", "reference", "how"),
    [
        (("bash", "read_artifact"), "a1", 'read_artifact(artifact="a1", grep=…)'),
        (("bash", "mcp__bursar__read_artifact"), "a1", 'mcp__bursar__read_artifact(artifact="a1", grep=…)'),
        (("bash", "read_file"), "/tmp/a1", 'read_file(path="/tmp/a1")'),
        (("bash",), "/tmp/a1", 'bash(command="grep -n … /tmp/a1")'),
        (("bash",), "a1", 'run again: bash({"command": "cat logs/0.log"})'),
        (("search",), "a1", "nothing here can read it"),
    ],
)
def test_a_placeholder_names_a_tool_that_the_request_offers(names, reference, how):
    request = of("chat", session(14), tools=tools("chat", names))
    sent = fit(request, LIMIT, lambda leaving: reference)
    assert json.loads(sent.messages[3]["content"])["omitted"].partition("; ")[2] == how


def test_when_the_tools_change_the_placeholders_do():
    request = of("chat", session(14))
    sent = fit(request, LIMIT, lambda leaving: "/tmp/a1")
    assert "read_artifact" in sent.messages[3]["content"]
    other = of("chat", session(14), tools=tools("chat", ("read_file",)))
    again = apply(other, None, None, sent.state).messages
    assert "read_artifact" not in said(again)
    assert 'read_file(path="/tmp/a1")' in json.loads(again[3]["content"])["omitted"]


def test_what_was_read_from_an_artifact_points_to_that_artifact():
    messages = session(1, size=1)
    for number in range(12):
        messages += turn(50 + number, "row\n" * 600, "read_artifact", artifact="ses_x/a7", lines=f"{number}-41")
    sent, shelf = fitted(messages)
    note = json.loads(contents(sent.messages, "tool")[1])["omitted"]
    assert note.endswith('run again: read_artifact({"artifact": "ses_x/a7", "lines": "0-41"})')
    assert shelf == {}


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("", "terminal"),
        ("", "edit_file"),
        ("", "call_tool"),
        ("mcp__bursar__", "terminal"),
        ("mcp__bursar__", "git__log"),
    ],
)
def test_what_is_an_artifact_already_is_not_stored_again(before, name):
    messages = session(1, size=1)
    for number in range(12):
        text = f'{{"artifact":"a{900 + number}-terminal.log"}}\n' + "row\n" * 600
        messages += turn(50 + number, text, before + name)
    sent, shelf = fitted(messages, tools=tools("chat", (before + name, f"{before}read_artifact")))
    assert 'artifact="a900-terminal.log"' in json.loads(contents(sent.messages, "tool")[1])["omitted"]
    assert shelf == {}


def test_what_only_pretends_to_be_an_artifact_is_stored():
    messages = session(1, size=1)
    for number in range(12):
        messages += turn(50 + number, f'{{"artifact":"a{900 + number}-page.md"}}\n' + "row\n" * 600, "fetch")
    sent, shelf = fitted(messages)
    assert 'artifact="a0"' in json.loads(contents(sent.messages, "tool")[1])["omitted"]
    assert shelf["a0"] == messages[5]["content"]


def test_only_what_is_needed_is_stored():
    sent, shelf = fitted(session(200))
    shown = said(sent.messages).replace("\\", "")
    assert all(f'artifact="{name}"' in shown for name in shelf)


def test_long_texts_of_the_user_are_told_by_their_start_and_short_ones_whole():
    messages = session(200)
    for place, text in ((20, "word " * 3000), (41, "Leave /etc/hosts alone."), (100, "Go on.")):
        messages[place:place] = [{"role": "user", "content": text}]
    user = json.loads(fitted(messages)[0].messages[2]["content"])["user"]
    assert user[0].startswith("word word")
    assert user[0].endswith("…")
    assert user[1] == "Leave /etc/hosts alone."


def test_names_that_calls_used_come_first_in_the_ledger():
    messages = session(200)
    for index in (20, 40, 60, 80):
        messages[index]["tool_calls"][0]["function"]["arguments"] = '{"command":"cat src/core/rare_module.py"}'
    assert json.loads(fitted(messages)[0].messages[2]["content"])["files"][0] == "src/core/rare_module.py"


def test_what_is_recent_stays_while_older_turns_go():
    messages = session(60)
    sent, _ = fitted(messages)
    assert sent.told["dropped"] > 0
    recent = sum(text in said(sent.messages) for text in contents(messages, "tool"))
    assert recent * 1.25 * 1300 > 0.3 * 16_000


def test_how_a_command_ended_stands_in_its_placeholder_and_in_the_ledger():
    messages = session(14)
    messages[3]["content"] += "exit code: 3"
    sent, _ = fitted(messages)
    assert json.loads(sent.messages[3]["content"])["exit_code"] == 3
    messages = session(200)
    messages[61]["content"] = "<returncode>7</returncode> Error: no such table\n"
    messages[60]["content"] = "We must use sqlite instead of the old store here."
    ledger = json.loads(fitted(messages, Limit(tokens=16_000, digest=0.2))[0].messages[2]["content"])
    assert "Error: no such table" in str(ledger["errors"])
    assert any(one.endswith("→ 7") for one in ledger["did"]) or len(ledger["did"]) < 100
    assert ledger["decided"] == ["We must use sqlite instead of the old store here."]


# From request to request


@pytest.mark.parametrize("dialect", FORMS)
def test_between_compactions_each_request_extends_the_last_byte_for_byte_also_after_a_restart(dialect):
    messages = session(60)
    shelf, state, before, compactions = Shelf(), State(), [], []
    for end in range(4, len(messages), 2):
        request = of(dialect, messages[:end])
        sent = fit(request, LIMIT, shelf, State.from_json(state.to_json()))
        state, written = sent.state, [json.dumps(message) for message in sent.messages]
        if sent.told:
            compactions.append(end)
        else:
            assert written[: len(before)] == before
        before = written
    grown = estimate(Request(dialect, request.messages)).tokens
    assert 1 < len(compactions) <= grown / (0.30 * 16_000)


def test_many_spans_are_stored_as_one_again():
    messages = session(300, size=20)
    shelf, state = Shelf(), State()
    for end in range(4, len(messages), 4):
        sent = fit(of("chat", messages[:end]), Limit(tokens=3000), shelf, state)
        state = sent.state
        assert len(state.spans) <= 9
    assert sum(count for _, count in state.spans) == sum(end - start for start, end in state.folded)
    told = json.loads(sent.messages[2]["content"])
    kept = [line for read in told["read"] for line in shelf[read.split('"')[1]].splitlines()]
    assert [json.loads(line) for line in kept] == messages[2 : 2 + len(kept)]


def test_another_history_voids_the_state():
    messages = session(200)
    sent, _ = fitted(messages)
    other = [messages[0], {"role": "user", "content": "Something else."}, *messages[2:6]]
    assert apply(of("chat", other), None, None, sent.state).messages == other
    changed = [*messages[:50], {**messages[50], "content": "Otherwise."}, *messages[51:]]
    again = fit(of("chat", changed), LIMIT, Shelf(), sent.state)
    assert again.told["before"] > 16_000


def test_a_request_near_the_limit_is_not_compacted_twice():
    messages = session(14)
    sent, _ = fitted(messages)
    assert plan(of("chat", [*messages, {"role": "user", "content": "go on"}]), LIMIT, sent.state) is None


def test_without_gain_there_is_no_compaction():
    messages = [{"role": "user", "content": "word " * 11_500}]
    request = of("chat", messages)
    assert estimate(request).tokens > 0.88 * 16_000
    assert plan(request, LIMIT) is None


def test_next_compaction_only_after_a_tenth_of_growth():
    messages = [{"role": "user", "content": "word " * 10_000}, *session(12, size=20)[2:]]
    shelf, state, compactions = Shelf(), State(), []
    for number in range(200):
        messages += turn(1000 + number, "ok then", command="true")
        try:
            sent = fit(of("chat", messages), LIMIT, shelf, state)
        except RequestTooLarge:
            break
        state = sent.state
        compactions += [sent.told] if sent.told else []
    assert len(compactions) < 12


def test_after_a_pause_a_compaction_costs_nothing_and_comes_earlier():
    request = of("chat", session(8))
    assert 0.60 * 16_000 < estimate(request).tokens < 0.88 * 16_000
    assert plan(request, LIMIT) is None
    assert plan(request, LIMIT, idle_s=301) is not None


def test_a_refused_request_is_compacted_although_it_seems_to_fit():
    request = of("chat", session(10))
    forced = plan(request, LIMIT, is_forced=True)
    assert forced is not None
    assert forced.after.tokens <= 0.5 * 16_000


# What it costs


def test_an_estimate_without_usage_leaves_a_quarter():
    request = of("chat", session(10))
    exact = estimate(request, usage=Usage(100_000_000, 22))
    assert exact.by == "count"
    assert exact.ratio == 1.25


def test_an_estimate_follows_what_the_provider_counted():
    messages = session(10)
    counted = estimate(of("chat", messages[:12])).tokens / 1.25
    told = estimate(of("chat", messages), usage=Usage(round(1.1 * counted), 12))
    assert told.by == "usage"
    assert told.ratio == pytest.approx(1.1, rel=0.001)
    assert told.tokens == pytest.approx(1.1 * estimate(of("chat", messages)).tokens / 1.25, rel=0.001)


@pytest.mark.parametrize("tokens", [0, 1, 10**9])
def test_a_usage_that_cannot_be_is_ignored(tokens):
    assert estimate(of("chat", session(10)), usage=Usage(tokens, 20)).by == "count"


def test_a_usage_from_before_a_compaction_is_void_but_its_ratio_stays():
    messages = session(40)
    usage = Usage(round(1.5 * estimate(of("chat", messages[:60])).tokens / 1.25), 60)
    sent = fit(of("chat", messages), LIMIT, Shelf(), None, usage)
    assert sent.told["estimated_by"] == "usage"
    after = estimate(of("chat", messages), sent.state, usage)
    assert after.tokens < 0.52 * 16_000
    assert after.ratio == pytest.approx(1.5, rel=0.001)


def test_tools_and_instructions_count():
    few, many = (of("chat", session(2), tools=tools("chat", [f"tool_{n}" for n in range(k)])) for k in (1, 100))
    assert estimate(many).tokens > estimate(few).tokens + 1000


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 12, "completion_tokens": 3}, 12),
        ({"input_tokens": 12, "input_tokens_details": {"cached_tokens": 8}}, 12),
        ({"input_tokens": 2, "cache_read_input_tokens": 9, "cache_creation_input_tokens": 1}, 12),
        ({"promptTokenCount": 12}, 12),
        ({}, 0),
    ],
)
def test_the_tokens_of_a_prompt_are_read_from_each_providers_usage(usage, tokens):
    assert prompt_tokens(usage) == tokens


def test_a_limit_of_characters_holds_without_any_of_tokens():
    messages = session(200, size=300)
    assert sum(map(len, texts(messages))) > 1_000_000
    sent, _ = fitted(messages, Limit())
    assert sum(map(len, texts(sent.messages))) < 500_000
    assert sent.told["after_chars"] <= 450_000


# What cannot be


def test_a_prompt_over_the_limit_fails_at_once_and_says_what_to_do():
    messages = [*session(3), {"role": "user", "content": "word " * 20_000}]
    with pytest.raises(RequestTooLarge) as refused:
        plan(of("chat", messages), LIMIT)
    error = refused.value
    assert error.code == "request_too_large"
    assert error.estimate > 25_000
    assert error.limit == 16_000
    assert error.largest[0].startswith("message 8 (user) 25,")
    assert "limit: 16,000 tokens and 900,000 characters" in error.message
    assert error.fix


def test_tools_over_the_limit_are_an_error_of_their_own():
    many = tools("chat", [f"tool_number_{n}" for n in range(800)])
    with pytest.raises(RequestTooLarge) as refused:
        plan(of("chat", session(3), tools=many), LIMIT)
    assert refused.value.code == "overhead_too_large"
    assert "instructions and tools" in refused.value.largest[0]


def test_when_all_is_pinned_the_request_fails():
    messages = session(100)
    with pytest.raises(RequestTooLarge):
        plan(of("chat", messages, pins=frozenset(range(len(messages)))), LIMIT)


@pytest.mark.parametrize("messages", [[], [{"role": "system", "content": "Be brief."}]])
@pytest.mark.parametrize("dialect", FORMS)
def test_an_empty_history_is_sent_as_it_is(dialect, messages):
    request = of(dialect, messages)
    assert apply(request, plan(request, LIMIT)).messages == request.messages


def test_nothing_leaves_without_a_reference():
    request = of("chat", session(14))
    planned = plan(request, LIMIT)
    assert planned is not None
    assert planned.leaving
    with pytest.raises(KeyError):
        apply(request, planned, {})


def test_a_store_that_fails_stops_the_request_before_anything_is_lost():
    def full(leaving):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fit(of("chat", session(14)), LIMIT, full)


def test_a_compaction_is_one_line_of_the_log(caplog):
    with caplog.at_level(logging.INFO, "bursar.request"):
        fitted(session(3))
        assert caplog.records == []
        fitted(session(14))
    (record,) = caplog.records
    told = json.loads(record.getMessage().partition(" ")[2])
    assert record.levelname == "INFO"
    assert told["before"] > told["after"]
    assert told["limit"] == 16_000
    assert {"replaced", "shortened", "truncated", "dropped", "estimated_by", "prefix_kept"} <= told.keys()


def test_neither_bursar_nor_its_server_imports_it():
    code = (
        "import sys, bursar, bursar.server.stdio; print([n for n in sys.modules if n.startswith('bursar.budget.req')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("dialect", FORMS)
def test_what_cannot_fit_is_refused_before_anything_is_sacrificed(dialect, monkeypatch):
    monkeypatch.setattr("bursar.budget.request.draft.Draft.compact", lambda draft: pytest.fail("sacrificed"))
    messages = [*session(), {"role": "user", "content": "word " * 20_000}]
    with pytest.raises(RequestTooLarge, match="what may not be left out takes"):
        plan(of(dialect, messages), LIMIT)
