"""With `--redact` a model is shown no credential of a known format, and nothing else changes."""

import json
import re

import pytest
from replies import reply_of
from wire import server as running

TOKEN = "ghp_" + "a1B2" * 9
KEY = "AKIA" + "IOSFODNN7EXAMPLE"
BODY = "".join(f"MIIEpAIBAAKCAQEA7bq3b7Jr{'x9Y2' * 10}\n" for _ in range(30))
PEM = "-----BEGIN RSA PRIVATE " + f"KEY-----\n{BODY}-----END RSA PRIVATE " + "KEY-----\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "small.txt").write_text(f"token {TOKEN}\nkey {KEY}\n")
    (folder / "keys.json").write_text(json.dumps([{"n": n, "token": TOKEN} for n in range(3000)]))
    (folder / "id_rsa").write_text(PEM)
    lines = [f"2026-11-21 10:00:00 INFO request {n} served\n" for n in range(40_000)]
    lines[20_000] = f"2026-11-21 10:00:00 ERROR login with {TOKEN} failed\n"
    (folder / "app.log").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module", params=["shown", "stored"])
def client(files, tmp_path_factory, request):
    data = tmp_path_factory.mktemp("data")
    with running("--root", str(files), "--data-dir", str(data), "--redact", request.param) as client:
        client.redact, client.data = request.param, data
        yield client


def ask(client, tool, **arguments):
    text, is_error, _ = client.call(tool, **arguments)
    assert not any(secret in text for secret in (TOKEN, TOKEN[4:24], KEY, BODY.splitlines()[0]))
    return text if is_error else reply_of(text)


def stored(client, path):
    """Read a file; return its artifact."""
    ask(client, "read_file", path=path)
    listed = ask(client, "read_artifact", max_tokens=2000)["preview"]
    return re.search(rf"^(a\d+) .*: read {re.escape(path)}$", listed, re.MULTILINE)[1]


def test_previews_show_marks(client, files):
    told = ask(client, "read_file", path="small.txt")
    assert told["preview"] == f"token [redacted:github-token]{'*' * 17}\nkey [redacted:aws-key]**\n"
    assert "[redacted:" in json.dumps(ask(client, "read_file", path="keys.json")["preview"])
    assert ask(client, "read_file", path="id_rsa")["preview"].count("\n") == PEM.count("\n")
    assert "[redacted:github-token]" in json.dumps(ask(client, "read_file", path="app.log")["preview"])


def test_pages_and_searches_show_the_same_wherever_they_begin(client, files):
    artifact = stored(client, "app.log")
    at = (files / "app.log").read_text().index(TOKEN)
    for asked in (
        {"lines": "19999-20003"},
        {"grep": "ERROR"},
        *({"bytes": f"{at + n}-{at + n + 30}"} for n in (-3, 0, 3, 12, 30)),
        {"bytes": f"{at + 8}-{at + 15}"},
    ):
        told = ask(client, "read_artifact", artifact=artifact, **asked)
        assert "a1B2" not in told["preview"]
    first = ask(client, "read_artifact", artifact=artifact, lines="20000-20002")["preview"].splitlines()
    assert [len(line) for line in first] == [
        len(line) for line in (files / "app.log").read_text().splitlines()[19999:20002]
    ]


def test_commands_names_and_errors_are_redacted_too(client, files):
    told = ask(client, "terminal", command=f"echo {TOKEN}; cat small.txt")
    assert told["preview"].count("[redacted:") == 3
    assert "terminal: $ echo [redacted:github-token]; cat small.txt" in ask(client, "read_artifact")["preview"]
    assert "[redacted:github-token]" in ask(client, "read_file", path=f"{TOKEN}.none")
    (files / f"{KEY}.txt").write_text("named\n")
    assert "[redacted:aws-key]" in ask(client, "directory_tree", depth=1)["preview"]


def test_the_artifact_keeps_the_original_or_not_by_setting(client, files):
    printed = client.artifact_of(client.call("terminal", command="cat small.txt")[0])
    for artifact in (stored(client, "small.txt"), printed):
        (kept,) = client.data.rglob(f"{artifact}-*.*")
        content = kept.read_text()
        assert (TOKEN in content) == (client.redact == "shown")
        assert len(content) == 72
        again = ask(client, "read_artifact", artifact=artifact)
        assert again["preview"].count("[redacted:") == 2
        assert "damaged" not in json.dumps(again)


def test_a_picture_of_bytes_is_stored_as_it_is(client, files):
    data = b"\x89PNG\r\n\x1a\n\0\0" + TOKEN.encode() + b"\0" * 50
    (files / "picture.png").write_bytes(data)
    (kept,) = client.data.rglob(f"{stored(client, 'picture.png')}-picture.png")
    assert kept.read_bytes() == data


def test_without_it_nothing_is_touched(files, tmp_path):
    with running("--root", str(files), "--data-dir", str(tmp_path)) as client:
        text, _, _ = client.call("read_file", path="small.txt")
    assert reply_of(text)["preview"] == f"token {TOKEN}\nkey {KEY}\n"


def test_a_search_finds_nothing_of_what_is_blanked_in_whichever_way_it_is_made(client, files):
    artifact = stored(client, "app.log")
    at = (files / "app.log").read_text().index(TOKEN)
    for pattern in ("ghp_", "ghp_a", "login with ghp", TOKEN[:8]):
        for more in ({}, {"bytes": f"{at - 30}-{at + 60}"}, {"lines": "19999-20003"}):
            text, _, _ = client.call("read_artifact", artifact=artifact, grep=pattern, **more)
            assert reply_of(text)["matches"] == 0
        assert ask(client, "read_artifact", artifact=artifact, grep="login with .redacted")["preview"].count("\n") == 1


def test_the_name_of_a_file_that_is_a_credential_is_shown_and_stored_without_it(client, files):
    (files / f"{TOKEN}.txt").write_text("content\n")
    ask(client, "read_file", path=f"{TOKEN}.txt")
    ask(client, "read_artifact")
    named = [name for name in client.data.rglob("a*") if TOKEN in name.name]
    assert bool(named) == (client.redact == "shown")


def test_a_log_with_a_nul_is_stored_without_its_credentials_and_a_picture_as_it_is(client, files):
    log, picture = b"\0 " + TOKEN.encode() + b"\n", b"\x89PNG\r\n\x1a\n\0\0 " + TOKEN.encode()
    (files / "nul.log").write_bytes(log)
    (files / "x.png").write_bytes(picture)
    for name in ("nul.log", "x.png"):
        ask(client, "read_file", path=name)
    kept = {path.name.partition("-")[2]: path.read_bytes() for path in client.data.rglob("a*-*")}
    assert kept["x.png"] == picture
    assert (kept["nul.log"] == log) == (client.redact == "shown")
