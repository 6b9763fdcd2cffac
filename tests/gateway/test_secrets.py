"""Secrets of a server's entry are known by their names and blanked; what else stands in it is left alone."""

import pytest
from bursar.gateway.secrets import Blanking, Secrets, secrets_of

KEPT = [
    ("AWS_REGION", "us-east-1"),
    ("BASE_URL", "https://api.example.com/v1"),
    ("GIT_AUTHOR_NAME", "Jane Q. Doe"),
    ("KEYBOARD_LAYOUT", "dvorak-1"),
    ("SSH_KEY_PATH", "/home/jane/.ssh/id_ed25519"),
    ("MAX_TOKENS", "4096000"),
    ("AUTH_MODE", "required"),
    ("TOKEN", "short"),
    ("DATABASE_URL", "postgresql://postgres:postgres@localhost/db"),
    ("Accept", "application/json"),
]
FOUND = [
    ("GITHUB_TOKEN", "ghp_0123abcd", ["ghp_0123abcd"]),
    ("apiKey", "k-0123456", ["k-0123456"]),
    ("X-Api-Key", "k-0123456", ["k-0123456"]),
    ("PGPASSWORD", "hunter-2", ["hunter-2"]),
    ("GITHUB_PAT", "pat-01234", ["pat-01234"]),
    ("Authorization", "Bearer abc.def-1", ["Bearer abc.def-1", "abc.def-1"]),
    ("Cookie", "id=0123456789ab", ["id=0123456789ab"]),
    ("DSN", "postgresql://app:p%40ss-word@db.example/main", ["p%40ss-word", "p@ss-word"]),
    ("SECRET", 'say "please" 12', ['say \\"please\\" 12', 'say "please" 12']),
]
WORDS = [
    (["--api-key", "k-0123456"], ["k-0123456"]),
    (["--token=k-0123456"], ["k-0123456"]),
    (["--header", "Authorization: Bearer k-0123456"], ["Bearer k-0123456", "k-0123456"]),
    (["postgresql://app:hunter-2@db.example/main"], ["hunter-2"]),
    (["-y", "@modelcontextprotocol/server-everything", "--port", "3000000"], []),
    (["http://[broken"], []),
]


@pytest.mark.parametrize(("name", "value"), KEPT)
def test_what_is_no_secret_by_its_name_is_left_alone(name, value):
    assert secrets_of([(name, value)], []).texts == []


@pytest.mark.parametrize(("name", "value", "found"), FOUND)
def test_a_secret_is_known_by_its_name(name, value, found):
    assert secrets_of([(name, value)], []).texts == found


@pytest.mark.parametrize(("words", "found"), WORDS)
def test_a_secret_on_a_command_line_is_known(words, found):
    assert secrets_of([], words).texts == found


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 100])
def test_a_secret_across_blocks_is_blanked(size):
    blanking = Blanking(Secrets(["secret-12", "cret"]))
    text = b"a secret-12, another secret-12secret-12 and con\xc3\xa9cret; secre"
    shown = b"".join(blanking.feed(text[at : at + size]) for at in range(0, len(text), size)) + blanking.end()
    assert shown == "a ***, another ****** and coné***; secre".encode()
    assert blanking.found == 4
