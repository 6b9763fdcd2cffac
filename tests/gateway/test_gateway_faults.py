"""A server that is broken or means harm costs its own calls only, and what it sent is told or kept."""

import asyncio
import json
import os
import secrets

import marked
import pytest
from behind import content, entry
from bursar.gateway.frames import Frame
from bursar.gateway.peer import Peer
from bursar.gateway.upstream import Upstream
from bursar.guard.sandbox.policy import Isolation
from bursar.guard.sandbox.sandbox import Closed

pytestmark = pytest.mark.anyio

FAULTS = {
    "exit": "has ended (exit status 3); it said last: I am leaving, for a reason",
    "kill": "has ended (SIGKILL)",
    "half": "bytes that came before are in",
    "no result": "gave no result",
    "error": "it went wrong",
    "deep": "is no JSON; 200,",
}
HARMLESS = {
    "noise": "after all",
    "unknown id": "after all",
    "twice": "first",
    "storm": "after all",
    "number as text": "after all",
    "mark of byte order": "after all",
    "surrogate": "a\ufffdb",
    "bad utf-8": "a\ufffdb",
}


@pytest.mark.parametrize("how", FAULTS)
async def test_a_fault_is_told_and_the_next_call_works(behind, how):
    async with behind({"stub": entry(bursar={"timeoutS": 5})}) as servers:
        assert FAULTS[how] in await servers.refused("stub.fault", {"how": how})
        assert (await servers.call("stub.say", {"text": "again"}))["preview"] == "again"


@pytest.mark.parametrize("how", HARMLESS)
async def test_a_harmless_fault_costs_nothing(behind, how):
    async with behind({"stub": entry()}) as servers:
        assert (await servers.call("stub.fault", {"how": how}))["preview"].startswith(HARMLESS[how])
        assert (await servers.call("stub.say", {"text": "again"}))["preview"] == "again"


async def test_what_is_long_is_told_by_its_beginning_and_kept_whole_wherever_it_stands(behind):
    long = "é" * 700_000
    async with behind({"stub": entry()}) as servers:
        links = await servers.call("stub.fault", {"how": "long links"})
        assert links["links"][0].startswith("x://éé")
        assert json.loads(servers.kept("*-links.json"))[0]["uri"] == f"x://{long}"
        assert "other" in await servers.call("stub.fault", {"how": "long other"})
        kept = json.loads(servers.kept("*-block.json"))
        assert kept == {"type": "strange", "data": f'say "{long}', "more": [long, 1]}
        assert "it was éé" in await servers.refused("stub.fault", {"how": "long error"})
        assert json.loads(servers.kept("*-error.json"))["data"] == {"why": long}
        assert "who is éé" in await servers.refused("stub.fault", {"how": "long question"})


async def test_no_depth_of_nesting_is_a_fault_of_the_server_itself(behind):
    async with behind({"stub": entry()}) as servers:
        for depth in range(900, 1000):
            answer = await servers.answer("call_tool", tool="stub.fault", arguments={"how": f"nested {depth}"})
            assert not answer.is_error or answer.text.startswith("upstream_protocol"), answer.text


async def test_silence_ends_with_its_time(behind):
    async with behind({"stub": entry(bursar={"timeoutS": 1})}) as servers:
        assert "upstream_timeout: stub did not answer within 1 s" in await servers.refused(
            "stub.fault", {"how": "silence"}
        )


async def test_a_server_that_lists_no_tools_in_time_is_ended(behind):
    async with behind({"stub": entry("listless", bursar={"timeoutS": 1})}) as servers:
        for _ in range(2):
            told = await servers.refused("stub.say", {"text": "a"})
            assert told.startswith("upstream_start: stub did not list its tools within 1 s")
        assert not any(child.calls for child in servers.gateway.children._running.values())


async def test_a_server_that_keeps_ending_is_left_alone_for_a_while(behind):
    async with behind({"stub": entry()}) as servers:
        for _ in range(3):
            assert "has ended" in await servers.refused("stub.fault", {"how": "exit"})
        assert "left alone for" in await servers.refused("stub.say", {"text": "a"})


