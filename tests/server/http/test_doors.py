"""What a request must show before anything behind it is reached."""

import socket

import httpx2
import pytest
from bursar.errors import BursarError
from bursar.server.config import Settings
from bursar.server.http.access import check
from bursar.server.http.address import Address
from over_http import ACCEPT, MODERN, served, start

PLACES = ["/mcp", "/healthz", "/session", "/.well-known/oauth-protected-resource", "/nothing"]


CLIENT = httpx2.Client(trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0))


def ask(running, method="GET", place="/healthz", **options):
    return CLIENT.request(method, running.base + place, **options)


def raw(running, request):
    """Send bytes and return the status line of the answer."""
    host, port = running.host.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(request)
        return connection.recv(65536).split(b"\r\n", 1)[0]


def test_health_tells_only_that_it_is_well_and_its_version(open_server):
    from bursar import __version__

    answer = ask(open_server)
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "version": __version__}
    assert "server" not in answer.headers


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "localhost:{port}.evil.example",
        "localhost:1.evil.example",
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1:{port}:80",
        "127.0.0.1.evil.example:{port}",
        "user@127.0.0.1:{port}",
        "localhost.:{port}",
        "localhost",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.1:{port}",
        "2130706433:{port}",
        "0.0.0.0:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "[::]:{port}",
    ],
)
def test_no_place_answers_to_another_host(open_server, host, place):
    host = host.format(port=open_server.host.rsplit(":", 1)[1])
    assert ask(open_server, place=place, headers={"host": host}).status_code in {400, 421}


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_its_own_names_are_answered(open_server, name):
    port = open_server.host.rsplit(":", 1)[1]
    assert ask(open_server, headers={"host": f"{name}:{port}"}).status_code == 200


@pytest.mark.parametrize("hosts", [b"", b"Host: evil.example\r\nHost: %b\r\n", b"Host: %b\r\nHost: evil.example\r\n"])
def test_a_missing_or_doubled_host_is_refused(open_server, hosts):
    hosts = hosts.replace(b"%b", open_server.host.encode())
    status = raw(open_server, b"GET /healthz HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
    assert b" 400 " in status or b" 421 " in status


def test_an_absolute_address_does_not_get_around_the_host(open_server):
    request = f"GET http://{open_server.host}/healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert b" 421 " in raw(open_server, request.encode())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "http://{host}.evil.example",
        "http://evil.example/http://{host}",
        "https://{host}",
        "http://localhost",
        "http://localhost:1",
        "file://",
    ],
)
def test_pages_of_another_origin_are_refused_everywhere(open_server, origin, place):
    origin = origin.format(host=open_server.host)
    assert ask(open_server, place=place, headers={"origin": origin}).status_code == 403


def test_a_page_that_was_allowed_may_call_and_read_the_answer(root, tmp_path):
    allowed = "https://app.example"
    with served("--no-auth", "--allow-origin", allowed, root=root, data=tmp_path) as running:
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "mcp-protocol-version"}
        before = ask(running, "OPTIONS", "/mcp", headers={"origin": allowed} | asked)
        assert before.headers["access-control-allow-origin"] == allowed
        assert ask(running, headers={"origin": allowed}).headers["access-control-allow-origin"] == allowed
        assert ask(running, headers={"origin": allowed + ".evil.example"}).status_code == 403


def test_a_name_that_was_allowed_is_answered_exactly(root, tmp_path):
    with served(
        "--auth-tokens", str(tokens_in(tmp_path)), "--allow-host", "mcp.example", root=root, data=tmp_path
    ) as it:
        assert ask(it, headers={"host": "mcp.example"}).status_code == 200
        assert ask(it, headers={"host": "mcp.example:80"}).status_code == 421
        assert ask(it, headers={"host": "a.mcp.example"}).status_code == 421


@pytest.mark.parametrize("name", ["access_token", "ACCESS_TOKEN", "token", "session", "api_key"])
@pytest.mark.parametrize("place", ["/mcp", "/session", "/healthz"])
def test_secrets_in_the_address_are_refused(open_server, place, name):
    answer = ask(open_server, place=f"{place}?a=b&{name}=secret")
    assert answer.status_code == 400
    assert "Authorization" in answer.text
    assert "secret\n" not in answer.text


