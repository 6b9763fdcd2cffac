"""Bursar entered for a client, or taken out: what would change, the backup, the file written in one step."""

import difflib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from ..errors import BursarError
from . import edit
from .clients import Client

NAME = "bursar"

_BACKUP = ".before-bursar"


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of a client's configuration.

    Attributes:
        client: whose it is.
        file: the configuration, links followed.
        before: its bytes; None if there is none.
        after: the bytes it gets; None if it goes.
        is_entered: whether bursar stands in it afterwards.
    """

    client: Client
    file: Path
    before: bytes | None
    after: bytes | None
    is_entered: bool

    @property
    def backup(self) -> Path:
        """Where the file lies as it was before bursar was entered."""
        return self.file.with_name(self.file.name + _BACKUP)

    def diff(self) -> str:
        """Return the lines that change and no others, for theirs may be secret."""
        before, after = ((data or b"").decode("utf-8", "replace").splitlines() for data in (self.before, self.after))
        return "\n".join(difflib.unified_diff(before, after, str(self.file), str(self.file), n=0, lineterm=""))

    def apply(self) -> None:
        """Write the configuration, so that it is the old one or the new one whatever happens.

        Raises:
            BursarError: configuration_not_written; it is as it was, or as somebody else has made it since.
        """
        if self.before == self.after:
            return
        if _read(self.client)[1] != self.before:  # some clients write theirs while they run
            raise BursarError(
                "configuration_not_written", f"{self.file} was changed meanwhile", f"End {self.client.title}, try again"
            )
        try:
            if self.is_entered:
                if self.before is not None:
                    shutil.copy2(self.file, self.backup)
                self.file.parent.mkdir(parents=True, exist_ok=True)
            if self.after is None:
                self.file.unlink()
            else:
                _write(self.file, self.after)
            if not self.is_entered:
                with suppress(FileNotFoundError):
                    self.backup.unlink()
        except OSError as error:
            what = f"{error.filename or self.file}: {error.strerror or error}"
            raise BursarError(
                "configuration_not_written", what, "See that you may write there, and try again"
            ) from error


def entering(client: Client, arguments: Sequence[str]) -> Change:
    """Tell what entering bursar changes; nothing if it stands there already, as it is.

    Args:
        client: for whom.
        arguments: of bursar, its roots among them.

    Raises:
        BursarError: broken_configuration, or read_failed.
    """
    file, before = _read(client)
    with _named(file):
        if edit.has(before or b"", client.place, NAME):
            return Change(client, file, before, before, is_entered=True)
        command, first = launched()
        entry = client.entry(command, [*first, *arguments])
        return Change(client, file, before, edit.entered(before or b"", client.place, NAME, entry), is_entered=True)


def leaving(client: Client) -> Change:
    """Tell what taking bursar out changes; nothing if it is not there.

    If nothing else has changed since it was entered, the file becomes what it was to the last byte, or goes if there
    was none.

    Raises:
        BursarError: broken_configuration, or read_failed.
    """
    file, before = _read(client)
    with _named(file):
        if before is None or not edit.has(before, client.place, NAME):
            return Change(client, file, before, before, is_entered=False)
        after = edit.removed(before, client.place, NAME)
        backup = file.with_name(file.name + _BACKUP)
        original = backup.read_bytes() if backup.exists() else None
        entered = edit.entered(original or b"", client.place, NAME, client.entry("", ()))
        is_as_it_was = edit.removed(entered, client.place, NAME) == after
        return Change(client, file, before, original if is_as_it_was else after, is_entered=False)


def is_entered(client: Client) -> bool:
    """Tell whether bursar stands in a client's configuration.

    Raises:
        BursarError: broken_configuration, or read_failed.
    """
    file, data = _read(client)
    with _named(file):
        return data is not None and edit.has(data, client.place, NAME)


def launched() -> tuple[str, list[str]]:
    """Return the command that starts this bursar from anywhere, and its first arguments.

    Clients with a window know nothing of a shell's PATH: the command is absolute. What `uvx` runs has no lasting place,
    so it is entered as `uvx` with what it came from.
    """
    if "archive-v0" in Path(sys.prefix).parts and (uvx := shutil.which("uvx")):
        return uvx, [*came_from(distribution(NAME).read_text("direct_url.json")), NAME]
    script = shutil.which(sys.argv[0])
    if script is None or Path(script).stem != NAME:
        return sys.executable, ["-m", NAME]
    return os.path.abspath(script), []  # noqa: PTH100 - a link stays when what it leads to is renewed


def came_from(direct_url: str | None) -> list[str]:
    """Return the options by which `uvx` finds a package again that was not taken from an index.

    Args:
        direct_url: what the installer wrote of its origin, by PEP 610; None if it came from an index.
    """
    if direct_url is None:
        return []
    origin = json.loads(direct_url)
    return ["--from", f"{origin['vcs_info']['vcs']}+{origin['url']}" if "vcs_info" in origin else origin["url"]]


def _read(client: Client) -> tuple[Path, bytes | None]:
    file = client.file().resolve()
    try:
        return file, file.read_bytes()
    except FileNotFoundError:
        return file, None
    except OSError as error:
        raise BursarError("read_failed", f"{file}: {error.strerror or error}", "See that you may read it") from error


@contextmanager
def _named(file: Path) -> Generator[None]:
    """Name the file in errors about it."""
    try:
        yield
    except BursarError as error:
        raise BursarError(error.code, f"{file} was left as it is: {error.message}", error.fix) from None


def _write(file: Path, data: bytes) -> None:
    """Put a file in the place of another, with its mode; a new one is for the user alone, as it may hold tokens."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        if file.exists():
            shutil.copymode(file, name)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink()
        raise
