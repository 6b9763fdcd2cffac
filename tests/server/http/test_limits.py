import socket
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from bursar.artifacts import Limits, Store
from bursar.errors import BursarError
from bursar.guard.fair import FairQueue
from bursar.server.http.admission import Admission
from bursar.server.http.limits import Rates, network_of
from hypothesis import given
from hypothesis import strategies as some
from over_http import ACCEPT, served, told, until


def for_two(root, tmp_path_factory, *words):
    """Serve with small limits; yield the server, and the tokens of two users of it."""
    from bursar.server.http.tokens import fresh_token

    place = tmp_path_factory.mktemp("tokens") / "tokens"
    (ann, of_ann), (bob, of_bob) = fresh_token("ann"), fresh_token("bob")
    place.write_text(f"{of_ann}\n{of_bob}\n")
    place.chmod(0o600)
    with served(*words, "--auth-tokens", str(place), root=root, data=tmp_path_factory.mktemp("data")) as running:
        yield running, ann, bob


@pytest.fixture(scope="module")
def strict(root, tmp_path_factory):
    yield from for_two(root, tmp_path_factory, "--max-body-bytes", "65536", "--request-timeout-s", "1")


@pytest.fixture(scope="module")
def narrow(root, tmp_path_factory):
    yield from for_two(root, tmp_path_factory, "--max-connections", "6")


def error_of(answer):
    assert answer.headers["content-type"] == "application/json"
    message = answer.json()
    assert message["jsonrpc"] == "2.0"
    assert message["id"] is None
    return message["error"]


class TestRequestsPerMinute:
    def test_a_minutes_worth_may_come_at_once_and_then_it_is_told_when_to_come_again(self, root, tmp_path):
        with served("--no-auth", "--requests-per-minute", "6", root=root, data=tmp_path) as running:
            user = running.user()
            answers = [user.modern("ping") for _ in range(8)]
            assert not [answer for answer in answers[:6] if answer.status_code == 429]
            refused = answers[-1]
            assert refused.status_code == 429
            assert 1 <= int(refused.headers["retry-after"]) <= 60
            error = error_of(refused)
            assert error["data"] == {
                "limit": "requests_per_minute",
                "retry_after_s": int(refused.headers["retry-after"]),
            }
            assert f"try again in {refused.headers['retry-after']} s" in error["message"]
            assert user.http.get(f"{running.base}/healthz").status_code == 200

    def test_one_principal_over_its_rate_leaves_the_other_alone(self, root, tmp_path):
        from bursar.server.http.tokens import fresh_token

        (ann, of_ann), (bob, of_bob) = fresh_token("ann"), fresh_token("bob")
        place = tmp_path / "tokens"
        place.write_text(f"{of_ann}\n{of_bob}\n")
        place.chmod(0o600)
        options = ("--auth-tokens", str(place), "--requests-per-minute", "2")
        with served(*options, root=root, data=tmp_path / "data") as running:
            assert [running.user(ann).modern("ping").status_code for _ in range(4)][-1] == 429
            assert running.user(bob).modern("ping").status_code != 429

    def test_a_bucket_refills_evenly(self):
        now = [0.0]
        rates = Rates(60, clock=lambda: now[0])
        assert [rates.take("ann") for _ in range(60)] == [0.0] * 60
        assert rates.take("ann") == pytest.approx(1.0)  # its turn comes within a second: it may wait for it
        assert rates.take("ann") == pytest.approx(2.0)  # refused, and takes nothing
        assert rates.take("ann") == pytest.approx(2.0)
        now[0] = 2.0
        assert rates.take("ann") == 0.0

    @given(some.lists(some.integers(0, 30), max_size=200))
    def test_what_is_remembered_of_principals_is_bounded(self, names):
        rates = Rates(10, most=4, clock=lambda: 0.0)
        for name in names:
            rates.take(str(name))
        assert len(rates._buckets) <= 4

    def test_without_tokens_the_network_counts(self):
        assert network_of({"client": ("192.0.2.7", 1)}) == "192.0.2.7"
        assert network_of({"client": ("2001:db8:1:2:3::4", 1)}) == network_of({"client": ("2001:db8:1:2:9::9", 2)})
        assert network_of({"client": None}) == "unknown"