@pytest.mark.parametrize("name", ["Authorization", "Mcp-Session-Id", "Mcp-Protocol-Version"])
def test_headers_that_decide_who_calls_may_not_stand_twice(open_server, name):
    request = f"POST /mcp HTTP/1.1\r\nHost: {open_server.host}\r\n{name}: a\r\n{name}: b\r\nContent-Length: 0\r\n\r\n"
    assert b" 400 " in raw(open_server, request.encode())


def test_a_bigger_body_than_any_call_is_refused(open_server):
    body = b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (5 * 1024 * 1024) + b'"}'
    headers = ACCEPT | {"content-type": "application/json", "mcp-protocol-version": MODERN}
    assert ask(open_server, "POST", "/mcp", content=body, headers=headers).status_code == 413


@pytest.mark.parametrize("options", [(), ("--no-auth",)])
def test_without_auth_it_listens_for_nobody_but_this_machine(root, tmp_path, options):
    code, words = refused(*options, root=root, data=tmp_path, address="0.0.0.0:0")
    assert code == 2
    assert words.startswith("bursar: auth_needed: ")
    assert "--auth-tokens" in words
    assert "--auth-issuer" in words


@pytest.mark.parametrize(
    "given",
    [
        {"http": "[::]:0"},
        {"http": "10.0.0.1:80", "no_auth": True},
        {"http": "machine.example:0"},
        {"http": "localhost.example:0"},
        {"http": "127.0.0.1:0", "no_auth": True, "allow_host": ("mcp.example:443",)},
        {"http": "127.0.0.1:0", "no_auth": True, "allow_host": ("localhost:9", "mcp.example")},
    ],
)
def test_without_auth_there_is_no_way_in_for_others(given):
    with pytest.raises(BursarError) as refusal:
        check(Settings(**given))
    assert refusal.value.code == "auth_needed"


ISSUER = {"auth_issuer": "https://id.example", "auth_audience": "https://mcp.example/mcp"}


@pytest.mark.parametrize(
    "given",
    [
        {"no_auth": True, **ISSUER},
        {"no_auth": True, "auth_tokens": "tokens"},
        {"auth_issuer": "https://id.example"},
        {"auth_audience": "https://mcp.example/mcp"},
        {"auth_scopes": ("use",)},
        ISSUER | {"auth_issuer": "http://id.example"},
        ISSUER | {"auth_issuer": "https://id.example/?a=b"},
        ISSUER | {"auth_audience": "mcp.example"},
        ISSUER | {"auth_audience": "https://me@mcp.example/mcp"},
        {"http": "here"},
        {"http": "127.0.0.1:99999"},
        {"http": "127.0.0.1:-1"},
        {"http": "::1:80"},
        {"http": "127.0.0.1:"},
        {"http": "a b:80"},
        {"allow_host": ("http://mcp.example",)},
        {"allow_origin": ("https://app.example/",)},
        {"allow_origin": ("app.example",)},
    ],
)
def test_settings_that_contradict_themselves_are_refused(given):
    with pytest.raises(BursarError) as refusal:
        check(Settings(**({"http": "127.0.0.1:0"} | given)))
    assert refusal.value.code == "bad_setting"


