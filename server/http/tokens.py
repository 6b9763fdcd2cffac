"""Bearer tokens that this server knows itself: the one it mints for its own user, and those of a file of hashes."""

import hashlib
import hmac
import os
import re
import secrets
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from mcp.server.auth.provider import AccessToken

from ...artifacts.ownership import local_owner
from ...errors import BursarError
from .. import log
from .secret_files import keep

_TOKEN_MAX_CHARACTERS = 16_384
_FILE_MAX_BYTES = 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_LINE = re.compile(rf"(?P<name>{_NAME.pattern}):(?P<sha256>[0-9a-f]{{64}})", re.ASCII)

Digests = dict[str, bytes]
"""SHA-256 of each token, by the name of whom it was given to."""


@dataclass(frozen=True)
class LocalToken:
    """Accepts the one token of the user who started the server; its sessions are those of that user.

    Attributes:
        digest: SHA-256 of the token.
    """

    digest: bytes

    @classmethod
    def of(cls, secret: bytes) -> "LocalToken":
        """Accept the hexadecimal digits of a secret."""
        return cls(_digest(secret.hex()))

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what the token gives access to; None if it is another."""
        if not hmac.compare_digest(_digest(token), self.digest):
            return None
        return AccessToken(token="", client_id=local_owner(), scopes=[])


@dataclass
class TokenFile:
    """Accepts the tokens whose hashes a file lists, one `NAME:SHA256` a line; read anew whenever it changes.

    Attributes:
        place: of the file.
        resource: what its tokens count as made out for; empty if nobody asks.
        scopes: what its tokens give.
        remembered: a file in a private directory for the hash of what was last relied on, beyond the server's end.
    """

    place: Path
    resource: str = ""
    scopes: tuple[str, ...] = ()
    remembered: Path | None = None
    _digests: Digests = field(default_factory=Digests)
    _text: bytes = b""
    _state: tuple[int, ...] = ()
    _file: int = -1

    def __post_init__(self) -> None:
        try:
            refusal = self._read(self._opened())
        except OSError as error:
            fix = "Give a file that `bursar token NAME` made lines for"
            raise BursarError("bad_tokens", f"{self.place} cannot be read: {error.strerror or error}", fix) from error
        if refusal is not None and not self._was_relied_on():
            raise refusal
        self._rely(refusal)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what the token gives access to; None if it is none of the file's."""
        self._refresh()
        given = _digest(token)
        found = [name for name, digest in self._digests.items() if hmac.compare_digest(given, digest)]
        if not found:
            return None
        return AccessToken(
            token="", client_id=f"token:{found[0]}", scopes=list(self.scopes), resource=self.resource or None
        )

    def _refresh(self) -> None:
        """Take over what changed; a file that cannot be relied on any more lets nobody in.

        One that says what it said when it was relied on has not been tampered with, whatever became of its mode.
        """
        try:
            if _state(self._found()) == self._state:
                return
            before = self._text
            refusal = self._read(self._opened())
            if refusal is not None and not (self._text == before and self._digests):
                raise refusal
            self._rely(refusal)
        except (OSError, BursarError) as error:
            if self._digests:
                log.event("tokens_refused", why=str(error))
            self._digests, self._text, self._state = {}, b"", ()

    def _rely(self, exposed: BursarError | None) -> None:
        """Let in whom the file lists; what it says is remembered.

        Raises:
            BursarError: bad_tokens.
        """
        if exposed is not None:
            log.event("tokens_exposed", why=str(exposed))
        self._digests = _digests(self.place, self._text)
        if self.remembered is not None and exposed is None:
            with suppress(OSError):  # a full disk: then a file that was exposed is refused at the next start
                keep(self.remembered, hashlib.sha256(self._text).hexdigest())

    def _was_relied_on(self) -> bool:
        """Tell whether the file says what a server of this store relied on last: a command may change its mode."""
        if self.remembered is None:
            return False
        try:
            return self.remembered.read_text() == hashlib.sha256(self._text).hexdigest()
        except (OSError, UnicodeDecodeError):
            return False

    def _found(self) -> os.stat_result:
        """Return the status of the file; where its directory was closed to us, of the file that was there before."""
        try:
            return self.place.stat()
        except PermissionError:
            if self._file < 0:
                raise
            return os.fstat(self._file)

    def _opened(self) -> int:
        """Open the file; one that was closed to us stays the one that is open, unless another is in its place.

        Raises:
            OSError: it is not there, or cannot be read.
        """
        try:
            return os.open(self.place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # never waits
        except PermissionError as error:
            if self._file < 0 or not os.fstat(self._file).st_nlink:
                raise
            if not os.path.samestat(self._found(), os.fstat(self._file)):
                raise
            log.event("tokens_closed", why=str(error))
            return self._file

    def _read(self, file: int) -> BursarError | None:
        """Take over what a file says; return why it cannot be relied on, if so. It is kept open.

        Raises:
            BursarError: unsafe_tokens; it is something else.
        """
        if self._file not in {-1, file}:
            os.close(self._file)
        self._file = file
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise BursarError("unsafe_tokens", f"{self.place} is no file", "Give a file")
        os.lseek(file, 0, os.SEEK_SET)
        self._text, self._state = os.read(file, _FILE_MAX_BYTES), _state(found)
        return _refusal(self.place, found)


def fresh_token(name: str) -> tuple[str, str]:
    """Make a token for somebody; return it and the line for the file of tokens.

    Raises:
        BursarError: bad_name.
    """
    if not _NAME.fullmatch(name):
        fix = "Use up to 64 letters, digits, dots, dashes and underscores, a letter or digit first"
        raise BursarError("bad_name", f"{name!r} cannot name a token", fix)
    token = secrets.token_urlsafe(32)
    return token, f"{name}:{_digest(token).hex()}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token[:_TOKEN_MAX_CHARACTERS].encode("utf-8", "surrogatepass")).digest()


def _digests(place: Path, text: bytes) -> Digests:
    digests: Digests = {}
    for number, raw in enumerate(text.decode("utf-8", "replace").splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None or match["name"] in digests:
            what = "is no NAME:SHA256" if match is None else "names somebody twice"
            raise BursarError("bad_tokens", f"line {number} of {place} {what}", "Make lines with `bursar token NAME`")
        digests[match["name"]] = bytes.fromhex(match["sha256"])
    return digests


def _refusal(place: Path, found: os.stat_result) -> BursarError | None:
    """Tell whether somebody else could have written a line into a file; reading the hashes helps nobody."""
    if sys.platform == "win32":
        return None
    if found.st_uid not in {0, os.geteuid()}:
        return BursarError("unsafe_tokens", f"{place} belongs to another user", "Make it yours: chown")
    if found.st_mode & 0o022:
        mode = stat.S_IMODE(found.st_mode)
        what = f"others may write {place}, whose mode is {mode:04o}"
        return BursarError("unsafe_tokens", what, "Use chmod go-w on it")
    return None


def _state(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
