"""Several processes behind one address: clients see one server, whichever of them dies."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from over_http import ACCEPT, served, told, until, workers
from wire import module

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no system without fork has several workers")


@pytest.fixture(scope="module")
def crew(root, tmp_path_factory):
    """A server of three processes, and two users of it."""
    from bursar.server.http.tokens import fresh_token

    place = tmp_path_factory.mktemp("tokens") / "tokens"
    (ann, of_ann), (bob, of_bob) = fresh_token("ann"), fresh_token("bob")
    place.write_text(f"{of_ann}\n{of_bob}\n")
    place.chmod(0o600)
    options = ("--workers", "3", "--max-body-bytes", "65536", "--auth-tokens", str(place))
    with served(*options, root=root, data=tmp_path_factory.mktemp("data")) as running:
        until(lambda: len(workers(running)) == 3)
        yield running, ann, bob


def post_of(user):
    """Return which process a transport session lives in."""
    return re.fullmatch(r"(w\d+-[0-9a-f]{8})\.[0-9a-f]{32}", user.transport_session)[1]


def session_in_each(running, token, count):
    """Open sessions until every process has one."""
    found = {}
    for _ in range(300):
        user = running.user(token).handshake()
        found.setdefault(post_of(user), user)
        if len(found) == count:
            return found
    raise AssertionError(f"only {list(found)} were ever given a session")


class TestSessionsOfOneProcess:
    def test_any_connection_reaches_a_session_wherever_it_lives(self, crew):
        running, ann, _ = crew
        for user in session_in_each(running, ann, 3).values():
            reply = user.done("terminal", command="echo from the owner")
            for _ in range(6):
                other = running.user(ann)
                other.transport_session = user.transport_session
                again = other.done("read_artifact", artifact=reply["artifact"].rpartition("/")[2])
                assert "from the owner" in json.dumps(again)

    def test_another_principal_finds_nothing_there(self, crew):
        running, ann, bob = crew
        for user in session_in_each(running, ann, 3).values():
            for _ in range(4):
                thief = running.user(bob)
                thief.transport_session = user.transport_session
                assert thief.request("tools/list").status_code == 404

    def test_without_a_token_nothing_is_relayed(self, crew):
        running, ann, _ = crew
        user = running.user(ann).handshake()
        for _ in range(6):
            nobody = running.user()
            nobody.transport_session = user.transport_session
            assert nobody.request("tools/list").status_code == 401

    def test_a_deleted_session_is_gone_for_all(self, crew):
        running, ann, _ = crew
        user = running.user(ann).handshake()
        other = running.user(ann)
        assert other.http.delete(running.url, headers=ACCEPT | user.routing()).status_code == 200
        for _ in range(6):
            another = running.user(ann)
            another.transport_session = user.transport_session
            assert another.request("tools/list").status_code == 404

    def test_names_that_no_process_has_are_unknown(self, crew):
        running, ann, _ = crew
        for name in ("w9-00000000.abc", "w0-../../x.abc", "w0-00000000." + "a" * 300, "w0-00000000.", "x"):
            user = running.user(ann)
            user.transport_session = name
            assert user.request("tools/list").status_code == 404

    def test_what_processes_say_to_each_other_is_not_believed_from_outside(self, crew):
        running, ann, bob = crew
        user = running.user(ann).handshake()
        thief = running.user(bob)
        thief.transport_session = user.transport_session
        forged = {"x-bursar-relay": "0" * 64, "x-bursar-peer": "192.0.2.1", "x-bursar-if-held": "1"}
        for _ in range(6):
            assert thief.http.post(
                running.url,
                json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
                headers=ACCEPT | thief.routing() | forged,
            ).status_code in (401, 404)

    def test_the_limit_of_a_body_holds_on_the_way_to_another_process_too(self, crew):
        running, ann, _ = crew
        for user in session_in_each(running, ann, 3).values():
            other = running.user(ann)
            other.transport_session = user.transport_session
            assert other.request("ping", {"x": "y" * 70_000}).status_code == 413

    def test_a_stream_of_progress_comes_through_as_it_is_made(self, crew):
        running, ann, _ = crew
        owners = session_in_each(running, ann, 3)
        body = {
            "jsonrpc": "2.0",
            "id": 7,
            "method": "tools/call",
            "params": {
                "name": "terminal",
                "arguments": {"command": "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done"},
                "_meta": {"progressToken": "p"},
            },
        }
        for user in owners.values():
            other = running.user(ann)
            headers = ACCEPT | user.routing()
            with other.http.stream("POST", running.url, json=body, headers=headers) as answer:
                assert answer.headers["content-type"].startswith("text/event-stream")
                lines = [line[5:] for line in answer.iter_lines() if line.startswith("data:")]
            events = [json.loads(line) for line in lines if line.strip()]
            assert events[0]["method"] == "notifications/progress"
            assert events[-1]["id"] == 7

    def test_every_process_finds_every_session_by_its_handle(self, crew):
        running, ann, bob = crew
        reply = running.user(ann).done("terminal", command="echo shared by all")
        for _ in range(12):
            assert "shared by all" in json.dumps(running.user(ann).done("read_artifact", artifact=reply["artifact"]))
        assert running.user(bob).refused("read_artifact", artifact=reply["artifact"]).startswith("unknown_artifact")


class TestCommandsOfOneProcess:
    def test_input_and_stop_reach_a_command_whichever_process_runs_it(self, crew):
        running, ann, bob = crew
        for _ in range(4):
            began = running.user(ann).done("terminal", command="read x; echo got $x; sleep 60", background=True)
            assert began["state"] == "running"
            session, _, short = began["artifact"].partition("/")
            told_it = running.user(ann).done("terminal", artifact=began["artifact"], input="hello\n")
            assert "got hello" in json.dumps(told_it)
            refused = running.user(bob).refused("terminal", artifact=began["artifact"], stop=True)
            assert refused.startswith("unknown_artifact")
            ended = running.user(ann).done("terminal", session=session, artifact=short, stop=True)
            assert ended["ended"] == "stopped"


class TestDeathOfAProcess:
    def test_it_is_replaced_its_sessions_are_unknown_and_its_artifacts_are_whole(self, crew):
        running, ann, _ = crew
        owners = session_in_each(running, ann, 3)
        replies = {name: user.done("terminal", command=f"echo kept by {name}") for name, user in owners.items()}
        before = workers(running)
        os.kill(before[0], signal.SIGKILL)
        until(lambda: len(workers(running)) == 3 and before[0] not in workers(running))
        until(lambda: all(ask(running, ann, user) in (200, 404) for user in owners.values()))
        answers = {name: ask(running, ann, user) for name, user in owners.items()}
        assert sorted(answers.values()) == [200, 200, 404]
        for name, reply in replies.items():
            read = running.user(ann).done("read_artifact", artifact=reply["artifact"])
            assert f"kept by {name}" in json.dumps(read)

    def test_requests_go_on_while_processes_die(self, crew):
        running, ann, _ = crew
        stop = threading.Event()
        faults = []

        def ask_on():
            while not stop.is_set():
                try:
                    told(running.user(ann).modern("tools/list"))
                except (OSError, AssertionError) as error:
                    faults.append(error)
                except Exception as error:
                    if "Error" not in type(error).__name__:
                        faults.append(error)

        asking = threading.Thread(target=ask_on)
        asking.start()
        for _ in range(2):
            os.kill(workers(running)[1], signal.SIGKILL)
            until(lambda: len(workers(running)) == 3)
        stop.set()
        asking.join()
        assert not faults

    def test_a_server_that_cannot_begin_says_why_and_ends(self, root, tmp_path):
        (tmp_path / "bursar").write_text("not a directory")
        options = ("--workers", "2", "--no-auth", "--root", str(root), "--data-dir", str(tmp_path))
        command = module("serve", "--http", "127.0.0.1:0", *options)
        ended = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
        )
        assert ended.returncode == 2
        assert "data_directory_refused" in ended.stderr
        assert "workers_failed" in ended.stderr


def ask(running, token, user):
    other = running.user(token)
    other.transport_session = user.transport_session
    return other.request("tools/list").status_code


def is_over(pid):
    try:
        return ") Z" in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


DYING = """
import os, sys
from bursar.errors import BursarError
from bursar.server import log
from bursar.server.http.supervisor import supervise