class TestBodies:
    def test_a_body_that_is_declared_too_large_is_refused(self, strict):
        running, ann, _ = strict
        answer = running.user(ann).http.post(running.url, content=b"x" * 70_000, headers=ACCEPT)
        assert answer.status_code == 413
        assert error_of(answer)["data"] == {"limit": "body_bytes"}

    def test_a_body_that_grows_too_large_is_refused(self, strict):
        running, ann, _ = strict
        answer = running.user(ann).http.post(running.url, content=(b"x" * 1000 for _ in range(100)), headers=ACCEPT)
        assert answer.status_code == 413

    def test_a_body_within_the_limit_is_read_in_pieces_too(self, strict):
        running, ann, _ = strict
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"' + b"y" * 50_000 + b'"}}}'
        pieces = (body[start : start + 1000] for start in range(0, len(body), 1000))
        headers = ACCEPT | {"content-type": "application/json", "mcp-protocol-version": "2026-07-28"}
        answer = running.user(ann).http.post(running.url, content=pieces, headers=headers)
        assert answer.status_code == 400  # read whole, and found to lack what the protocol wants
        assert answer.json()["id"] == 1

    def test_a_body_that_does_not_come_is_not_waited_for(self, strict):
        running, ann, _ = strict
        assert b"408" in half_sent(running, f"authorization: Bearer {ann}\r\n", "content-length: 10\r\n\r\n{")

    def test_headers_that_do_not_come_are_not_waited_for(self, strict):
        running, _, _ = strict
        assert half_sent(running, "x-half: ") == b""

    def test_a_connection_that_says_nothing_is_not_waited_for(self, strict):
        running, _, _ = strict
        host, port = running.host.split(":")
        with socket.create_connection((host, int(port)), 10) as silent:
            assert silent.recv(100) == b""

    def test_forty_half_sent_requests_do_no_harm_to_others(self, strict):
        running, ann, bob = strict
        host, port = running.host.split(":")
        waiting = [socket.create_connection((host, int(port)), 10) for _ in range(40)]
        for one in waiting:
            one.sendall(head(running, f"authorization: Bearer {ann}\r\n", "content-length: 10\r\n\r\n{"))
        assert running.user(bob).modern("tools/list").status_code == 200
        for one in waiting:
            assert b"408" in one.recv(1000)
            one.close()


class TestConnections:
    def test_those_that_ask_nothing_give_their_places_to_others(self, root, tmp_path):
        with served("--no-auth", "--max-connections", "20", root=root, data=tmp_path) as running:
            host, port = running.host.split(":")
            held = [socket.create_connection((host, int(port)), 10) for _ in range(40)]
            for one in held[20:]:
                one.sendall(f"GET /healthz HTTP/1.1\r\nhost: {running.host}\r\n\r\n".encode())
            until(lambda: running.user().modern("tools/list").status_code == 200)  # while some are still asking: 503
            user = running.user().handshake()
            assert user.done("read_file", path="note.txt")["preview"] == "the note\n"
            for one in held:
                one.close()

    def test_one_whose_call_is_running_keeps_its_place(self, root, tmp_path):
        with served("--no-auth", "--max-connections", "5", root=root, data=tmp_path) as running:
            busy = running.user()
            with ThreadPoolExecutor(1) as pool:
                slow = pool.submit(busy.done, "terminal", command="echo on; sleep 1; echo done")
                until(lambda: list(tmp_path.rglob("a1-terminal.log")))
                host, port = running.host.split(":")
                held = [socket.create_connection((host, int(port)), 10) for _ in range(20)]
                assert "done" in slow.result()["preview"]
            for one in held:
                one.close()


