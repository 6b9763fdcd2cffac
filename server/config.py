"""Every setting of the server: its meaning, its unit and its default stand where it is declared."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from ..errors import BursarError


def _told(text: str, metavar: str = "", default: str = "") -> dict[str, str]:
    """Describe a setting for `bursar --help`, its default in words where the value does not say it."""
    return {"help": text, "metavar": metavar, "default": default}


def default_data_dir() -> Path:
    """Return where artifacts are kept unless told otherwise: the platform's directory for application data."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


@dataclass(frozen=True)
class Settings:
    """How one server behaves; fixed at its start, changed by no tool.

    Each field is an option of the command line (`--reply-bytes 4096`) and an environment variable
    (`BURSAR_REPLY_BYTES=4096`); the option wins. What an option may repeat, a variable separates as PATH does.
    """

    root: tuple[Path, ...] = field(
        default_factory=lambda: (Path.cwd(),),
        metadata=_told("a directory whose files the tools may read and write; repeat for more", "DIR", "here"),
    )
    data_dir: Path = field(
        default_factory=default_data_dir,
        metadata=_told("where artifacts are kept, in DIR/bursar", "DIR", "the platform's place for data"),
    )
    session: str = field(default="", metadata=_told("go on with an earlier session, named by its handle", "HANDLE"))
    pass_env: tuple[str, ...] = field(
        default=(), metadata=_told("an environment variable that commands get to see; repeat for more", "NAME")
    )
    allow_net: tuple[str, ...] = field(
        default=(),
        metadata=_told("an address or range, and port, that may be fetched though it is not public", "HOST:PORT"),
    )
    proxy: str = field(default="", metadata=_told("fetch through this proxy, which then owns the address rule", "URL"))
    ignore_robots: bool = field(default=False, metadata=_told("fetch pages although robots.txt asks not to"))
    reply_bytes: int = field(default=8192, metadata=_told("largest reply, in bytes of its JSON text", "N"))
    reply_tokens: int = field(default=2000, metadata=_told("largest reply, in o200k tokens", "N"))
    preview_tokens: int = field(
        default=1000, metadata=_told("preview of a content that does not fit whole, in o200k tokens", "N")
    )
    parallel_tokens: int = field(
        default=8000, metadata=_told("replies of one session's calls in flight, all together, in o200k tokens", "N")
    )
    patience_s: float = field(
        default=0.0, metadata=_told("answer within so many seconds", "S", "by what is known of the client")
    )
    capture_bytes: int = field(
        default=2 * 1024**3, metadata=_told("a command that prints more than so many bytes is ended", "N")
    )
    copy_bytes: int = field(
        default=64 * 1024**2, metadata=_told("a local file of more bytes is referenced, not copied", "N")
    )
    idle_days: float = field(default=7.0, metadata=_told("a session unused for so many days is removed", "N"))
    quota_bytes: int = field(
        default=10 * 1024**3, metadata=_told("bytes of all artifacts together; the oldest idle sessions go first", "N")
    )
    fsync: bool = field(
        default=False, metadata=_told("force every artifact to the disk before answering: safe from a power cut too")
    )

    @classmethod
    def load(cls, given: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> "Settings":
        """Combine options, environment variables and defaults.

        Raises:
            BursarError: a value that does not fit its setting.
        """
        values: dict[str, Any] = {}
        for setting in fields(cls):
            variable = f"BURSAR_{setting.name.upper()}"
            if setting.name in given:
                values[setting.name] = given[setting.name]
            elif text := environment.get(variable):
                values[setting.name] = parse(setting.name, text.split(os.pathsep), variable)
        settings = cls(**values)
        settings.check()
        return settings

    def check(self) -> None:
        """Refuse values that no server can work with.

        Raises:
            BursarError: the first of them.
        """
        if not self.root:
            raise BursarError("bad_setting", "--root names no directory", "Name one, or leave it out")
        for root in self.root:
            if not root.is_dir():
                raise BursarError("bad_setting", f"--root {root} is not a directory", "Name a directory that exists")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not value >= least:  # not a number is not at least anything
                option = f"--{name.replace('_', '-')}"
                raise BursarError("bad_setting", f"{option} cannot be {value:g}", f"Use at least {least:g}")


_LEAST: dict[str, float] = {
    "reply_bytes": 1024,
    "reply_tokens": 256,
    "preview_tokens": 50,
    "parallel_tokens": 256,
    "patience_s": 0,
    "capture_bytes": 1,
    "copy_bytes": 0,
    "idle_days": 0,
    "quota_bytes": 1,
}
"""The smallest values that make sense: below the first two no reply can say what it must."""


def default_of(name: str) -> str:
    """Tell a setting's default in words."""
    setting = Settings.__dataclass_fields__[name]
    if words := setting.metadata["default"]:
        return words
    value = setting.default
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else "none"


def parse(name: str, texts: Sequence[str], origin: str) -> object:
    """Turn the texts of one setting into its value; a setting that is no list takes the last of them.

    Args:
        name: of the setting.
        texts: as given on the command line or in the environment.
        origin: the option or variable, for the error.

    Raises:
        BursarError: a text is not of the setting's kind.
    """
    kind = Settings.__dataclass_fields__[name].type
    last = texts[-1]
    try:
        if kind == tuple[Path, ...]:
            return tuple(Path(text).expanduser() for text in texts if text)
        if kind == tuple[str, ...]:
            return tuple(text for text in texts if text)
        if kind is bool:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[last.lower()]
        if kind is Path:
            return Path(last).expanduser()
        return {int: int, float: float, str: str}[cast("type[Any]", kind)](last)
    except (ValueError, KeyError):
        fault = f"{origin} cannot be {last!r}"
        raise BursarError("bad_setting", fault, "See `bursar --help` for what it takes") from None
