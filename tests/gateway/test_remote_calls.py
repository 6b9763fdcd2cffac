"""Tools of other servers are called, and whatever they return comes back as one bounded reply."""

import asyncio
import base64
import json

import pytest
from behind import content, entry

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", ["old", "modern", "silent"])
async def test_a_server_of_either_way_is_called(behind, mode):
    async with behind({"stub": entry(mode)}) as servers:
        found = await servers.call("stub.say", {"text": "hello"})
        assert found["preview"] == "hello"


async def test_a_server_is_the_same_from_call_to_call_and_another_in_another_session(behind):
    async with behind({"stub": entry()}) as servers:
        first = [(await servers.call("stub.count"))["preview"] for _ in range(3)]
        assert first == ["1", "2", "3"]


async def test_arguments_may_be_an_object_its_json_or_lie_beside_the_tool(behind):
    async with behind({"stub": entry()}) as servers:
        for given in ({"arguments": {"text": "a"}}, {"arguments": '{"text": "a"}'}, {"text": "a"}):
            answer = await servers.answer("call_tool", tool="stub.say", **given)
            assert answer.value["preview"] == "a"


async def test_wrong_arguments_are_answered_with_the_signature(behind):
    async with behind({"stub": entry()}) as servers:
        missing = await servers.refused("stub.say", {"times": 2})
        assert missing.startswith("bad_argument: say needs text. It takes say(text, times?:int=1)")
        assert "'times' of say is to be integer" in await servers.refused("stub.say", {"text": "a", "times": "2"})
        assert 'cannot be "odd", but text, structured' in await servers.refused("stub.big", {"bytes": 1, "kind": "odd"})


async def test_unknown_names_are_answered_with_the_nearest(behind):
    async with behind({"stub": entry()}) as servers:
        await servers.call("stub.say", {"text": "a"})
        assert "Nearest: say(text, times?:int=1)" in await servers.refused("stub.sya")
        assert "unknown_tool" in await servers.refused("nothing.say")
        assert (await servers.call("say", {"text": "found by its name alone"}))["preview"].startswith("found")