@pytest.fixture(scope="module")
def small(root, tmp_path_factory):
    from bursar.server.http.tokens import fresh_token

    place = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens, lines = zip(*map(fresh_token, ("ann", "bob", "cid")), strict=True)
    place.write_text("\n".join(lines))
    place.chmod(0o600)
    options = ("--auth-tokens", str(place), "--max-connections", "40")
    with served(*options, root=root, data=tmp_path_factory.mktemp("data")) as running:
        yield running, tokens


class TestPrincipalsShareConnections:
    """Of forty connections; a body may take half a minute."""

    def test_slow_bodies_of_one_leave_room_for_the_others(self, small):
        running, (ann, bob, _) = small
        waiting = slow_bodies(running, ann, 60)
        assert running.user(bob).modern("tools/list").status_code == 200
        assert running.user(bob).handshake().done("read_file", path="note.txt")["preview"] == "the note\n"
        close(waiting)

    def test_slow_bodies_of_many_give_their_places_to_others(self, small):
        running, (ann, bob, cid) = small
        waiting = slow_bodies(running, ann, 19) + slow_bodies(running, bob, 20)
        for _ in range(5):
            assert running.user(cid).modern("tools/list").status_code == 200
        close(waiting)

    def test_one_may_have_half_of_them_at_work_and_is_told_when_to_come_again(self, small):
        running, (ann, bob, _) = small
        waiting = slow_bodies(running, ann, 20)

        def refused():
            answer = running.user(ann).modern("ping")
            return answer if answer.status_code == 503 else None

        until(refused)
        error = error_of(refused())
        assert error["data"] == {"limit": "connections_per_principal", "retry_after_s": 2}
        assert running.user(bob).modern("tools/list").status_code == 200
        close(waiting)
        until(lambda: running.user(ann).modern("tools/list").status_code == 200)

    def test_without_tokens_slow_bodies_give_their_places_away_too(self, root, tmp_path):
        with served("--no-auth", "--max-connections", "40", root=root, data=tmp_path) as running:
            waiting = slow_bodies(running, "", 60)
            assert running.user().modern("tools/list").status_code == 200
            close(waiting)


def slow_bodies(running, token, count):
    """Send the first byte of a body on many connections, and wait until the server has seen them all."""
    host, port = running.host.split(":")
    waiting = []
    for _ in range(count):
        waiting.append(socket.create_connection((host, int(port)), 10))
        waiting[-1].sendall(head(running, f"authorization: Bearer {token}\r\n", "content-length: 100\r\n\r\n{"))
        assert running_still_answers(running)
    return waiting


def running_still_answers(running):
    """Ask something that takes a connection, so that what was sent before has been read."""
    with socket.create_connection(tuple(running.host.split(":")), 10) as other:
        other.sendall(f"GET /healthz HTTP/1.1\r\nhost: {running.host}\r\nconnection: close\r\n\r\n".encode())
        return other.recv(1000)


def close(connections):
    for one in connections:
        one.close()


class TestHeaders:
    @pytest.mark.parametrize("headers", [{"x-long": "y" * 60_000}, {f"x-{number}": "y" for number in range(4000)}])
    def test_too_much_of_them_is_refused_even_if_it_comes_at_once(self, strict, headers):
        running, ann, _ = strict
        answer = running.user(ann).http.get(f"{running.base}/healthz", headers=headers)
        assert answer.status_code == 400

    def test_a_long_token_and_the_headers_of_some_proxies_pass(self, strict):
        running, _, _ = strict
        headers = {f"x-forwarded-{number}": "y" * 100 for number in range(30)} | {
            "authorization": "Bearer " + "z" * 16_000
        }
        assert running.user().http.get(f"{running.base}/healthz", headers=headers).status_code == 200


