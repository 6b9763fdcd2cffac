"""Tokens of an authorization server: only what one issuer signed, for this server, and not expired."""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import httpx2
import jwt
import pytest
from bursar.server.http import jwks
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from over_http import served

AUDIENCE = "https://mcp.example/tools/mcp"


class Issuer:
    """An authorization server's public side on loopback, and its private keys."""

    def __init__(self):
        self.keys = {
            "rsa": ("RS256", rsa.generate_private_key(65537, 2048)),
            "ec": ("ES256", ec.generate_private_key(ec.SECP256R1())),
            "ed": ("EdDSA", ed25519.Ed25519PrivateKey.generate()),
        }
        self.listed = ["rsa", "ec", "ed"]
        self.asked = []
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked.append(self.path)
                found = issuer.documents().get(self.path)
                body = json.dumps(found).encode()
                self.send_response(404 if found is None else 200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/realm"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def documents(self):
        return {
            "/realm/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": f"{self.url}/keys"},
            "/realm/keys": {"keys": [self.described(name) for name in self.listed] + [{"kty": "oct", "k": "c2VjcmV0"}]},
        }

    def described(self, name):
        algorithm, key = self.keys[name]
        return jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True) | {"kid": name}

    def token(self, name="rsa", header=None, key=None, algorithm=None, **claims):
        given = {"iss": self.url, "aud": AUDIENCE, "sub": "ann", "client_id": "editor", "exp": time.time() + 300}
        given = {claim: value for claim, value in (given | claims).items() if value is not None}
        known, own = self.keys[name]
        return jwt.encode(given, key or own, algorithm or known, headers={"kid": name} | (header or {}))


@pytest.fixture(scope="module")
def issuer():
    running = Issuer()
    yield running
    running.server.shutdown()
    running.server.server_close()


@pytest.fixture(scope="module")
def guarded(issuer, root, tmp_path_factory):
    """A server that accepts the issuer's tokens, if they allow its use."""
    options = ["--auth-issuer", issuer.url, "--auth-audience", AUDIENCE, "--auth-scopes", "use"]
    with served(*options, root=root, data=tmp_path_factory.mktemp("data")) as running:
        yield running


def status(running, token):
    return running.user(token).modern("tools/list").status_code


@pytest.mark.parametrize("name", ["rsa", "ec", "ed"])
def test_each_kind_of_signature_is_accepted(issuer, guarded, name):
    assert status(guarded, issuer.token(name, scope="use other")) == 200


def test_one_of_several_audiences_is_enough(issuer, guarded):
    assert status(guarded, issuer.token(aud=["https://other.example", AUDIENCE], scp=["use"])) == 200


WRONG = {
    "expired": {"exp": 1_000_000_000},
    "without an end": {"exp": None},
    "not valid yet": {"nbf": 9_000_000_000},
    "of another issuer": {"iss": "https://evil.example"},
    "of an issuer with another slash": {"iss": "{issuer}/"},
    "without an issuer": {"iss": None},
    "for another audience": {"aud": "https://other.example/mcp"},
    "for the whole host": {"aud": "https://mcp.example"},
    "for an address that begins alike": {"aud": AUDIENCE + "/evil"},
    "for nobody": {"aud": None},
    "of nobody": {"sub": None, "client_id": None},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_claims_that_do_not_fit_are_refused(issuer, guarded, wrong):
    claims = {
        name: value.replace("{issuer}", issuer.url) if isinstance(value, str) else value
        for name, value in WRONG[wrong].items()
    }
    assert status(guarded, issuer.token(scope="use", **claims)) == 401


def unsigned(issuer, algorithm):
    def part(document):
        return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()

    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "ann", "exp": time.time() + 300, "scope": "use"}
    return f"{part({'alg': algorithm, 'kid': 'rsa', 'typ': 'JWT'})}.{part(claims)}."


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "RS256", "HS256"])
def test_a_token_without_a_signature_is_refused(issuer, guarded, algorithm):
    assert status(guarded, unsigned(issuer, algorithm)) == 401


def test_a_public_key_cannot_be_used_as_a_shared_secret(issuer, guarded):
    public = issuer.keys["rsa"][1].public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    secret = public.public_bytes(serialization.Encoding.PEM, form)
    head = unsigned(issuer, "HS256").rstrip(".")
    signature = base64.urlsafe_b64encode(hmac.digest(secret, head.encode(), hashlib.sha256)).rstrip(b"=").decode()
    assert status(guarded, f"{head}.{signature}") == 401


def test_a_key_or_its_address_in_the_token_is_not_looked_at(issuer, guarded):
    own = rsa.generate_private_key(65537, 2048)
    described = jwt.algorithms.RSAAlgorithm.to_jwk(own.public_key(), as_dict=True)
    asked = len(issuer.asked)
    for header in ({"jwk": described}, {"jku": f"{issuer.url}/evil"}, {"x5u": f"{issuer.url}/evil"}):
        assert status(guarded, issuer.token(key=own, header=header, scope="use")) == 401
    assert not any("evil" in path for path in issuer.asked[asked:])


def test_a_signature_of_another_key_or_kind_is_refused(issuer, guarded):
    assert status(guarded, issuer.token(key=rsa.generate_private_key(65537, 2048), scope="use")) == 401
    assert status(guarded, issuer.token("ec", header={"kid": "rsa"}, scope="use")) == 401
    assert status(guarded, issuer.token(algorithm="RS512", scope="use")) == 401
    good = issuer.token(scope="use")
    assert status(guarded, good[:-4] + "AAAA") == 401


@pytest.mark.parametrize("token", ["a.b.c", "..", "a.b", "e30.e30.e30", "x" * 20_000, "A" * 9000 + ".A.A"])
def test_what_is_no_token_is_refused(guarded, token):
    assert status(guarded, token) in {401, 431, 400}


