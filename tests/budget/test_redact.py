"""Credentials of known formats are blanked, whole and nothing else, wherever a reading begins or ends."""

import json

import pytest
from bursar.budget import redact
from bursar.budget.json_size import dumps
from held import Held
from hypothesis import given
from hypothesis import strategies as st

# Put together here, so that no scanner takes this file for a leak.
A, B = "a1B2" * 30, "Zx9_-" * 40
PEM = "-----BEGIN RSA PRIVATE " + "KEY-----\n{}-----END RSA PRIVATE " + "KEY-----"
BODY = "".join(f"{'MIIEpAIBAAKCAQEA7bq3b7Jr' + A:.64}\n" for _ in range(20)) + "x9Y=\n"

SECRETS = {
    "aws-key": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws-key temporary": "ASIA" + "IOSFODNN7EXAMPLE",
    "aws-secret": "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
    "github-token": "ghp_" + A[:36],
    "github-token app": "ghs_" + A[:36],
    "github-token fine": "github_pat_" + (A + "_")[:82],
    "gitlab-token": "glpat-" + B[:20],
    "gitlab-token routable": "glpat-" + B[:27] + ".01.0w1234567",
    "slack-token": "xoxb-123456789012-1234567890123-" + A[:24],
    "slack-token app": "xapp-1-A0123456789-1234567890123-" + A[:32],
    "stripe-key": "sk_live_" + A[:24],
    "stripe-key restricted": "rk_test_" + A[:99],
    "anthropic-key": "sk-ant-api03-" + B[:93] + "AA",
    "openai-key": "sk-proj-" + B[:74] + "T3Blbk" + "FJ" + B[:74],
    "openai-key old": "sk-" + A[:20] + "T3Blbk" + "FJ" + A[:20],
    "google-key": "AIza" + B[:35],
    "npm-token": "npm_" + A[:36],
    "pypi-token": "pypi-AgEIcHlwaS5vcmc" + B[:100],
    "huggingface-token": "hf_" + A[:34],
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + A[:43],
    "token": "dGhpcyBpcyBzZWNyZXQ=",
    "password": "hunter2",
    "private-key": BODY,
}
AROUND = {
    "aws-secret": 'aws_secret_access_key = "{}"',
    "token": "Authorization: Bearer {}",
    "password": "postgres://app:{}@db.example/main",
    "private-key": PEM,
}


def planted(name):
    return AROUND.get(name.split()[0], "key={}").format(SECRETS[name])


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("around", ["{}", "see {} there\n", '{{"a":"{}"}}', "'{}',", "\t{}\r\n", "é{} é", "({})"])
def test_a_credential_is_blanked_whole_and_nothing_around_it_moves(name, around):
    text = around.format(planted(name))
    blank = redact.blanked(text.encode())
    assert len(list(redact.secrets(text.encode()))) == 1
    assert len(blank) == len(text.encode())
    assert blank.count(b"\n") == text.count("\n")
    for piece in SECRETS[name].split():
        assert piece.encode() not in blank
    short = redact.redacted(text)
    assert len(short) <= len(text)
    assert short.startswith(around.partition("{}")[0].replace("{{", "{"))
    if name != "password":
        assert "[redacted" in short


@pytest.mark.parametrize("name", [name for name in SECRETS if name.split()[0] not in AROUND])
def test_a_credential_behind_an_underscore_is_blanked(name):
    blank = redact.blanked(f"prod_{SECRETS[name]} ".encode())
    assert blank.startswith(b"prod_[redacted")


@pytest.mark.parametrize("name", SECRETS)
def test_a_mark_is_not_taken_for_a_credential(name):
    blank = redact.blanked(planted(name).encode())
    assert redact.blanked(blank) == blank


