"""Whose artifacts a request reaches: never another's, in either era, whatever is stolen, forged or guessed."""

import os
import re
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import anyio
import httpx2
import pytest
from bursar.artifacts import Limits, Store
from bursar.budget.ceilings import Ceiling
from bursar.errors import BursarError
from bursar.server.callers import ANYBODY, Client
from bursar.server.session_resolver import HttpSessions
from over_http import served, told, until
from replies import reply_of

CLIENT = Client("test", Ceiling(8192, 2000))
GUESSED = "ses_" + "A" * 22
SECRET = "the secret of ann"
UNKNOWN = re.compile(
    r"unknown_(session|artifact): there is no such (session|artifact in this session), or it has expired\."
)


@pytest.fixture(scope="module", autouse=True)
def secret(root):
    (root / "secret.txt").write_text(SECRET + "\n")


def handle_of(reply):
    return reply["artifact"].partition("/")[0]


def of_era(user, era):
    return user.handshake() if era == "handshake" else user


def test_a_handshake_client_stays_in_one_session_without_naming_it(open_server):
    user = open_server.user().handshake()
    first = user.done("read_file", path="note.txt")
    assert "artifact" not in user.done("directory_tree")
    assert user.done("read_artifact")["session"] == handle_of(first)
    assert user.done("read_artifact", artifact="a1")["preview"].startswith("the note")


def test_two_handshake_clients_have_two_sessions(open_server):
    one, other = open_server.user().handshake(), open_server.user().handshake()
    assert handle_of(one.done("directory_tree")) != handle_of(other.done("directory_tree"))


def test_a_modern_call_that_names_no_session_gets_a_new_one_and_may_go_on_in_it(open_server):
    user = open_server.user()
    first, second = user.done("read_file", path="note.txt"), user.done("read_file", path="note.txt")
    assert handle_of(first) != handle_of(second)
    third = user.done("directory_tree", session=handle_of(first))
    assert handle_of(third) == handle_of(first)
    listed = reply_of(user.call("read_artifact", meta={"bursar/session": handle_of(first)})[0])
    assert listed["artifacts"] == 2


@pytest.mark.parametrize("spelling", ["{}", "artifact://{}", " {} "])
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_a_reference_names_its_session(open_server, era, spelling):
    reply = open_server.user().done("read_file", path="note.txt")
    other = of_era(open_server.user(), era)
    read = other.done("read_artifact", artifact=spelling.format(reply["artifact"]))
    assert read["preview"].startswith("the note")


def test_a_pdf_that_is_kept_is_named_by_its_reference_too(open_server):
    reply = open_server.user().done("write_pdf", content="# Title")
    assert reply["path"] == f"artifact://{handle_of(reply)}/a1"


def test_a_handshake_client_may_name_another_of_its_sessions(open_server):
    user = open_server.user().handshake()
    own = user.done("directory_tree")
    earlier = open_server.user().done("directory_tree")
    assert handle_of(user.done("directory_tree", session=handle_of(earlier))) == handle_of(earlier)
    assert handle_of(user.done("directory_tree", session=earlier["artifact"])) == handle_of(earlier)
    user.done("directory_tree")
    assert user.done("read_artifact")["session"] == handle_of(own)


def test_the_argument_wins_over_meta_and_meta_over_the_transport(open_server):
    user = open_server.user()
    argument, meta = (handle_of(user.done("directory_tree")) for _ in range(2))
    both = user.call("directory_tree", meta={"bursar/session": meta}, session=argument)
    assert handle_of(reply_of(both[0])) == argument
    old = open_server.user().handshake()
    assert handle_of(reply_of(old.call("directory_tree", meta={"bursar/session": meta})[0])) == meta


def test_every_tool_takes_a_session_over_http(open_server):
    for tool in told(open_server.user().modern("tools/list"))["result"]["tools"]:
        assert tool["inputSchema"]["properties"]["session"]["type"] == "string"
        assert "session" not in tool["inputSchema"].get("required", [])


WAYS = {
    "argument": lambda bob, handle, artifact: bob.refused("read_artifact", session=handle),
    "argument with an id": lambda bob, handle, artifact: bob.refused("read_artifact", session=handle, artifact="a1"),
    "reference": lambda bob, handle, artifact: bob.refused("read_artifact", artifact=f"{handle}/a1"),
    "address": lambda bob, handle, artifact: bob.refused("read_artifact", artifact=f"artifact://{handle}/a1"),
    "reference from an own session": lambda bob, handle, artifact: bob.refused(
        "read_artifact", session=handle_of(bob.done("directory_tree")), artifact=f"{handle}/a1"
    ),
    "meta": lambda bob, handle, artifact: bob.call("read_artifact", meta={"bursar/session": handle})[0],
    "another tool": lambda bob, handle, artifact: bob.refused("directory_tree", session=handle),
    "path": lambda bob, handle, artifact: bob.refused("read_artifact", artifact=artifact),
}


