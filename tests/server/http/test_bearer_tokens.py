"""Tokens that the server knows itself: who is let in, and which files are relied on."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from bursar.artifacts import Limits, Store
from bursar.artifacts.ownership import local_owner
from bursar.errors import BursarError
from bursar.server.http.secret_files import secret
from bursar.server.http.tokens import TokenFile, fresh_token
from over_http import served
from wire import module

ORDINARY = """\
import os, sys
from pathlib import Path
import anyio
from bursar.server.http.secret_files import secret
from bursar.server.http.tokens import TokenFile, fresh_token
anyio.run(anyio.sleep, 0)  # what is imported later cannot be, where the interpreter is root's
if not os.geteuid(): os.setgroups([]); os.setgid(65534); os.setuid(65534)
home = Path(sys.argv[1]) / "home"
home.mkdir(0o700)
place = home / "file"
def ask(verifier, token): return (anyio.run(verifier.verify_token, token) or verifier).__class__.__name__
"""
"""What begins a program of somebody whom modes keep out."""

WRONG = ["x", "Bearer", "null", "é", "0" * 64]


@pytest.fixture(scope="module")
def local(root, tmp_path_factory):
    """A server with nothing said about tokens."""
    with served(root=root, data=tmp_path_factory.mktemp("data")) as running:
        yield running


def test_a_token_is_minted_for_its_user_alone(local):
    file = local.data / "bursar" / ".server" / "token"
    assert len(bytes.fromhex(local.token)) == 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert str(file) in local.notes
    assert local.token not in local.notes


def test_the_minted_token_opens_the_sessions_of_its_user(local):
    reply = local.user(local.token).done("read_file", path="note.txt")
    store = Store(local.data / "bursar", Limits())
    session = store.attach(reply["artifact"].partition("/")[0], local_owner())
    assert session.open("a1").read(0, 8) == b"the note"
    session.close()
    store.close()


@pytest.mark.parametrize("place", ["/mcp", "/session"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT"])
def test_nothing_answers_without_a_token(local, place, method):
    answer = local.user().http.request(method, local.base + place)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer ")


@pytest.mark.parametrize("token", [*WRONG, "{}x", "{} .", "x{}", "{upper}", "{half}"])
def test_a_token_that_is_almost_right_is_wrong(local, token):
    given = token.format(local.token, upper=local.token.upper(), half=local.token[:32])
    header = {b"authorization": f"Bearer {given}".encode()}
    assert local.user().http.post(local.url, headers=header, json={}).status_code == 401


@pytest.mark.parametrize("scheme", ["Basic", "Token", "", "BearerX"])
def test_the_token_counts_as_a_bearer_token_only(local, scheme):
    header = {"authorization": f"{scheme} {local.token}".strip()}
    assert local.user().http.post(local.url, headers=header, json={}).status_code == 401


@pytest.mark.parametrize("where", ["cookie", "x-api-key", "proxy-authorization"])
def test_the_token_counts_in_one_header_only(local, where):
    assert local.user().http.post(local.url, headers={where: f"Bearer {local.token}"}, json={}).status_code == 401


@pytest.mark.parametrize("mode", [0o644, 0o620, 0o606, 0o604])
def test_a_secret_that_others_could_reach_is_not_used(tmp_path, mode):
    tmp_path.chmod(0o755)
    place = tmp_path / "token"
    assert secret(place) == secret(place)
    place.chmod(mode)
    with pytest.raises(BursarError) as refusal:
        secret(place)
    assert refusal.value.code == "unsafe_secret"
    assert f"{mode:04o}" in refusal.value.message


@pytest.mark.parametrize("mode", [0o644, 0o666, 0o777])
def test_a_secret_whose_mode_a_command_changed_in_a_private_directory_is_mended_and_used(tmp_path, mode):
    tmp_path.chmod(0o700)
    place = tmp_path / "token"
    before = secret(place)
    place.chmod(mode)
    assert secret(place) == before
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "short", "g" * 64, "0" * 66])
def test_a_secret_of_another_form_is_not_used(tmp_path, content):
    place = tmp_path / "token"
    place.write_text(content)
    place.chmod(0o600)
    with pytest.raises(BursarError, match="does not hold"):
        secret(place)


def test_a_secret_behind_a_link_is_not_used(tmp_path):
    place = tmp_path / "token"
    secret(tmp_path / "other")
    place.symlink_to(tmp_path / "other")
    with pytest.raises(BursarError, match="unsafe_secret"):
        secret(place)


@pytest.mark.needs("root")
def test_a_secret_of_another_user_is_not_used(tmp_path):
    place = tmp_path / "token"
    secret(place)
    os.chown(place, 12345, 12345)
    with pytest.raises(BursarError, match="another user"):
        secret(place)


def test_a_secret_that_is_a_directory_or_a_pipe_is_not_used(tmp_path):
    (tmp_path / "directory").mkdir(0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("directory", "pipe"):
        with pytest.raises(BursarError, match="unsafe_secret"):
            secret(tmp_path / name)


def test_each_listed_token_is_a_principal_of_its_own(two):
    running, ann, bob = two
    reply = running.user(ann).done("read_file", path="note.txt")
    assert "unknown_artifact" in running.user(bob).refused("read_artifact", artifact=reply["artifact"])
    assert running.user("wrong").http.post(running.url, json={}).status_code == 401
    assert not (running.data / "bursar" / ".server" / "token").exists()


async def accepted(verifier, token):
    return await verifier.verify_token(token)


def tokens(tmp_path, *lines, mode=0o600):
    place = tmp_path / "tokens"
    place.write_text("".join(f"{line}\n" for line in lines))
    place.chmod(mode)
    return place


def ask(verifier, token):
    import anyio

    access = anyio.run(accepted, verifier, token)
    return access and access.client_id


def test_the_file_of_tokens_is_read_again_when_it_changes(tmp_path):
    (ann, of_ann), (bob, of_bob) = fresh_token("ann"), fresh_token("bob")
    verifier = TokenFile(tokens(tmp_path, of_ann))
    assert (ask(verifier, ann), ask(verifier, bob)) == ("token:ann", None)
    tokens(tmp_path, of_bob)
    assert (ask(verifier, ann), ask(verifier, bob)) == (None, "token:bob")
    assert ask(verifier, hashlib.sha256(bob.encode()).hexdigest()) is None


def ordinary(code):
    """Run a program as somebody whom modes keep out; return what it prints, and its log."""
    place = tempfile.mkdtemp()  # not in `tmp_path`, which is root's alone
    try:
        Path(place).chmod(0o777)
        run = subprocess.run(
            [sys.executable, "-c", ORDINARY + code, place], capture_output=True, text=True, check=False
        )
    finally:
        shutil.rmtree(place)
    return run.stdout.split(), run.stderr


@pytest.mark.parametrize("closed", ["place", "home"])
def test_a_file_of_tokens_that_was_closed_to_the_server_itself_lets_in_whom_it_let_in(closed):
    said, log = ordinary(f"""