async def test_a_long_text_is_kept_whole_and_shown_in_part(behind):
    async with behind({"stub": entry()}) as servers:
        found = await servers.call("stub.big", {"bytes": 3_000_000, "kind": "lines"})
        assert "incomplete" in found
        line = b"2026-07-01T00:00:00Z INFO [worker] a line of text\n"
        kept = content(found["path"])
        assert kept == line * (len(kept) // len(line))
        assert len(kept) > 2_900_000


async def test_structured_content_is_stored_once(behind):
    value = {"rows": [{"id": 1, "name": "é"}]}
    async with behind({"stub": entry()}) as servers:
        same = {"content": [{"type": "text", "text": json.dumps(value, indent=2)}], "structuredContent": value}
        assert "structured" not in await servers.call("stub.send", {"result": same})
        wrapped = {"content": [{"type": "text", "text": "plain"}], "structuredContent": {"result": "plain"}}
        assert "structured" not in await servers.call("stub.send", {"result": wrapped})
        other = {"content": [{"type": "text", "text": "one row"}], "structuredContent": value}
        found = await servers.call("stub.send", {"result": other})
        assert found["preview"] == "one row"
        assert found["structured"].endswith("stub-send-structured.json")
        alone = await servers.call("stub.send", {"result": {"content": [], "structuredContent": value}})
        assert (
            json.loads(alone["preview"] if isinstance(alone["preview"], str) else json.dumps(alone["preview"])) == value
        )


async def test_every_kind_of_block_becomes_an_artifact(behind, tmp_path):
    from PIL import Image

    Image.new("RGB", (40, 30), "red").save(tmp_path / "red.png")
    picture = base64.b64encode((tmp_path / "red.png").read_bytes()).decode()
    sound = base64.b64encode(b"RIFF....WAVE").decode()
    blocks = [
        {"type": "text", "text": "see the picture"},
        {"type": "image", "data": picture, "mimeType": "image/png"},
        {"type": "audio", "data": sound, "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "x://1", "mimeType": "text/plain", "text": "held"}},
        {"type": "resource", "resource": {"uri": "x://2", "blob": sound}},
        *({"type": "resource_link", "uri": f"x://{at}", "name": f"n{at}"} for at in range(9)),
        {"type": "of tomorrow", "what": 1},
    ]
    async with behind({"stub": entry()}) as servers:
        answer = await servers.answer("call_tool", tool="stub.send", arguments={"result": {"content": blocks}})
        found = answer.value
        assert found["preview"] == "see the picture"
        assert found["image"].endswith("stub-send-image.png")
        assert "width 40, height 30" in found["image_is"]
        assert answer.picture is not None
        assert found["audio"].endswith(".wav")
        assert "uri x://1" in found["resource_is"]
        assert found["resource_2"].endswith(".bin")
        assert found["links"][0] == "x://0 n0"
        assert len(found["links"]) == 5
        assert found["all_links"].endswith("stub-send-links.json")
        assert "type of tomorrow" in found["other_is"]


async def test_an_error_of_the_server_is_told_and_a_long_one_kept(behind):
    async with behind({"stub": entry()}) as servers:
        short = {"content": [{"type": "text", "text": "no such\nfile"}], "isError": True}
        assert await servers.refused("stub.send", {"result": short}) == (
            "upstream_error: stub-send says: no such file. Mend the call, or try another tool."
        )
        long = {"content": [{"type": "text", "text": "because " * 20_000}], "isError": True}
        told = await servers.refused("stub.send", {"result": long})
        assert len(told) < 1000
        assert "160,000 bytes that came before are in" in told
        assert "it went wrong" in await servers.refused("stub.fault", {"how": "error"})


async def test_a_question_to_the_user_is_no_result(behind):
    asks = {"resultType": "input_required", "inputRequests": {"a": {"params": {"message": "Which account?"}}}}
    async with behind({"stub": entry("modern")}) as servers:
        assert "needs_input: stub-send asks its user: Which account?" in await servers.refused(
            "stub.send", {"result": asks}
        )


async def test_matching_lines_are_shown_in_the_same_call(behind):
    text = "\n".join(f"line {at}" for at in range(5000))
    async with behind({"stub": entry()}) as servers:
        found = await servers.call("stub.say", {"text": text}, grep="line 4321$")
        assert found["preview"].strip() == "4322:line 4321"


async def test_a_result_that_takes_longer_than_the_client_waits_can_be_read_later(behind):
    async with behind({"stub": entry()}) as servers:
        found = await servers.call("stub.wait", {"seconds": 3, "text": "at last"}, patience_s=1.0)
        assert found["state"] == "running"
        later = await servers.answer("read_artifact", artifact=found["artifact"], wait_s=20)
        assert later.value["preview"].strip().endswith("at last")


async def test_what_came_of_a_late_result_that_broke_off_is_kept(behind):
    async with behind({"stub": entry()}) as servers:
        await servers.call("stub.say", {"text": "up"})
        found = await servers.call("stub.fault", {"how": "late half"}, patience_s=1.0)
        later = await servers.answer("read_artifact", artifact=found["artifact"], wait_s=20)
        assert later.value["ended"] == "upstream_protocol"
        listed = await servers.answer("read_artifact", grep="half of", artifact="a3")
        assert "half of" in listed.text


async def test_a_cancelled_call_is_cancelled_there(behind):
    async with behind({"stub": entry()}) as servers:
        await servers.call("stub.say", {"text": "up"})
        work = asyncio.create_task(servers.answer("call_tool", tool="stub.wait", arguments={"seconds": 30}))
        await asyncio.sleep(0.5)
        work.cancel()
        await asyncio.wait([work])
        assert work.cancelled()
        child = next(iter(servers.gateway.children._running.values()))
        assert not child.calls
        assert (await servers.call("stub.say", {"text": "still there"}))["preview"] == "still there"


async def test_what_reads_cannot_change(behind):
    async with behind({"stub": entry()}) as servers:
        read = await servers.answer("call_read_tool", tool="stub.say", arguments={"text": "a"})
        assert read.value["preview"] == "a"
        for changing in ("count", "wait"):  # the one says so, the other says nothing
            answer = await servers.answer("call_read_tool", tool=f"stub.{changing}", arguments={"seconds": 0})
            assert answer.code == "not_read_only"


async def test_resources_are_read_by_their_address(behind):
    async with behind({"stub": entry()}) as servers:
        found = await servers.call("stub.read_resource", {"uri": "x://7"})
        assert "uri x://7" in found["resource_is"]


async def test_a_server_asks_for_roots_and_nothing_else(behind, tmp_path):
    async with behind({"stub": entry()}) as servers:
        roots = json.loads((await servers.call("stub.ask", {"method": "roots/list"}))["preview"])
        assert roots["result"]["roots"][0]["uri"] == (tmp_path / "root").as_uri()
        refused = json.loads((await servers.call("stub.ask", {"method": "sampling/createMessage"}))["preview"])
        assert refused["error"]["code"] == -32601
        assert json.loads((await servers.call("stub.ask", {"method": "ping"}))["preview"])["result"] == {}