@pytest.mark.parametrize("handle", ["other's", "guessed", "malformed", "cut"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_a_handle_of_somebody_else_is_as_unknown_as_one_that_never_was(two, era, way, handle):
    running, ann, bob = two
    reply = of_era(running.user(ann), era).done("read_file", path="secret.txt")
    theirs = handle_of(reply)
    given = {"other's": theirs, "guessed": GUESSED, "malformed": "ses_é/../..", "cut": theirs[:-1]}[handle]
    content = next(place for place in running.data.rglob("a1-*") if place.read_text().startswith(SECRET))
    words = WAYS[way](of_era(running.user(bob), era), given, str(content))
    assert UNKNOWN.match(words), words
    assert SECRET not in words


def test_a_file_of_anothers_session_is_not_read_as_a_file(two):
    running, ann, bob = two
    running.user(ann).done("read_file", path="secret.txt")
    content = next(place for place in running.data.rglob("a1-*") if place.read_text().startswith(SECRET))
    words = running.user(bob).refused("read_file", path=str(content))
    assert SECRET not in words


def test_a_stolen_transport_session_opens_nothing_for_another_principal(two):
    running, ann, bob = two
    owner = running.user(ann).handshake()
    owner.done("read_file", path="secret.txt")
    thief = running.user(bob)
    thief.transport_session = owner.transport_session
    assert thief.request("tools/call", {"name": "read_artifact", "arguments": {}}).status_code == 404
    assert thief.http.delete(running.url, headers=thief.routing()).status_code == 404
    assert owner.done("read_artifact")["artifacts"] == 1


def test_a_transport_session_in_a_stateless_request_is_never_believed(two):
    running, ann, bob = two
    owner = running.user(ann).handshake()
    theirs = handle_of(owner.done("read_file", path="secret.txt"))
    stolen = {"mcp-session-id": owner.transport_session}
    for user in (running.user(bob), running.user(ann)):
        call = {"name": "read_artifact", "arguments": {}}
        listed = reply_of(told(user.modern("tools/call", call, **stolen))["result"]["content"][0]["text"])
        assert listed["artifacts"] == 0
        assert listed["session"] != theirs
        read = {"name": "read_artifact", "arguments": {"artifact": "a1"}}
        words = told(user.modern("tools/call", read, **stolen))["result"]["content"][0]["text"]
        assert UNKNOWN.match(words)


@pytest.mark.parametrize("identity", ["0" * 32, "x", "../../etc", "ses_" + "A" * 22])
def test_a_transport_session_cannot_be_chosen(open_server, identity):
    user = open_server.user()
    user.transport_session = identity
    assert user.request("tools/call", {"name": "read_artifact", "arguments": {}}).status_code == 404


@pytest.mark.parametrize("version", ["2025-11-25", "2024-11-05", None])
def test_no_call_is_served_without_a_handshake_in_the_handshake_era(open_server, version):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_artifact", "arguments": {}}}
    answer = open_server.user().post(call, mcp_protocol_version=version)
    assert answer.status_code == 400


def test_the_handle_of_a_transport_session_is_not_its_id(open_server):
    user = open_server.user().handshake()
    handle = handle_of(user.done("directory_tree"))
    assert user.transport_session not in handle
    assert UNKNOWN.match(user.refused("read_artifact", session=user.transport_session))


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_resources_are_read_by_their_owner_only(two, era):
    running, ann, bob = two
    owner, thief = (of_era(running.user(token), era) for token in (ann, bob))
    uri = f"artifact://{owner.done('read_file', path='secret.txt')['artifact']}"
    read = owner.request if era == "handshake" else owner.modern
    assert told(read("resources/read", {"uri": uri}))["result"]["contents"][0]["text"].startswith(SECRET)
    steal = thief.request if era == "handshake" else thief.modern
    for address in (uri, f"artifact://{GUESSED}/a1", uri.replace("/a1-", "%2Fa1-")):
        answer = steal("resources/read", {"uri": address})
        assert SECRET not in answer.text
        assert "there is no such artifact" in answer.text


def test_no_refusal_comes_before_the_time_that_all_of_them_take(two):
    running, ann, bob = two
    theirs = handle_of(running.user(ann).done("directory_tree"))
    user = running.user(bob)
    for handle in (theirs, GUESSED, "no handle"):
        for _ in range(5):
            started = time.perf_counter()
            user.refused("read_artifact", session=handle)
            assert time.perf_counter() - started >= 0.01


def test_sessions_outlive_the_server(root, tmp_path):
    with served(root=root, data=tmp_path) as first:
        token = first.token
        old, new = first.user(token).handshake(), first.user(token)
        references = [user.done("read_file", path="note.txt")["artifact"] for user in (old, new)]
        first.end()
    with served(root=root, data=tmp_path) as second:
        assert second.token == token
        for reference in references:
            for user in (second.user(token), second.user(token).handshake()):
                assert user.done("read_artifact", artifact=reference)["preview"].startswith("the note")
        gone = second.user(token)
        gone.transport_session = old.transport_session
        assert gone.request("tools/list").status_code == 404


def test_the_end_of_a_transport_session_leaves_its_artifacts(open_server):
    user = open_server.user().handshake()
    reference = user.done("read_file", path="note.txt")["artifact"]
    assert user.http.delete(open_server.url, headers=user.routing()).status_code == 200
    assert user.request("tools/list").status_code == 404
    assert open_server.user().done("read_artifact", artifact=reference)["preview"].startswith("the note")


def test_a_session_is_deleted_by_its_owner_and_nobody_else(two):
    running, ann, bob = two
    owner, thief = running.user(ann), running.user(bob)
    reply = owner.done("read_file", path="secret.txt")
    handle = handle_of(reply)

    answers = [delete(thief, handle), delete(thief, GUESSED), delete(thief, "x"), delete(thief, "")]
    assert {(answer.status_code, answer.text) for answer in answers} == {(404, answers[0].text)}
    assert thief.http.delete(f"{running.base}/session").status_code == 400
    assert httpx2.delete(f"{running.base}/session", headers={"bursar-session": handle}).status_code == 401
    assert owner.done("read_artifact", artifact=reply["artifact"])["preview"].startswith(SECRET)
    assert delete(owner, handle).status_code == 204
    assert UNKNOWN.match(owner.refused("read_artifact", artifact=reply["artifact"]))
    assert UNKNOWN.match(owner.refused("directory_tree", session=handle))
    assert delete(owner, handle).status_code == 404


def delete(user, handle):
    return user.http.delete(f"{user.served.base}/session", headers={"bursar-session": handle})


def test_a_transport_whose_session_was_deleted_goes_on_in_a_new_one(open_server):
    user = open_server.user().handshake()
    first = user.done("read_file", path="note.txt")
    assert delete(user, handle_of(first)).status_code == 204
    assert UNKNOWN.match(user.refused("read_artifact", artifact="a1"))
    again = user.done("read_file", path="note.txt")
    assert handle_of(again) != handle_of(first)
    assert "same_as" not in again
    assert user.done("read_artifact")["artifacts"] == 1
    for reference in ({"artifact": first["artifact"]}, {"session": handle_of(first)}):
        assert UNKNOWN.match(user.refused("read_artifact", **reference))


def test_what_goes_on_in_a_deleted_session_ends_and_stores_nothing_again(open_server):
    marker = f"marker-{uuid.uuid4().hex}"
    sleeper = f"setsid python3 -c 'import time; time.sleep(600)' {marker} &"
    user, other = open_server.user(), open_server.user()
    kept = other.done("terminal", command="sleep 600", background=True)
    reply = user.done("terminal", command=f"{sleeper} sleep 60; echo {marker}", background=True)
    handle = handle_of(reply)
    user.done("terminal", command=f"echo {marker} > $TMPDIR/left", session=handle)
    calls = [
        {"tool": "terminal", "command": f"{sleeper} echo {marker}; sleep 600"},
        {"tool": "read_artifact", "artifact": reply["artifact"], "wait_s": 20},
        {"tool": "terminal", "artifact": reply["artifact"], "timeout_s": 20},
    ]
    with ThreadPoolExecutor() as threads:
        running = [threads.submit(open_server.user().refused, session=handle, **call) for call in calls]
        until(lambda: len(processes(marker)) >= 3)
        assert delete(user, handle).status_code == 204
        assert processes(marker) == []
        for call in running:
            assert UNKNOWN.match(call.result()), call.result()
    until(lambda: not any(holds(place, marker) for place in files(open_server.data)))
    assert UNKNOWN.match(user.refused("terminal", command="true", session=handle))
    assert other.done("terminal", artifact=kept["artifact"], stop=True)["ended"] == "stopped"


def processes(marker):
    """Return the processes whose command line carries a marker."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if marker.encode() in (place / "cmdline").read_bytes() and place.name != str(os.getpid()):
                found.append(int(place.name))
    return found


def files(root):
    return [Path(place, name) for place, _, names in os.walk(root) for name in names]


def holds(place, marker):
    with suppress(OSError):
        return marker.encode() in place.read_bytes()
    return False


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"name": "note.txt"}),
        ("read_file", {"path": "absent.txt"}),
        ("read_artifact", {"artifact": "a1"}),
        ("web_fetch", {"url": "http://127.0.0.1:1/"}),
        ("no_tool", {}),
    ],
)
def test_a_stateless_call_that_stores_nothing_leaves_no_session(open_server, tool, arguments):
    before = set((open_server.data / "bursar").glob("[!.]*"))
    answer = open_server.user().modern("tools/call", {"name": tool, "arguments": arguments})
    assert tool == "no_tool" or told(answer)["result"]["isError"] == (tool != "web_fetch")
    assert set((open_server.data / "bursar").glob("[!.]*")) == before


def test_a_stateless_call_that_tells_its_session_may_be_gone_on_from(open_server):
    user = open_server.user()
    listed = user.done("read_artifact")
    assert handle_of(user.done("read_file", path="note.txt", session=listed["session"])) == listed["session"]


def test_a_session_that_nobody_uses_is_let_go_of_and_expires(tmp_path, monkeypatch):
    monkeypatch.setattr(HttpSessions, "kept_s", 0.0)
    sessions = HttpSessions(Store(tmp_path, Limits(idle_s=0, settle_s=0)))
    in_use = sessions.resolve({}, CLIENT)
    unused = sessions.resolve({}, CLIENT).directory
    sessions.let_go()
    assert sessions.store.sweep().sessions == 1
    assert not unused.exists()
    assert in_use.directory.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="sessions are not locked there")
def test_a_session_that_is_being_swept_is_waited_for_and_the_server_goes_on(tmp_path):
    import fcntl

    first = Store(tmp_path, Limits()).create(ANYBODY)
    handle, lock = first.handle, (first.directory / "lock").open("r+")
    first.close()
    fcntl.flock(lock, fcntl.LOCK_EX)
    sessions = HttpSessions(Store(tmp_path, Limits()))
    found: list[str] = []

    async def call() -> None:
        found.append((await sessions.resolve_unlocked({"session": handle}, CLIENT)).handle)

    async def both() -> None:
        with pytest.raises(BursarError, match="session_locked"):
            sessions.resolve({"session": handle}, CLIENT)
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            assert found == []
            lock.close()

    anyio.run(both)
    assert found == [handle]


def test_more_sessions_than_are_kept_open_all_stay_usable(open_server):
    user = open_server.user()
    references = [user.done("read_file", path="note.txt")["artifact"] for _ in range(230)]
    assert len(set(references)) == 230
    for reference in references[::23]:
        assert user.done("read_artifact", artifact=reference)["preview"].startswith("the note")


def test_no_handle_and_no_token_is_written_into_the_log(root, tmp_path):
    with served(root=root, data=tmp_path) as running:
        token = running.token
        old, new = running.user(token).handshake(), running.user(token)
        replies = [user.done("read_file", path="note.txt") for user in (old, new)]
        new.refused("read_artifact", artifact=replies[0]["artifact"] + "0")
        new.refused("read_artifact", session=GUESSED)
        old.request("resources/read", {"uri": f"artifact://{replies[0]['artifact']}"})
        httpx2.post(running.url, headers={"authorization": f"Bearer {token}x"}, json={})
        stranger = running.user(token)
        stranger.transport_session = old.transport_session[:-1]
        stranger.request("tools/list")
        log = running.errors()
    for hidden in (token, old.transport_session, GUESSED, *map(handle_of, replies)):
        assert hidden not in log


def test_the_path_of_a_reply_given_to_read_file_leads_to_the_right_tool(open_server):
    user = open_server.user()
    reply = user.done("terminal", command="seq 100000")
    path = reply["path"]
    assert path == f"artifact://{reply['artifact'].partition('-')[0]}"
    assert f'read_artifact(artifact="{path}")' in user.refused("read_file", path=path)