(ann, of_ann), (bob, of_bob) = fresh_token("ann"), fresh_token("bob")
place.write_text(of_ann)
place.chmod(0o600)
verifier = TokenFile(place)
{closed}.chmod(0)
print(ask(verifier, ann), ask(verifier, ann), ask(verifier, bob))
home.chmod(0o700)
place.unlink()
home.chmod(0)
print(ask(verifier, ann))
home.chmod(0o700)
place.write_text(of_bob)
place.chmod(0)
print(ask(verifier, ann), ask(verifier, bob))
place.chmod(0o600)
print(ask(verifier, ann), ask(verifier, bob))
""")
    allowed, refused = "AccessToken", "TokenFile"
    assert said == [allowed, allowed, refused, refused, refused, refused, refused, allowed], log
    assert log.count("tokens_closed") == (1 if closed == "place" else 0)


def test_a_file_of_tokens_whose_place_another_took_while_it_was_closed_is_read_no_more():
    said, log = ordinary("""
ann, of_ann = fresh_token("ann")
place.write_text(of_ann)
place.chmod(0o600)
verifier = TokenFile(place)
place.rename(home / "before")
place.write_text("")
place.chmod(0)
print(ask(verifier, ann))
""")
    assert said == ["TokenFile"], log


def test_a_secret_that_was_closed_to_the_server_itself_is_mended_and_used():
    said, log = ordinary("""