@pytest.mark.parametrize(
    "text",
    [
        "AKIA in prose, and AKIASHORT",
        "ghp_short github_pat_ glpat-x",
        "sk-learn is a library; task-proj-x; risk-ant",
        "https://example.com:8080/a@b http://user@host/ mailto:a:b@c",
        "authorization: required for all; Authorization: Bearer <token>",
        "-----BEGIN RSA PRIVATE " + "KEY-----\nnot a key, only prose\n",
        "-----BEGIN CERTIFICATE-----\n" + BODY,
        "secret_key = os.environ['SECRET_KEY']",
        "4e1243bd22c66e76c2ba9eddc1f91394e57f9f83 " + "0" * 64,
        "eyJhbGciOiJIUzI1NiJ9",
        "ses_GD3t8KZiAXQTTa40KXeVXX/a1",
    ],
)
def test_what_only_resembles_a_credential_stays(text):
    assert redact.redacted(text) == text


@pytest.mark.parametrize("name", [name for name in SECRETS if name.split()[0] not in AROUND])
@pytest.mark.parametrize(
    "before",
    [r"line\n", r"line\t", r"\r\n", r"\u001b[31m", "\x1b[01;31m", r"\x1b[0m", r"\e[1m", r"\u003d", r"\x3d", "token%3D"],
)
def test_a_credential_behind_what_is_written_in_letters_and_is_none_is_blanked(name, before):
    text = f'{{"log":"{before}{SECRETS[name]} and more"}}'.encode()
    blank = redact.blanked(text)
    assert SECRETS[name].encode() not in blank
    assert blank.startswith(f'{{"log":"{before}['.encode())


@pytest.mark.parametrize("name", ["github-token", "gitlab-token", "anthropic-key", "npm-token", "pypi-token"])
def test_a_credential_with_a_prefix_of_its_own_is_blanked_behind_any_letter(name):
    assert redact.blanked(f"x{SECRETS[name]}".encode()).startswith(b"x[redacted:")


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("at", [0, 1, (64 << 10) - 7, (64 << 10) + 1, (128 << 10) - 1500])
def test_every_window_of_a_content_shows_the_same(name, at):
    text = b"x" * max(0, at - 1) + b" " * (at > 0) + planted(name).encode() + b" " + b"y" * 70_000
    whole = redact.blanked(text)
    lens = redact.Redacted(Held(text))
    assert lens.size == len(text)
    for offset in (
        0,
        max(0, at - 20),
        at,
        at + 5,
        at + 12,
        at + 30,
        64 << 10,
        (64 << 10) - 1,
        len(text) - 3,
        len(text),
    ):
        for length in (1, 11, 4096, 70_000):
            assert redact.Redacted(Held(text)).read(offset, length) == whole[offset : offset + length]
            assert lens.read(offset, length) == whole[offset : offset + length]


PIECES = st.lists(
    st.sampled_from([*map(planted, SECRETS), "word ", "\n", '"', "\\", "-----", "é", ":", "@", "//"]) | st.text()
)


@given(PIECES.map("".join))
def test_blanking_keeps_length_lines_and_utf8(text):
    data = (
        text.encode("utf-8", "surrogatepass")
        if "\ud800" <= max(text, default="") <= "\udfff"
        else text.encode("utf-8", "replace")
    )
    blank = redact.blanked(data)
    assert len(blank) == len(data)
    assert blank.count(b"\n") == data.count(b"\n")
    assert blank.decode("utf-8", "replace").count("\ufffd") == data.decode("utf-8", "replace").count("\ufffd")


JSON = st.recursive(
    PIECES.map("".join) | st.none() | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PIECES.map("".join), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_a_json_document_stays_one(value):
    text = dumps(redactable(value))
    shown = redact.document(json.loads(text))
    assert shape(shown) == shape(json.loads(text))
    assert len(dumps(shown)) <= len(text)
    assert shape(json.loads(redact.blanked(text.encode()))) is not None


def redactable(value):
    """Two names may become the same mark: number them."""
    if isinstance(value, dict):
        return {
            f"{n}{key}".encode("utf-8", "replace").decode(): redactable(item)
            for n, (key, item) in enumerate(value.items())
        }
    if isinstance(value, list):
        return [redactable(item) for item in value]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def shape(value):
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value).__name__