class TestEveryAddressCounts:
    def test_deleting_sessions_and_reading_metrics_are_requests_like_others(self, root, tmp_path):
        options = ("--no-auth", "--telemetry", "prometheus", "--requests-per-minute", "4")
        with served(*options, root=root, data=tmp_path) as running:
            user = running.user()
            for number in range(2):
                handle = {"bursar-session": f"ses_{number}"}
                assert user.http.delete(f"{running.base}/session", headers=handle).status_code == 404
                assert user.http.get(f"{running.base}/metrics").status_code == 200
            assert user.http.delete(f"{running.base}/session", headers={"bursar-session": "ses_x"}).status_code == 429
            assert user.http.get(f"{running.base}/metrics").status_code == 429


def head(running, *more):
    return f"POST /mcp HTTP/1.1\r\nhost: {running.host}\r\n{''.join(more)}".encode()


def half_sent(running, *more):
    """Send the beginning of a request and no more; return what the server says in the end."""
    host, port = running.host.split(":")
    with socket.create_connection((host, int(port)), 10) as slow:
        slow.sendall(head(running, *more))
        said = b""
        while piece := slow.recv(1000):
            said += piece
        return said


class TestOpenSessions:
    def test_one_principal_has_a_share_of_them_and_the_server_an_end(self, narrow):
        running, ann, bob = narrow
        users = [running.user(ann).handshake() for _ in range(3)]
        refused = self.opening(running.user(ann))
        assert refused.status_code == 503
        assert error_of(refused)["data"] == {"limit": "sessions_per_principal", "retry_after_s": 60}
        users += [running.user(bob).handshake() for _ in range(3)]
        refused = self.opening(running.user(bob))
        assert refused.status_code == 503
        assert error_of(refused)["data"]["limit"] == "sessions"
        assert "retry-after" in refused.headers
        users[0].http.delete(running.url, headers=ACCEPT | users[0].routing())
        users[0] = running.user(ann).handshake()
        for user in users:
            user.http.delete(running.url, headers=ACCEPT | user.routing())

    def test_what_opens_no_session_takes_no_place(self, narrow):
        running, ann, _ = narrow
        for _ in range(4):
            assert running.user(ann).post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).status_code == 400
        running.user(ann).handshake()

    @staticmethod
    def opening(user):
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        return user.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})


class TestCallsInFlight:
    def test_the_calls_of_a_session_wait_for_each_other_and_another_session_goes_on(self, root, tmp_path):
        options = ("--no-auth", "--max-calls", "16", "--patience-s", "5")
        with served(*options, root=root, data=tmp_path) as running:
            slow = running.user().handshake()
            with ThreadPoolExecutor() as pool:
                occupied = pool.submit(slow.call, "terminal", command="sleep 2; echo done")
                said = [slow.call("read_artifact")]
                while not said[-1][1] and not occupied.done():
                    said.append(slow.call("read_artifact"))
                text, is_error = said[-1]
                assert is_error
                assert text.startswith("busy: 1 calls of this session are running already")
                assert "Try again in" in text
                running.user().handshake().done("read_artifact")
                assert "done" in occupied.result()[0]
            slow.done("read_artifact")


class TestQuotas:
    def test_who_holds_too_much_may_read_and_delete_and_nothing_more(self, root, tmp_path):
        with served("--no-auth", "--principal-quota-bytes", "100000", root=root, data=tmp_path) as running:
            user = running.user()
            reply = user.done("terminal", command="seq 1 50000")
            session = reply["artifact"].partition("/")[0]
        with served("--no-auth", "--principal-quota-bytes", "100000", root=root, data=tmp_path) as running:
            user = running.user()
            until(lambda: user.call("read_file", path="note.txt")[1])
            assert user.refused("terminal", command="echo more").startswith("quota_exceeded: your sessions hold")
            user.done("read_artifact", artifact=reply["artifact"], tail=1)
            assert told(user.modern("resources/read", {"uri": reply["path"]}))["result"]["contents"]
            deleted = user.http.delete(f"{running.base}/session", headers={"bursar-session": session})
            assert deleted.status_code == 204

    def test_everybody_is_measured_by_what_their_sessions_hold(self, tmp_path):
        store = Store(tmp_path / "store", Limits())
        for owner, size in (("ann", 1000), ("ann", 2000), ("bob", 500)):
            session = store.create(owner)
            (session.directory / "a1-x.log").write_bytes(b"x" * size)
        (tmp_path / "store" / "stray").mkdir()
        held = store.sizes()
        assert set(held) == {"ann", "bob"}
        assert 3000 < held["ann"] < 4000
        assert 500 < held["bob"] < 1000


