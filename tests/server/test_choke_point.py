"""Whatever a tool does, its caller gets one small reply, and what it captured is kept."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from bursar.budget import reply, tokens
from bursar.budget.page import Page, Piece
from bursar.errors import BursarError
from bursar.server.arguments import checked
from bursar.server.config import Settings
from bursar.server.resource_view import ResourceView
from bursar.server.schema import described
from bursar.tools import tools
from bursar.tools.base import Done, Picture, Reading, Tool, ToolArgs
from bursar.tools.write_pdf import WritePdf
from harness import dispatching
from replies import reply_of

LINE = "a line of output that is long enough to matter\n"


class NoArgs(ToolArgs):
    pass


def tool(work):
    """Make a tool of a coroutine function that gets its call."""

    class Made(Tool[NoArgs]):
        """Made for a test."""

        name = "made"
        Args = NoArgs

        def did(self, args):
            return "made"

        async def run(self, args, call):
            return await work(call)

    return Made()


@pytest.fixture
def ask(tmp_path):
    """Call a tool through the choke point; returns its answer."""
    with dispatching(tmp_path, tmp_path) as dispatcher:

        def ask(work, *, patience_s=20.0, arguments=None, times=1):
            dispatcher.settings = replace(dispatcher.settings, patience_s=patience_s)
            dispatcher.tools = {"made": tool(work)}

            async def run():
                for _ in range(times):
                    answer = await dispatcher.answer("made", arguments or {}, dispatcher.client("test"))
                return answer

            return anyio.run(run)

        yield ask


def small(answer):
    assert len(answer.text.encode()) <= 8192
    assert tokens.count(answer.text) <= 2000
    answer.text.encode()
    return answer


@pytest.mark.parametrize(
    "error",
    [ValueError("\ud800 broken \x00\n" * 5000), SystemExit(3), KeyboardInterrupt(), RecursionError(), MemoryError()],
    ids=lambda error: type(error).__name__,
)
def test_a_crash_becomes_one_line_without_the_exceptions_text(ask, error):
    async def work(call):
        raise error

    answer = small(ask(work))
    assert answer.is_error
    assert answer.text.startswith("internal_error: made failed")
    assert "broken" not in answer.text
    assert answer.text.splitlines() == [answer.text]


def test_a_refusal_says_code_what_and_what_to_do(ask):
    async def work(call):
        raise BursarError("not_found", "there is no such thing", "Look elsewhere")

    assert ask(work).text == "not_found: there is no such thing. Look elsewhere."


def test_a_refusal_of_any_length_stays_small(ask):
    async def work(call):
        raise BursarError("x" * 9000, '{"\ud800\x00' * 9000, "\u202e" * 9000)

    small(ask(work))


def test_what_was_captured_before_a_failure_is_kept_and_named(ask, tmp_path):
    async def work(call):
        call.output("half.log").write(LINE.encode() * 10_000)
        raise BursarError("broken_off", "the source went away", "Try again")

    answer = small(ask(work))
    assert answer.text.startswith("broken_off: the source went away; 470,000 bytes that came before are in ses_")
    (kept,) = tmp_path.rglob("*-half.log")
    assert kept.read_text() == LINE * 10_000


def test_an_output_that_nothing_was_written_into_before_a_failure_is_not_kept(ask, tmp_path):
    async def work(call):
        call.output("none.log")
        raise BursarError("broken_off", "the source went away", "Try again")

    assert ask(work).text == "broken_off: the source went away. Try again."
    assert not list(tmp_path.rglob("*-none.log"))


def test_a_tool_that_never_ends_is_ended_when_its_client_gives_up(ask):
    async def work(call):
        call.output("slow.log").write(b"so far\n")
        await anyio.sleep_forever()

    answer = small(ask(work, patience_s=0.2))
    assert answer.is_error
    assert answer.text.startswith("timeout: made took longer than the 0.2 s this client waits; 7 bytes")


def test_facts_of_any_size_and_kind_stay_small_and_valid(ask):
    async def work(call):
        return Done({f"fact\ud800{n}": ["\x1b[31m" + "\udfff" * 5000] * 100 for n in range(500)})

    reply = reply_of(small(ask(work)).text)
    assert reply["fact\ufffd0"]


def test_the_full_content_is_stored_byte_for_byte(ask):
    content = bytes(range(256)) * 40_000

    async def work(call):
        output = call.output("all.bin")
        output.write(content)
        return Done(output=output)

    reply = reply_of(small(ask(work)).text)
    with open(reply["path"], "rb") as stored:
        assert stored.read() == content
    assert reply["size"]["bytes"] == len(content)
    assert reply["artifact"].startswith("ses_")
    assert list(reply)[:3] == ["artifact", "dir", "path"]


@pytest.mark.parametrize("kind", ["kept", "parts"])
def test_whatever_names_an_artifact_first_tells_the_directory_too(ask, kind):
    async def work(call):
        output = call.output("x.bin")
        output.write(b"x")
        await output.finish()
        if kind == "kept":
            return Done({"status": "ok", "artifact": output.artifact})
        return Done(parts=[Done(output=output)])

    first, second = (reply_of(ask(work).text) for _ in range(2))
    named, later = (reply.get("parts", [reply])[0].get("artifact") for reply in (first, second))
    assert named.startswith("ses_")
    assert named.endswith("/a1-x.bin")
    assert Path(first["dir"], "a1-x.bin").is_file()
    assert later == ("a2-x.bin" if kind == "kept" else None)
    assert "dir" not in second


def test_the_same_content_again_is_pointed_to_and_not_stored_twice(ask, tmp_path):
    async def work(call):
        output = call.output("same.log")
        output.write(LINE.encode() * 2000)
        return Done({"exit_code": 3}, output)

    reply = reply_of(small(ask(work, times=3)).text)
    assert "unchanged since it was shown" in reply["same_as"]
    assert not reply["preview"]
    assert reply["exit_code"] == 3
    assert reply["artifact"] == "a1-same.log"
    assert len(list(tmp_path.rglob("*-same.log"))) == 1


def test_a_short_content_again_is_shown_again(ask):
    async def work(call):
        output = call.output("same.log")
        output.write(b"short\n")
        return Done(output=output)

    assert reply_of(ask(work, times=3).text)["preview"] == "short\n"


def test_the_same_content_of_another_action_is_an_artifact_of_its_own(ask, tmp_path):
    def named(did):
        async def work(call):
            output = call.session.writer(tool="made", did=did, label="same.log")
            call.writers.append(output)
            output.write(LINE.encode() * 2000)
            return Done(output=output)

        return work

    ask(named("one"))
    assert reply_of(ask(named("other")).text)["artifact"] == "a2-same.log"


def test_a_content_whose_reply_nobody_got_counts_as_not_shown(ask, monkeypatch):
    async def work(call):
        output = call.output("same.log")
        output.write(LINE.encode() * 2000)
        return Done(output=output)

    fit = reply.fit
    monkeypatch.setattr(reply, "fit", lambda draft, ceiling: (_ for _ in ()).throw(OSError("cancelled here")))
    assert ask(work).is_error
    monkeypatch.setattr(reply, "fit", fit)
    assert reply_of(ask(work).text)["preview"]


def test_an_empty_output_is_not_taken_for_that_of_another_call(ask, tmp_path):
    async def work(call):
        return Done({"exit_code": 0}, call.output("empty.log"))

    reply = reply_of(ask(work, times=3).text)
    assert reply == {"empty": True, "preview": ""}
    assert len(list(tmp_path.rglob("*-empty.log"))) == 3


def test_a_time_out_of_the_system_is_not_told_as_the_clients_patience(ask):
    async def work(call):
        raise TimeoutError(110, "Connection timed out")

    assert ask(work).text.startswith("internal_error")


def test_reading_the_same_stretch_again_and_again_is_answered_with_advice(ask):
    async def work(call):
        if not call.session.artifacts():
            call.output("log.txt").write(b"one\ntwo\n")
            return Done()
        return Reading(Page([Piece("one\n", {"lines": "1"}, 0)]), call.session.open("a1"))

    assert "grep" in reply_of(ask(work, times=4).text)["note"]


def test_a_picture_that_would_cost_more_than_any_text_is_left_out(ask):
    async def work(call):
        return Done(picture=Picture("image/png", bytes(8193)))

    assert ask(work).picture is None


@pytest.mark.parametrize(
    ("name", "setting", "shown"),
    [
        ("claude-code", "auto", True),
        ("claude-code", "off", False),
        ("mcp", "auto", False),
        ("mcp", "on", True),
        ("google-adk", "auto", False),
        ("continue-cli-client", "auto", False),
        ("@cline/core", "auto", False),
    ],
)
def test_pictures_go_to_clients_that_show_them(tmp_path, name, setting, shown):
    async def work(call):
        return Done({"shown": call.shows_pictures})

    with dispatching(tmp_path, tmp_path, tool(work), thumbnails=setting) as dispatcher:
        answer = anyio.run(dispatcher.answer, "made", {}, dispatcher.client(name))
    assert reply_of(answer.text)["shown"] is shown


def test_calls_in_flight_at_the_same_time_share_a_ceiling(tmp_path):
    async def main():
        everyone = anyio.Event()
        replies = []

        async def work(call):
            await everyone.wait()
            output = call.output("mine.log")
            output.write("".join(f"{call.writers} {n} {LINE}" for n in range(500)).encode())
            return Done(output=output)

        async def one():
            replies.append(await dispatcher.answer("made", {}, dispatcher.client("test")))

        dispatcher.tools = {"made": tool(work)}
        async with anyio.create_task_group() as group:
            for _ in range(16):
                group.start_soon(one)
            await anyio.wait_all_tasks_blocked()
            everyone.set()
        return replies

    with dispatching(tmp_path, tmp_path) as dispatcher:
        replies = anyio.run(main)
    assert sum(tokens.count(reply.text) for reply in replies) <= 8000
    assert not any(reply.is_error for reply in replies)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"nam": 1}, "made has no argument 'nam'"), ({"session": "ses_nobody"}, "unknown_session")],
)
def test_wrong_arguments_are_told_in_words(ask, arguments, said):
    async def work(call):
        return Done()

    answer = ask(work, arguments=arguments)
    assert answer.is_error
    assert said in answer.text


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    [
        ("terminal", {"cmd": "ls", "timeout": 9, "workdir": "x"}, {"command": "ls", "timeout_s": 9, "cwd": "x"}),
        ("read_file", {"filename": "x"}, {"path": "x"}),
        ("directory_tree", {"dir": "x"}, {"path": "x"}),
        ("read_artifact", {"id": "a1", "pattern": "x"}, {"artifact": "a1", "grep": "x"}),
        ("web_fetch", {"uri": "http://a/"}, {"url": "http://a/"}),
    ],
)
def test_usual_names_of_arguments_are_taken_for_those_of_the_tool_and_no_schema_lists_them(tool, given, meant):
    (tool,) = (one for one in tools(Settings.copy_bytes) if one.name == tool)
    assert checked(tool, given) == checked(tool, meant)
    assert given.keys().isdisjoint(described(tool)["inputSchema"]["properties"])


@pytest.mark.parametrize(
    "arguments",
    [
        {f"a{n}": 1 for n in range(200_000)},
        {"layout": {f"a{n}": 1 for n in range(200_000)}},
        {"content": [{f"a{n}": 1 for n in range(200_000)}]},
        {"url": [1] * 200_000},
        {"edits": [[1] * 900] * 900},
        {"edits": [[[1] * 200_000]]},
    ],
)
def test_more_arguments_than_any_tool_has_are_refused_as_what_they_are(arguments):
    with pytest.raises(BursarError, match="more than 1,000 arguments are given at once"):
        checked(WritePdf(), arguments)


def test_an_argument_that_is_given_under_both_its_names_is_an_error():
    (terminal,) = (one for one in tools(Settings.copy_bytes) if one.name == "terminal")
    with pytest.raises(BursarError, match="no argument 'cmd'"):
        checked(terminal, {"command": "ls", "cmd": "rm"})


@pytest.mark.parametrize("attached", [False, True])
def test_what_is_heavy_to_take_apart_is_so_in_a_worker_also_as_a_part_of_a_reply_or_attached(tmp_path, attached):
    rows = json.dumps([{"id": n, "key": f"name{n}"} for n in range(400_000)]).encode()

    async def work(call):
        heavy, small = call.output("x.json"), call.output("y.txt")
        heavy.write(rows)
        small.write(b"one\n")
        return Done({"fetched": 2}, parts=[Done(output=heavy), Done(output=small)])

    asked, observed = [], []

    async def main():
        call = dispatcher.fitter.workers.call

        async def noted(function, *given, **named):
            asked.append(function)
            return await call(function, *given, **named)

        dispatcher.fitter.workers.call = noted
        client = dispatcher.client("claude-code")
        answer = await dispatcher.answer("made", {}, client)
        if attached:
            artifact = reply_of(answer.text)["parts"][0]["artifact"]
            asked.clear()
            answer = await dispatcher.answer(ResourceView(), {"artifact": artifact}, client)
        return answer

    def observe(account, took_s):
        observed.append(account.content_bytes)

    with dispatching(tmp_path, tmp_path, tool(work), observers=[observe]) as dispatcher:
        answer = anyio.run(main)
    told = reply_of(answer.text)
    shown = told if attached else told["parts"][0]
    assert asked == ["bursar.content.fitting:run"]
    assert "shape" in shown["preview"]
    assert observed[0] == len(rows) + 4
