"""Secrets of a server's entry: which of its texts are some, and texts of the server without them."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

LEAST_CHARACTERS = 6
"""Shorter ones stand in too many texts by chance."""

_WORD_CHARACTERS = 16
"""A longer row of letters or digits is no word or number such as `password`, `disabled` or 4096000."""

BLANK = "***"

_PARTS = ("apikey", "credential", "cookie", "passphrase", "passwd", "password", "secret", "token")
_WORDS = frozenset(("auth", "authorization", "bearer", "jwt", "key", "keys", "pass", "pat", "pgpass", "pw", "pwd"))
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+", re.ASCII)
_NAMED = re.compile(r"-{0,2}([A-Za-z0-9_-]{1,64})(?:=|:\s*)(.+)", re.ASCII | re.DOTALL)
"""`--token=…`, and `Authorization: Bearer …` as bridges to servers elsewhere take headers."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Texts that are to stand in no artifact, reply or log, the longest first."""

    texts: Sequence[str] = ()

    def blanked(self, text: str) -> str:
        """Return a text with a blank for each of them."""
        for secret in self.texts:
            text = text.replace(secret, BLANK)
        return text


class Blanking:
    """Blanks secrets in a text that comes in blocks.

    Attributes:
        found: how many there were.
    """

    def __init__(self, secrets: Secrets) -> None:
        self.found = 0
        self._secrets = [secret.encode() for secret in secrets.texts]
        self._kept = max(map(len, self._secrets), default=1) - 1
        self._held = b""

    def feed(self, block: bytes) -> bytes:
        """Take in a block, and return what no secret stands in whose end is still to come."""
        held = self._held + block
        cut = max(0, len(held) - self._kept)
        while across := [at for secret in self._secrets if (at := _across(held, secret, cut)) >= 0]:
            cut = min(across)
        self._held = held[cut:]
        return self._blanked(held[:cut])

    def end(self) -> bytes:
        """Return the rest."""
        held, self._held = self._held, b""
        return self._blanked(held)

    def _blanked(self, text: bytes) -> bytes:
        for secret in self._secrets:
            if found := text.count(secret):
                self.found += found
                text = text.replace(secret, BLANK.encode())
        return text


def _across(text: bytes, secret: bytes, cut: int) -> int:
    """Return where a secret begins that lies across a cut; -1 if none does."""
    return text.find(secret, max(0, cut - len(secret) + 1), cut + len(secret) - 1)


def secrets_of(named: Sequence[tuple[str, str]], words: Sequence[str]) -> Secrets:
    """Find the secrets of an entry: by the names they have, and as passwords in addresses.

    Args:
        named: variables and headers, each with its value.
        words: of its command line, or its address.
    """
    pairs = [*named, *_options(words)]
    found = [part for name, value in pairs if _is_secret(name) for part in (value, value.rpartition(" ")[2])]
    found += [password for value in (*words, *(value for _, value in named)) for password in _passwords(value)]
    found += [json.dumps(secret)[1:-1] for secret in found]  # as it stands in JSON
    return Secrets(sorted({*filter(_may_be_secret, found)}, key=lambda secret: (-len(secret), secret)))


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for at, word in enumerate(words):
        if found := _NAMED.fullmatch(word):
            yield found[1], found[2]
        elif at and words[at - 1].startswith("--"):
            yield words[at - 1], word


def _is_secret(name: str) -> bool:
    plain = re.sub("[_-]", "", name.lower())
    words = {word.lower() for word in _WORD.findall(name)}
    return any(part in plain for part in _PARTS) or not words.isdisjoint(_WORDS)


def _passwords(value: str) -> Iterable[str]:
    """Return the password in an address, as it is written there and as it is meant."""
    if "://" not in value:
        return ()
    try:
        parts = urlsplit(value)
    except ValueError:
        return ()
    password = parts.password or ""
    return () if password == parts.username else (password, unquote(password))


def _may_be_secret(value: str) -> bool:
    """Tell whether a value is more than a word, a number or a path, which stand in any text."""
    is_word = len(value) < _WORD_CHARACTERS and (value.isalpha() or value.isdecimal())
    return len(value) >= LEAST_CHARACTERS and not is_word and not value.startswith(("/", "./", "~/"))