@pytest.mark.parametrize("way", ["work/tokens", "work/link", "link", "further/tokens", "away/../work/tokens"])
def test_a_token_file_where_commands_may_write_is_refused(tmp_path, way):
    for name in ("work", "further", "away"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tokens").touch()
    (tmp_path / "work" / "link").symlink_to(tmp_path / "away" / "tokens")
    (tmp_path / "link").symlink_to(tmp_path / "work" / "tokens")
    places = {"root": (tmp_path / "work",), "terminal_write": (tmp_path / "further",)}
    with pytest.raises(BursarError, match="bad_setting"):
        Settings(**places, auth_tokens=str(tmp_path / way)).check()
    Settings(**places, auth_tokens=str(tmp_path / "away" / "tokens")).check()


def test_an_address_in_use_is_refused_and_named(open_server, root, tmp_path):
    code, words = refused("--no-auth", root=root, data=tmp_path, address=open_server.host)
    assert code == 2
    assert words.startswith(f"bursar: cannot_listen: cannot listen on {open_server.host}: ")


def refused(*options, root, data, address="127.0.0.1:0"):
    """Start a server that refuses to; return its exit status and its words."""
    process = start(*options, root=root, data=data, address=address)
    _, words = process.communicate(timeout=60)
    return process.returncode, words.decode()


def tokens_in(place):
    from bursar.server.http.tokens import fresh_token

    file = place / "tokens"
    file.write_text(fresh_token("ann")[1] + "\n")
    file.chmod(0o600)
    return file


def test_where_it_listens_for_all_addresses_it_says_which_names_it_answers_to(root, tmp_path):
    from bursar.server.http.tokens import fresh_token

    place = tmp_path / "tokens"
    token, line = fresh_token("ann")
    place.write_text(line + "\n")
    options = ("--auth-tokens", str(place), "--terminal", "unsafe")
    with served(*options, root=root, data=tmp_path / "data", address="0.0.0.0:0") as running:
        port = running.host.rsplit(":", 1)[1]
        for name, status in (("127.0.0.1", 200), ("localhost", 200), ("machine.example", 421)):
            answer = CLIENT.get(f"http://127.0.0.1:{port}/healthz", headers={"host": f"{name}:{port}"})
            assert answer.status_code == status
        running.user(token).handshake()
        said = running.errors()
    assert f"127.0.0.1:{port}" in said
    assert "--allow-host" in said
    assert "commands are not sandboxed" in said


@pytest.mark.needs("IPv6")
class TestEveryAddressOfLocalhost:
    """A client that calls `localhost` tries one address after the other, and gives its token to whoever answers."""

    @pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0", "localhost:0", "0.0.0.0:0", "[::]:0"])
    def test_nobody_else_can_listen_on_any_of_them(self, address):
        listening = Address.parse(address).listen()
        port = listening[0].getsockname()[1]
        try:
            for family, place in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
                with socket.socket(family) as thief:
                    thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    with pytest.raises(OSError, match="in use"):
                        thief.bind((place, port))
                socket.create_connection((place, port), 5).close()
        finally:
            for one in listening:
                one.close()

    @pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
    def test_where_somebody_else_holds_one_the_server_does_not_start(self, address):
        with socket.socket(socket.AF_INET6) as thief:
            thief.bind(("::1", 0))
            thief.listen()
            port = thief.getsockname()[1]
            with pytest.raises(BursarError) as refusal:
                Address.parse(f"{address}:{port}").listen()
        assert refusal.value.code == "cannot_listen"
        assert f"localhost:{port}" in refusal.value.message

    def test_a_name_stands_for_all_addresses_that_it_leads_to(self, monkeypatch):
        leads_to = socket.getaddrinfo

        def resolved(host, *given, **named):
            places = ("127.0.0.1", "::1") if host == "box.test" else (host,)
            return [found for place in places for found in leads_to(place, *given, **named)]

        monkeypatch.setattr(socket, "getaddrinfo", resolved)
        listening = Address.parse("box.test:0").listen()
        port = listening[0].getsockname()[1]
        for family, place in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.socket(family) as thief, pytest.raises(OSError, match="in use"):
                thief.bind((place, port))
        for one in listening:
            one.close()

    def test_all_addresses_are_those_of_both_families(self):
        listening = Address.parse("0.0.0.0:0").listen()
        port = listening[0].getsockname()[1]
        with socket.socket(socket.AF_INET6) as thief, pytest.raises(OSError, match="in use"):
            thief.bind(("::", port))
        for one in listening:
            one.close()

    def test_an_address_that_localhost_does_not_lead_to_is_not_called_so(self):
        assert Address.parse("127.0.0.2:9").hosts == {"127.0.0.2:9"}
        assert Address.parse("192.0.2.1:9").hosts == {"192.0.2.1:9"}

    def test_a_server_answers_at_each_of_them(self, root, tmp_path):
        with served("--no-auth", root=root, data=tmp_path) as running:
            port = running.host.rsplit(":", 1)[1]
            for host in ("127.0.0.1", "[::1]", "localhost"):
                assert CLIENT.get(f"http://{host}:{port}/healthz").status_code == 200