async def crowd(turns, principal, session, log, *, seconds, patience_s=100.0):
    try:
        async with turns.turn(principal, session, patience_s):
            log.append((principal, turns.queue.held))
            await anyio.sleep(seconds)
    except BursarError as error:
        log.append((principal, error.code))


class TestTurns:
    def test_no_more_run_than_may_and_all_get_their_turn(self):
        async def scenario():
            turns, log = Admission(FairQueue(3, 3, 3)), []
            async with anyio.create_task_group() as tasks:
                for number in range(15):
                    tasks.start_soon(partial_crowd(turns, "ann", str(number), log, seconds=0.001))
            return turns, log

        turns, log = anyio.run(scenario)
        assert len(log) == 15
        assert max(running for _, running in log) <= 3
        assert is_empty(turns.queue)

    def test_a_free_place_goes_to_whoever_has_the_fewest(self):
        async def scenario():
            turns, log = Admission(FairQueue(2, 2, 2)), []
            gate = anyio.Event()

            async def hold(principal, session):
                try:
                    async with turns.turn(principal, session, 1000):
                        log.append(principal)
                        await gate.wait()
                except BursarError as error:
                    log.append(error.code)

            async with anyio.create_task_group() as tasks:
                for number in range(12):
                    tasks.start_soon(hold, "hog", f"h{number}")
                await anyio.wait_all_tasks_blocked()
                tasks.start_soon(hold, "bob", "b")
                await anyio.wait_all_tasks_blocked()
                gate.set()
            return log

        log = anyio.run(scenario)
        assert log[:5] == ["hog", "hog", "busy", "busy", "bob"]  # eight may wait beside the two that run
        assert log.count("hog") == 10

    def test_who_waits_too_long_is_told_busy_and_leaves_no_trace(self):
        async def scenario():
            hits = []
            turns, log = Admission(FairQueue(5, 5, 1), hits.append), []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial_crowd(turns, "ann", "s", log, seconds=0.3))
                await anyio.sleep(0.01)
                tasks.start_soon(partial_crowd(turns, "ann", "s", log, seconds=0, patience_s=0.2))
            return turns, log, hits

        turns, log, hits = anyio.run(scenario)
        assert log == [("ann", 1), ("ann", "busy")]
        assert hits == ["calls_per_session"]
        assert is_empty(turns.queue)

    def test_a_call_that_is_cancelled_while_it_waits_leaves_no_trace(self):
        async def scenario():
            turns, log = Admission(FairQueue(1, 1, 1)), []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial_crowd(turns, "ann", "s", log, seconds=0.05))
                await anyio.sleep(0.01)
                with anyio.move_on_after(0.01):
                    await crowd(turns, "ann", "s", log, seconds=0)
                await crowd(turns, "ann", "s", log, seconds=0)
            return turns, log

        turns, log = anyio.run(scenario)
        assert log == [("ann", 1), ("ann", 1)]
        assert is_empty(turns.queue)


def is_empty(queue):
    return not (queue.held or queue._by_sharer or queue._by_part or queue._waiting)


def partial_crowd(*args, **named):
    async def run():
        await crowd(*args, **named)

    return run