def test_a_token_that_must_be_understood_in_another_way_is_refused(issuer, guarded):
    token = issuer.token(header={"crit": ["exp"]}, scope="use")
    assert status(guarded, token) == 401


def test_a_token_without_the_scope_is_told_which(issuer, guarded):
    answer = guarded.user(issuer.token(scope="other")).modern("tools/list")
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    assert "use" in answer.headers["www-authenticate"]


def test_listed_tokens_are_accepted_beside_those_of_an_issuer_that_need_a_scope(issuer, root, tmp_path):
    from bursar.server.http.tokens import fresh_token

    place = tmp_path / "tokens"
    token, line = fresh_token("ann")
    place.write_text(line + "\n")
    options = ["--auth-issuer", issuer.url, "--auth-audience", AUDIENCE, "--auth-scopes", "use"]
    with served(*options, "--auth-tokens", str(place), root=root, data=tmp_path / "data") as running:
        assert status(running, token) == 200
        assert status(running, issuer.token(scope="use")) == 200
        assert status(running, issuer.token()) == 403


def test_clients_are_told_where_to_get_a_token(issuer, guarded):
    answer = guarded.user().modern("tools/list")
    assert answer.status_code == 401
    place = "https://mcp.example/.well-known/oauth-protected-resource/tools/mcp"
    assert f'resource_metadata="{place}"' in answer.headers["www-authenticate"]
    for path in ("/.well-known/oauth-protected-resource/tools/mcp", "/.well-known/oauth-protected-resource"):
        told = httpx2.get(guarded.base + path, headers={"host": "mcp.example"}, trust_env=False).json()
        assert told["resource"] == AUDIENCE
        assert told["authorization_servers"] == [issuer.url]
        assert told["scopes_supported"] == ["use"]
        assert told["bearer_methods_supported"] == ["header"]


@pytest.mark.parametrize("other", [{"sub": "bob"}, {"client_id": "browser"}, {"sub": "ann|editor", "client_id": ""}])
def test_issuer_client_and_subject_together_own_a_session(issuer, guarded, other):
    reply = guarded.user(issuer.token(scope="use")).done("read_file", path="note.txt")
    stranger = guarded.user(issuer.token(scope="use", **other))
    assert "unknown_artifact" in stranger.refused("read_artifact", artifact=reply["artifact"])
    again = guarded.user(issuer.token("ec", scope="use more", jti="another"))
    assert again.done("read_artifact", artifact=reply["artifact"])["preview"].startswith("the note")


def test_invented_keys_do_not_burden_the_issuer(issuer, root, tmp_path):
    options = ["--auth-issuer", issuer.url, "--auth-audience", AUDIENCE]
    with served(*options, root=root, data=tmp_path) as running:
        assert status(running, issuer.token()) == 200
        asked = len(issuer.asked)
        for name in range(20):
            assert status(running, issuer.token(header={"kid": f"invented-{name}"})) == 401
        assert len(issuer.asked) == asked
        assert status(running, issuer.token()) == 200


def test_a_new_key_of_the_issuer_is_fetched_and_a_withdrawn_one_forgotten(issuer, monkeypatch):
    monkeypatch.setattr(jwks, "_PAUSE_S", 0.0)
    monkeypatch.setattr(issuer, "listed", ["rsa"])

    async def exchange():
        keys = jwks.JwkSet(issuer.url)
        assert await keys.key("rsa") is not None
        assert await keys.key("ec") is None
        issuer.listed = ["ec"]
        assert await keys.key("ec") is not None
        assert await keys.key("rsa") is None

    anyio.run(exchange)


@pytest.mark.parametrize(
    "document",
    [None, [], {"keys": "none"}, {"keys": []}, {"keys": [1, {}, {"kty": "RSA"}, {"kty": "oct", "k": "c2VjcmV0"}]}],
)
def test_keys_that_are_none_let_nobody_in(issuer, monkeypatch, document):
    documents = issuer.documents() | {"/realm/keys": document}
    monkeypatch.setattr(issuer, "documents", lambda: documents)

    async def ask():
        return await jwks.JwkSet(issuer.url).key("rsa"), await jwks.JwkSet(issuer.url).key("")

    assert anyio.run(ask) == (None, None)


def test_metadata_of_another_issuer_are_not_believed(issuer, monkeypatch):
    metadata = "/realm/.well-known/openid-configuration"
    documents = issuer.documents()
    documents[metadata] = documents[metadata] | {"issuer": "https://evil.example"}
    monkeypatch.setattr(issuer, "documents", lambda: documents)
    assert anyio.run(jwks.JwkSet(issuer.url).key, "rsa") is None


def test_an_issuer_that_cannot_be_reached_lets_nobody_in():
    assert anyio.run(jwks.JwkSet("http://127.0.0.1:9/realm").key, "rsa") is None


def test_an_issuer_that_does_not_answer_holds_up_nobody_whose_key_is_known(issuer, monkeypatch):
    monkeypatch.setattr(jwks, "_PAUSE_S", 0.0)

    async def exchange():
        keys = jwks.JwkSet(issuer.url)
        assert await keys.key("rsa") is not None
        monkeypatch.setattr(jwks, "_KEPT_S", 0.0)
        hanging = anyio.Event()

        async def hang():
            hanging.set()
            await anyio.sleep_forever()

        monkeypatch.setattr(keys, "_fetch", hang)
        async with anyio.create_task_group() as group:
            group.start_soon(keys.key, "rsa")
            await hanging.wait()
            with anyio.fail_after(5):
                assert await keys.key("rsa") is not None
            group.cancel_scope.cancel()

    anyio.run(exchange)