async def test_a_server_started_anew_says_that_it_has_forgotten(behind):
    async with behind({"stub": entry()}) as servers:
        await servers.call("stub.count")
        await servers.refused("stub.fault", {"how": "exit"})
        found = await servers.call("stub.count")
        assert "what it remembered is gone" in found["note"]
        assert "note" not in await servers.call("stub.count")


async def test_a_server_that_was_ended_for_being_idle_says_that_it_has_forgotten(behind, monkeypatch):
    monkeypatch.setattr("bursar.gateway.children._LOOK_S", 0.05)
    async with behind({"stub": entry(bursar={"idleS": 0.1})}) as servers:
        assert "note" not in await servers.call("stub.count")
        for _ in range(100):
            if not len(servers.gateway.children):
                break
            await asyncio.sleep(0.05)
        assert "what it remembered is gone" in (await servers.call("stub.count"))["note"]


async def test_what_a_killed_process_left_of_long_messages_is_removed(behind, tmp_path):
    frames = tmp_path / "data" / "bursar" / ".gateway" / "frames"
    frames.mkdir(parents=True)
    (frames / "frame-old").touch()
    (frames / "frame-new").touch()
    os.utime(frames / "frame-old", (0, 0))
    async with behind({"stub": entry()}) as servers:
        await servers.call("stub.big", {"bytes": 2_000_000})
    assert [path.name for path in frames.iterdir()] == ["frame-new"]


async def test_a_server_that_takes_long_to_end_is_no_fault_of_this_one(behind):
    async with behind({"stub": entry(bursar={"timeoutS": 1})}) as servers:
        await servers.refused("stub.fault", {"how": "flood"})
    assert not asyncio.current_task().cancelling()


async def test_a_program_that_does_not_exist_is_named(behind):
    servers = {"gone": {"command": "no-such-program"}, "silent": {"command": "/bin/cat"}}
    async with behind(servers) as behind_it:
        answer = await behind_it.answer("find_tool", server="gone")
        assert "there is no program 'no-such-program'" in answer.text


async def test_nothing_is_left_of_a_server_and_what_it_started(behind):
    mark = secrets.token_hex(16)
    async with behind({"stub": entry(env={"MARK": mark})}) as servers:
        await servers.call("stub.fault", {"how": "grandchild"})
        assert len(marked.holding(mark)) > 1
    for _ in range(50):
        if not marked.holding(mark):
            break
        await asyncio.sleep(0.1)
    assert not marked.holding(mark)


async def test_an_idle_server_is_ended(behind, monkeypatch):
    from bursar.gateway import children

    monkeypatch.setattr(children, "_LOOK_S", 0.1)
    async with behind({"stub": entry(bursar={"idleS": 0.3})}) as servers:
        await servers.call("stub.say", {"text": "a"})
        assert len(servers.gateway.children) == 1
        for _ in range(200):
            await asyncio.sleep(0.1 if len(servers.gateway.children) else 0)
        assert not len(servers.gateway.children)
        assert (await servers.call("stub.say", {"text": "b"}))["preview"] == "b"