before = secret(place)
place.chmod(0)
print(secret(place) == before, oct(place.stat().st_mode & 0o777))
home.chmod(0o755)
place.chmod(0)
try: secret(place)
except Exception as error: print(error.code)
""")
    assert said == ["True", "0o600", "unsafe_secret"], log


def rewritten_by_anybody(place):
    place.write_text(place.read_text() + fresh_token("thief")[1])
    place.chmod(0o666)


@pytest.mark.parametrize("mode", [0o666, 0o622, 0o604])
def test_a_file_of_tokens_whose_mode_alone_was_changed_goes_on_and_the_log_says_so(tmp_path, capfd, mode):
    (ann, of_ann), (bob, of_bob) = fresh_token("ann"), fresh_token("bob")
    place = tokens(tmp_path, of_ann)
    verifier = TokenFile(place)
    place.chmod(mode)
    assert ask(verifier, ann) == ask(verifier, ann) == "token:ann"
    assert capfd.readouterr().err.count("tokens_exposed") == (1 if mode & 0o022 else 0)
    place.write_text(of_bob)
    assert ask(verifier, bob) == (None if mode & 0o022 else "token:bob")
    assert ask(verifier, ann) is None


@pytest.mark.skipif(os.name == "nt", reason="files have no modes there")
def test_at_the_next_start_too_a_file_whose_mode_alone_was_changed_lets_in_whom_it_let_in(tmp_path, capfd):
    token, line = fresh_token("ann")
    place, remembered = tokens(tmp_path, line), tmp_path / "remembered"
    TokenFile(place, remembered=remembered)
    place.chmod(0o666)
    verifier = TokenFile(place, remembered=remembered)
    assert ask(verifier, token) == "token:ann"
    assert "tokens_exposed" in capfd.readouterr().err
    place.write_text(f"{line}\n{fresh_token('eve')[1]}\n")
    for known in (remembered, None):
        with pytest.raises(BursarError, match="others may write"):
            TokenFile(place, remembered=known)


@pytest.mark.parametrize("damage", [rewritten_by_anybody, lambda p: p.unlink(), lambda p: p.write_text("nonsense")])
def test_a_file_of_tokens_that_went_bad_lets_nobody_in_until_it_is_mended(tmp_path, damage):
    ann, of_ann = fresh_token("ann")
    place = tokens(tmp_path, of_ann)
    verifier = TokenFile(place)
    assert ask(verifier, ann) == "token:ann"
    damage(place)
    assert ask(verifier, ann) is None
    assert ask(verifier, ann) is None
    tokens(tmp_path, of_ann)
    assert ask(verifier, ann) == "token:ann"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_of_tokens_that_others_may_write_is_refused(tmp_path, mode):
    with pytest.raises(BursarError, match="others may write"):
        TokenFile(tokens(tmp_path, fresh_token("ann")[1], mode=mode))


@pytest.mark.parametrize("line", ["ann", "ann:abc", ":" + "0" * 64, "a b:" + "0" * 64, "ann:" + "G" * 64])
def test_a_line_that_is_none_is_refused_and_counted(tmp_path, line):
    with pytest.raises(BursarError, match="line 2 of"):
        TokenFile(tokens(tmp_path, "# tokens", line))


def test_a_pipe_is_no_file_of_tokens_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "tokens", 0o600)
    with pytest.raises(BursarError, match="is no file"):
        TokenFile(tmp_path / "tokens")


def test_a_name_stands_once(tmp_path):
    with pytest.raises(BursarError, match="twice"):
        TokenFile(tokens(tmp_path, fresh_token("ann")[1], fresh_token("ann")[1]))


def test_the_command_shows_a_token_once_and_its_hash_for_the_file():
    made = subprocess.run(module("token", "ann"), capture_output=True, text=True, check=True)
    name, digest = made.stdout.strip().split(":")
    token = made.stderr.split()[-1]
    assert (name, digest) == ("ann", hashlib.sha256(token.encode()).hexdigest())
    assert token not in made.stdout


@pytest.mark.parametrize("words", [[], ["a", "b"], ["a b"], ["a:b"], ["-"], ["x" * 65]])
def test_the_command_refuses_names_that_no_line_can_have(words):
    from bursar.server import cli

    with pytest.raises(SystemExit) as left:
        cli.main(["token", *words])
    assert left.value.code == 2