def work(post, tell_ready):
    if sys.argv[1] == "later":
        tell_ready()
    os.write(1, f"{post.name.partition('-')[0]} ".encode())
    os._exit(7)

try:
    supervise(work, 2)
except BursarError as error:
    print(error.code, error.message)
"""


IDLE = """
import os, time
from bursar.server.http.supervisor import supervise

def work(post, tell_ready):
    tell_ready()
    os.write(1, f"{os.getpid()} ".encode())
    time.sleep(600)

supervise(work, 3)
"""


class TestEnd:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
    def test_all_processes_end_with_their_parent_however_that_ends(self, number, tmp_path, monkeypatch):
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        with subprocess.Popen([sys.executable, "-c", IDLE], stdout=subprocess.PIPE) as running:
            said = b""
            while len(said.split()) < 3:
                said += os.read(running.stdout.fileno(), 100)
            pids = [int(pid) for pid in said.split()]
            assert not [pid for pid in pids if is_over(pid)]
            running.send_signal(number)
            running.wait(20)
            until(lambda: all(map(is_over, pids)))
        if number != signal.SIGKILL:
            assert running.returncode == 0
            assert not list(tmp_path.iterdir())


class TestProcessesThatKeepDying:
    def test_before_they_can_be_reached_they_are_given_up_after_a_few_attempts(self):
        command = [sys.executable, "-c", DYING, "at once"]
        ended = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
        assert ended.stdout.split()[:5] == ["w0"] * 5
        assert ended.stdout.split()[5] == "workers_failed"
        assert "status 7" in ended.stdout

    def test_afterwards_they_are_started_again_and_again_but_not_without_pause(self):
        command = [sys.executable, "-c", DYING, "later"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            lines = [json.loads(running.stderr.readline()) for _ in range(8)]
            running.terminate()
            running.communicate()
        assert {line["event"] for line in lines} == {"worker_died"}
        delays = [line["restart_in_s"] for line in lines if line["worker"] == 0]
        assert delays[0] == 0
        assert delays == sorted(delays)
        assert delays[-1] > 0