async def test_a_server_sees_no_session_and_nothing_of_this_server(behind, tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET_OF_BURSAR", "not to be seen")
    async with behind({"stub": entry(env={"ITS_OWN": "value"})}, terminal="required") as servers:
        stored = await servers.call("stub.big", {"bytes": 100_000})
        for path in (stored["path"], os.path.dirname(stored["path"]), str(tmp_path / "data/bursar/.gateway/stub.json")):
            found = await servers.call("stub.read", {"path": path})
            assert "Error" in found["preview"], found
        told = await servers.call("stub.environment")
        said = json.loads(content(told["path"]) if "path" in told else told["preview"])
        assert said["env"]["ITS_OWN"] == "value"
        assert "A_SECRET_OF_BURSAR" not in said["env"]


async def test_a_server_that_nothing_keeps_in_is_not_started_unless_its_entry_says_so(behind, monkeypatch):
    none = Closed(Isolation("off", reason="this kernel has no means for it", fix="Use another"))
    monkeypatch.setattr(
        "bursar.server.behind._sandbox", lambda settings, upstream: None if upstream.sandbox == "off" else none
    )
    async with behind({"stub": entry(), "free": entry(bursar={"sandbox": "off"})}) as servers:
        told = await servers.refused("stub.say", {"text": "a"})
        assert told.startswith("not_isolated: stub is not started, for nothing keeps it in")
        assert "this kernel has no means for it" in told
        assert (await servers.call("free.say", {"text": "a"}))["preview"] == "a"


async def test_secrets_of_an_entry_are_blanked_in_errors(behind):
    secret = "tok-12345-secret"
    async with behind({"stub": entry(env={"TOKEN": secret})}) as servers:
        failed = {"content": [{"type": "text", "text": f"bad token {secret}"}], "isError": True}
        told = await servers.refused("stub.send", {"result": failed})
        assert secret not in told
        assert "bad token ***" in told
        shown = await servers.call("stub.environment")
        assert secret not in json.dumps(shown)
        assert shown["blanked"].startswith("1 ")
        long = await servers.call("stub.say", {"text": f"{'x' * 700_000}{secret}{'y' * 700_000}{secret}"})
        assert content(long["path"]) == b"x" * 700_000 + b"***" + b"y" * 700_000 + b"***"


async def test_a_server_behind_may_write_in_the_roots_and_nowhere_else(behind, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    async with behind({"stub": entry()}, terminal="required") as servers:
        command = f"echo a > {outside}/a || echo refused; echo b > b; cat b"
        told = await servers.call("stub.run", {"command": command})
        assert told["preview"].endswith("refused\nb\n")
        assert not (outside / "a").exists()
        assert (tmp_path / "root" / "b").read_text() == "b\n"


async def test_a_server_behind_has_no_variables_but_its_own_and_the_usual(behind, monkeypatch):
    monkeypatch.setenv("OF_COMMANDS", "a value")
    async with behind({"stub": entry(env={"OWN": "1"})}, pass_env=("OF_COMMANDS",)) as servers:
        told = await servers.call("stub.run", {"command": "echo $OWN-$OF_COMMANDS-"})
        assert told["preview"] == "1--\n"


async def test_secrets_are_blanked_in_what_a_server_says_on_the_way(behind, tmp_path):
    secret = "tok-12345-secret"
    async with behind({"stub": entry(env={"TOKEN": secret})}) as servers:
        await servers.call("stub.fault", {"how": "secret words"})
        await servers.gateway.close()
        said = (tmp_path / "data" / "bursar" / ".gateway" / "stub.log").read_text()
        assert said == "x" * 65530 + "***\n"


async def test_a_server_that_asks_without_end_and_reads_nothing_is_not_answered_without_end():
    sent = []

    class Deaf:
        version = ""

        async def send(self, message):
            sent.append(message)
            await asyncio.sleep(1000)

        def forget(self, request):
            return True

    peer = Peer(Upstream("stub", ("x",)), Deaf(), None, [])
    for at in range(5000):
        peer.hear(Frame(json.dumps({"jsonrpc": "2.0", "id": at, "method": "ping"}).encode()))
    await asyncio.sleep(0)
    assert len(sent) == 1000
    peer.close()


async def test_a_server_ends_with_its_session(behind):
    mark = secrets.token_hex(16)
    async with behind({"stub": entry(env={"MARK": mark})}) as servers:
        found = await servers.call("stub.big", {"bytes": 100_000})
        assert marked.holding(mark)
        handle = found["artifact"].partition("/")[0]
        await servers.dispatcher.remove_session(handle, servers.dispatcher.sessions.owner("test"))
        for _ in range(100):
            await asyncio.sleep(0.05 if marked.holding(mark) else 0)
        assert not marked.holding(mark)
