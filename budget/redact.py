"""Recognises credentials by their known formats and blanks them, without moving a byte or a line of what is around.

It keeps keys from being shown by accident; it is no wall: who wants to read a key can have it printed in another form.
One that is not in one piece is not recognised: with an escape for a letter (`\\u0067hp_`), a colour or quotes in it.
All patterns are RE2's: no text makes them slow.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from .clean import utf8
from .content import Content
from .pattern import compile_bytes

REACH_BYTES = 16 << 10
"""The longest credential that is recognised whole; the private key of RSA 8192 has some 6,400 bytes."""

_BLOCK_BYTES = 64 << 10
_BLOCKS_KEPT = 4
_BACKSLASH = ord("\\")

_WORD = "[A-Za-z0-9_-]"
_PEM_TYPE = "[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"
_PEM_BODY = r"(?:[A-Za-z0-9+/=\s\\:,.\"'>#|]|-[A-Za-z0-9])"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.]{0,20}"
_USER = r"[^\s/?#\"'<>\\@:]{0,200}"
_BEFORE_AT = r"[^\s/?#\"'<>\\@\[*][^\s/?#\"'<>\\@]{0,199}"

_ESCAPED = r"(?:\\u001[bB]|\\x1[bB]|\\033|\\e|\x1b)"
_START = (
    rf"(?:\b|_|{_ESCAPED}\[[0-9;]{{0,20}}[A-Za-z]"
    r"|\\[abfnrtv0]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2})"
)
"""Where a word begins, also behind an underscore, and behind a colour or an escape of JSON or of a URL."""

_FORMATS: tuple[tuple[str, str], ...] = (
    # Each with one group, which is what is blanked. The prefixes and least lengths are those of the issuers; where
    # they do not publish them, those of gitleaks (gitleaks/gitleaks, config/gitleaks.toml, by the rule named here). A
    # longer one than any seen yet is blanked to its end.
    #
    # docs.aws.amazon.com, IAM identifiers, "Understanding unique ID prefixes"; gitleaks aws-access-token.
    ("aws-key", rf"{_START}((?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{{16}})\b"),
    # The same page; a secret has no prefix, so only its usual name gives it away: detect-secrets, plugins/aws.py.
    ("aws-secret", r"(?i:secret_?(?:access_?)?key)[^A-Za-z0-9/+]{1,8}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"),
    # github.blog, "Behind GitHub's new authentication token formats"; gitleaks github-pat, github-fine-grained-pat.
    ("github-token", r"(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})"),
    # docs.gitlab.com, "Token prefixes"; gitleaks gitlab-pat and the rules behind it.
    ("gitlab-token", rf"(gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt|oas)-{_WORD}{{20,}}(?:\.{_WORD}{{2,}})*)"),
    # docs.slack.dev, "Tokens"; gitleaks slack-bot-token, slack-user-token, slack-app-token, slack-config-*.
    ("slack-token", rf"{_START}(xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{{10,}}|xapp-[0-9]-[A-Za-z0-9-]{{10,}})"),
    # docs.stripe.com, "API keys"; gitleaks stripe-access-token.
    ("stripe-key", rf"{_START}((?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{{10,}})"),
    # gitleaks anthropic-api-key, anthropic-admin-api-key.
    ("anthropic-key", rf"(sk-ant-[a-z]{{2,10}}[0-9]{{2}}-{_WORD}{{20,}})"),
    # gitleaks openai-api-key: new ones name their kind, old ones have `OpenAI` in base64 in their middle.
    (
        "openai-key",
        rf"{_START}(sk-(?:proj|svcacct|admin|None)-{_WORD}{{20,}}|sk-[A-Za-z0-9]{{20}}T3BlbkFJ[A-Za-z0-9]{{20}})",
    ),
    # cloud.google.com, "Manage API keys"; gitleaks gcp-api-key.
    ("google-key", rf"{_START}(AIza{_WORD}{{35}})"),
    # github.blog, "Announcing npm's new access token format"; gitleaks npm-access-token.
    ("npm-token", r"(npm_[A-Za-z0-9]{36})\b"),
    # pypi.org/help/#apitoken: a macaroon, whose beginning names pypi.org or test.pypi.org; gitleaks pypi-upload-token.
    ("pypi-token", rf"(pypi-AgE{_WORD}{{50,}})"),
    # huggingface.co/docs/hub/security-tokens; gitleaks huggingface-access-token.
    ("huggingface-token", rf"{_START}(hf_[A-Za-z0-9]{{34,}})\b"),
    # RFC 7519 and RFC 7515: `{"` in base64url is `eyJ`, in the header and in the claims.
    ("jwt", rf"{_START}(eyJ{_WORD}{{10,}}\.eyJ{_WORD}{{10,}}\.{_WORD}{{10,}})"),
    # RFC 9110, section 11.6.2, and RFC 6750.
    (
        "token",
        (
            r"(?i:authorization[\\\"']{0,3}\s{0,4}[:=]\s{0,4}[\\\"']{0,3}(?:bearer|basic|token|apikey))\s{1,4}"
            r"([A-Za-z0-9._~+/-]{8,}=*)"
        ),
    ),
    # RFC 3986, section 3.2.1.
    ("password", rf"\b{_SCHEME}://{_USER}:({_BEFORE_AT})@"),
    # RFC 7468 and RFC 4880, section 6.2; headers as in RFC 1421 may stand before the key.
    ("private-key", rf"-----BEGIN {_PEM_TYPE}-----({_PEM_BODY}+)"),
)

_KNOWN = "|".join(pattern for _, pattern in _FORMATS)

_KEY = r"\\.|[A-Za-z0-9+/=]+"
"""The pieces of a private key: what stands between line breaks, quotes and escapes. An escape is no piece."""

_KEY_MIN_BYTES, _KEY_LINE_MIN_BYTES = 32, 16
"""Without a piece of the first length there is no key between its marks; shorter ones than the second are words."""

_compiled = cache(compile_bytes)


@dataclass(frozen=True, slots=True)
class Secret:
    """A credential in a text.

    Attributes:
        kind: what it is, such as `github-token`.
        pieces: the offsets of its first byte and behind its last one; a private key has them for each of its lines.
    """

    kind: str
    pieces: tuple[tuple[int, int], ...]


def secrets(text: bytes) -> Iterator[Secret]:
    """Find credentials in the order in which they stand; they do not overlap."""
    for found in _compiled(_KNOWN).finditer(text):
        place = next(number for number in range(1, len(_FORMATS) + 1) if found.start(number) >= 0)
        kind = _FORMATS[place - 1][0]
        start, end = found.start(place), found.end(place)
        if kind != "private-key":
            yield Secret(kind, ((start, end),))
        elif pieces := _key_pieces(found.group(place), start, is_whole=text.startswith(b"-----END", end)):
            yield Secret(kind, pieces)


def _key_pieces(body: bytes, start: int, *, is_whole: bool) -> tuple[tuple[int, int], ...]:
    """Find the lines of a private key behind its headers; of one that breaks off only what is surely of it."""
    pieces = [(m.start(), m.end()) for m in _compiled(_KEY).finditer(body) if body[m.start()] != _BACKSLASH]
    first = next((n for n, (begin, end) in enumerate(pieces) if end - begin >= _KEY_MIN_BYTES), len(pieces))
    return tuple(
        (start + begin, start + end)
        for begin, end in pieces[first:]
        if end - begin >= _KEY_LINE_MIN_BYTES or (is_whole and (begin, end) == pieces[-1])
    )


def blanked(text: bytes) -> bytes:
    """Blank each credential by a mark of its length, such as `[redacted:npm-token]********`; all else stays in place.

    Returns:
        A text of the same length. What was valid JSON or UTF-8 still is.
    """
    out: bytearray | None = None
    for secret in secrets(text):
        out = bytearray(text) if out is None else out
        for number, (start, end) in enumerate(secret.pieces):
            mark = b"" if number else _mark(secret.kind, end - start)
            out[start:end] = mark + b"*" * (end - start - len(mark))
    return text if out is None else bytes(out)


def redacted(text: str) -> str:
    """Replace each credential in a text by a short mark such as `[redacted:aws-key]`, never a longer one than it."""
    data = utf8(text).encode()
    parts: list[bytes] = []
    position = 0
    for secret in secrets(data):
        for number, (start, end) in enumerate(secret.pieces):
            parts += (data[position:start], b"*" if number else _mark(secret.kind, end - start))
            position = end
    return b"".join([*parts, data[position:]]).decode("utf-8", "replace") if parts else text


def document(value: object) -> object:
    """Replace the credentials in all names and texts of what JSON can say."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Sequence):
        return [document(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, Mapping):
        return {redacted(name): document(item) for name, item in cast("Mapping[str, object]", value).items()}
    return value


def _mark(kind: str, length: int) -> bytes:
    for mark in (f"[redacted:{kind}]", "[redacted]"):
        if len(mark) <= length:
            return mark.encode()
    return b"*" * length


_NAMES = r"passw(?:or)?d|passphrase|pwd|token|secret|api[_-]?key|access[_-]?key|credential|signature"
_VALUE = r"\"[^\"]*\"|'[^']*'|[^\s\"'&;]+"

_GIVEN_AWAY = "|".join(
    (
        rf"(?i:--?[a-z0-9-]*(?:{_NAMES}|auth)[a-z0-9-]*(?:=|\s+)({_VALUE}))",
        rf"(?:^|\s)-p\s*({_VALUE})",
        rf"(?:^|\s)(?:-u|--user)(?:=|\s+)({_VALUE})",
        rf"(?i:[?&;#][a-z0-9_.%-]*(?:{_NAMES}|key|sig|auth|code|session|nonce)[a-z0-9_.%-]*=({_VALUE}))",
        rf"(?i:[a-z0-9_]*(?:{_NAMES})[a-z0-9_]*\s*[=:]\s*({_VALUE}))",
        r"(?i:(?:authorization|cookie)[\"']?\s*[=:]\s*([^\"']+))",
        r"://([^\s/?#@\"']+)@",
        r"\bses_([0-9A-Za-z]{8,})",
    )
)
"""What in a command line or an address is a secret by its name or its place, whatever its format."""

_MAYBE = re.compile(r"[=:@]|-p|-u|--|[\w-]{20}|ses_", re.IGNORECASE)
"""Without any of these a text needs no other look: most of what a log says has none."""


def discreet(text: str) -> str:
    """Return a text for a log: without what may be a secret by its format, its name or its place.

    Sooner too much goes than too little: the values of options and variables such as `--password=…`, `-p …` and
    `API_KEY=…`, of parameters of addresses such as `?token=…`, of the headers `Authorization` and `Cookie`, users in
    addresses, and handles of sessions.
    """
    if _MAYBE.search(text) is None:
        return text
    data = redacted(text).encode("utf-8", "replace")
    parts: list[bytes] = []
    position = 0
    for found in _compiled(_GIVEN_AWAY).finditer(data):
        place = next(number for number in range(1, 9) if found.start(number) >= 0)
        if data.startswith(b"[redacted", found.start(place)):
            continue
        parts += (data[position : found.start(place)], b"***")
        position = found.end(place)
    return b"".join([*parts, data[position:]]).decode("utf-8", "replace")


class Redacted:
    """A content without its credentials: as long as the original, the same for every way to read it.

    A credential of up to `REACH_BYTES` is found wherever a reading begins or ends, also in the middle of it.
    """

    def __init__(self, content: Content) -> None:
        self._content = content
        self._blocks: dict[int, bytes] = {}

    @property
    def size(self) -> int:
        """Length in bytes."""
        return self._content.size

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only at the end."""
        if length <= 0:
            return b""
        first, last = offset // _BLOCK_BYTES, (offset + length - 1) // _BLOCK_BYTES
        text = b"".join(self._block(number) for number in range(first, last + 1))
        start = offset - first * _BLOCK_BYTES
        return text[start : start + length]

    def _block(self, number: int) -> bytes:
        known = self._blocks.get(number)
        if known is not None:
            return known
        start = number * _BLOCK_BYTES
        before = min(start, REACH_BYTES)
        wanted = before + _BLOCK_BYTES + REACH_BYTES
        text = blanked(self._content.read(start - before, wanted))
        block = text[before : before + _BLOCK_BYTES]
        if len(block) == _BLOCK_BYTES:  # else it may still grow
            if len(self._blocks) >= _BLOCKS_KEPT:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[number] = block
        return block
