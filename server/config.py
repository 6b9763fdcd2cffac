"""Every setting of the server: its meaning, its unit and its default stand where it is declared."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast, get_args

from ..artifacts.limits import Limits, Redaction
from ..errors import BursarError
from ..guard.command import Limits as CommandLimits

_STORE, _COMMAND = Limits(), CommandLimits()
"""What these say is the default of the settings that they are made from."""

HTTP_ADDRESS = "127.0.0.1:8756"
"""Where `--http` listens if it is given no address."""


def _told(text: str, metavar: str = "", default: str = "", alone: str = "") -> dict[str, str]:
    """Describe a setting for `bursar --help`.

    Args:
        text: what it does.
        metavar: what its value is called; empty for a switch.
        default: the default in words, where the value does not say it.
        alone: the value that the bare option stands for, if it may stand without one.
    """
    return {"help": text, "metavar": metavar, "default": default, "alone": alone}


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
    (`BURSAR_REPLY_BYTES=4096`); the option wins. What an option may repeat, a variable lists: directories separated as
    in PATH, anything else by commas.
    """

    root: tuple[Path, ...] = field(
        default_factory=lambda: (Path.cwd(),),
        metadata=_told("a directory whose files the tools may read and write; repeat for more", "DIR", "here"),
    )
    data_dir: Path = field(
        default_factory=default_data_dir,
        metadata=_told("where artifacts are kept, in DIR/bursar", "DIR", "the platform's place for data"),
    )
    session: str = field(
        default="",
        metadata=_told(
            "go on with an earlier session, named by its handle; as a variable it stands in no list of processes",
            "HANDLE",
        ),
    )
    pass_env: tuple[str, ...] = field(
        default=(), metadata=_told("an environment variable that commands get to see; repeat for more", "NAME")
    )
    terminal: str = field(
        default="sandboxed",
        metadata=_told(
            "run commands sandboxed, unsafe (they can do what you can) or not at all (off)", "MODE", "sandboxed"
        ),
    )
    terminal_net: str = field(
        default="on", metadata=_told("whether sandboxed commands have a network: on or off", "on|off", "on")
    )
    terminal_write: tuple[Path, ...] = field(
        default=(), metadata=_told("a directory beside the roots that commands may write; repeat for more", "DIR")
    )
    terminal_unix_sockets: bool = field(
        default=False,
        metadata=_told(
            "let commands use local sockets: databases and agents, but container engines and the desktop too"
        ),
    )
    require_isolation: str = field(
        default="", metadata=_told("refuse to start unless commands are kept in this well", "kernel")
    )
    command_cpu_s: float = field(
        default=0.0,
        metadata=_told("a command that computes for more seconds is ended, all its processes together", "S", "any"),
    )
    command_memory_bytes: int = field(
        default=0,
        metadata=_told("one that uses more memory, all its processes together", "N", "three quarters of the machine's"),
    )
    command_processes: int = field(default=1024, metadata=_told("one that runs more processes at a time; 0: any", "N"))
    command_file_bytes: int = field(
        default=16 * 1024**3, metadata=_told("one that writes a larger file; 0: any size", "N")
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
    thumbnails: str = field(
        default="auto",
        metadata=_told(
            "show pictures beside replies: on, off, or auto: not to clients known to print them as text",
            "WHEN",
            "auto",
        ),
    )
    capture_bytes: int = field(
        default=_COMMAND.output_bytes, metadata=_told("a command that prints more than so many bytes is ended", "N")
    )
    copy_bytes: int = field(
        default=64 * 1024**2, metadata=_told("a local file of more bytes is referenced, not copied", "N")
    )
    idle_days: float = field(
        default=_STORE.idle_s / 86_400,
        metadata=_told(
            "a session unused for so many days is removed; lowered, it leaves sessions made before as they are", "N"
        ),
    )
    quota_bytes: int = field(
        default=_STORE.total_bytes,
        metadata=_told(
            "bytes of all artifacts together; above it, the oldest idle sessions of whoever holds most go; "
            "lowered, it leaves sessions made before as they are",
            "N",
        ),
    )
    session_quota_bytes: int = field(
        default=_STORE.session_bytes,
        metadata=_told("bytes of one session's artifacts; what would go beyond is refused", "N"),
    )
    principal_quota_bytes: int = field(
        default=0, metadata=_told("bytes of all sessions of one principal over HTTP; 0: as many as all together", "N")
    )
    redact: str = field(
        default=_STORE.redact,
        metadata=_told(
            "blank known credentials: off, shown (in replies; the artifact keeps them) or stored (there too)",
            "WHERE",
            _STORE.redact,
        ),
    )
    fsync: bool = field(
        default=_STORE.fsync,
        metadata=_told("force every artifact to the disk before answering: safe from a power cut too"),
    )
    http: str = field(
        default="",
        metadata=_told(
            f"serve over HTTP, here or at {HTTP_ADDRESS}, not on standard input", "HOST:PORT", alone=HTTP_ADDRESS
        ),
    )
    no_auth: bool = field(default=False, metadata=_told("ask HTTP clients for no token; on loopback only"))
    auth_tokens: str = field(
        default="", metadata=_told("accept the HTTP tokens whose hashes this file lists; see `bursar token`", "FILE")
    )
    auth_issuer: str = field(
        default="", metadata=_told("accept HTTP tokens (JWT) of this OAuth authorization server", "URL")
    )
    auth_audience: str = field(
        default="", metadata=_told("the public address of this server, which those tokens must be made out for", "URL")
    )
    auth_jwks: str = field(
        default="", metadata=_told("where the issuer's keys are", "URL", "as the issuer's metadata say")
    )
    auth_scopes: tuple[str, ...] = field(
        default=(), metadata=_told("a scope that those tokens must have; repeat for more", "NAME")
    )
    allow_host: tuple[str, ...] = field(
        default=(), metadata=_told("a name, with its port, that HTTP clients call this server by", "HOST:PORT")
    )
    allow_origin: tuple[str, ...] = field(
        default=(), metadata=_told("a web origin whose pages may call this server over HTTP", "ORIGIN")
    )
    max_calls: int = field(default=256, metadata=_told("calls over HTTP that run at a time", "N"))
    max_calls_per_principal: int = field(default=128, metadata=_told("those of one principal", "N"))
    max_calls_per_session: int = field(default=16, metadata=_told("those of one session", "N"))
    requests_per_minute: int = field(
        default=6000,
        metadata=_told("HTTP requests of one principal, or without tokens of one address; 0: any number", "N"),
    )
    max_body_bytes: int = field(default=4 * 1024**2, metadata=_told("largest HTTP request", "N"))
    request_timeout_s: float = field(
        default=30.0,
        metadata=_told("the headers of an HTTP request, and its body, must come within so many seconds", "S"),
    )
    max_connections: int = field(default=2000, metadata=_told("HTTP connections open at a time", "N"))
    max_sessions: int = field(default=2000, metadata=_told("HTTP sessions of handshake protocols open at a time", "N"))
    max_sessions_per_principal: int = field(default=500, metadata=_told("those of one principal", "N"))
    metrics: bool = field(default=False, metadata=_told("tell Prometheus about the server at /metrics, over HTTP"))
    otel: bool = field(
        default=False, metadata=_told("send OpenTelemetry spans and metrics where the OTEL_* variables say, over HTTP")
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
                values[setting.name] = parse(setting.name, _listed(setting.name, text), variable)
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
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                option = f"--{name.replace('_', '-')}"
                fix = f"Use {' or '.join(filter(None, choices))}"
                raise BursarError("bad_setting", f"{option} cannot be {value!r}", fix)
        for directory in self.terminal_write:
            if not directory.is_dir():
                fix = "Name a directory that exists"
                raise BursarError("bad_setting", f"--terminal-write {directory} is not a directory", fix)
        self._check_tokens()
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not value >= least:  # not a number is not at least anything
                option = f"--{name.replace('_', '-')}"
                raise BursarError("bad_setting", f"{option} cannot be {value:g}", f"Use at least {least:g}")

    def _check_tokens(self) -> None:
        """Refuse a file of tokens where commands may write.

        Whoever may write the directory decides which file its name leads to. Hidden there it would stay only until it
        is replaced, as editors do when they save: the kernel then drops what covers it, in all namespaces.
        """
        if not self.auth_tokens:
            return
        given = Path(self.auth_tokens).expanduser().absolute()
        ways = [Path(os.path.normpath(given)), given.parent.resolve(), given.resolve()]
        for place in (*self.root, *self.terminal_write):
            for above in (Path(os.path.normpath(place.absolute())), place.resolve()):
                if any(way.is_relative_to(above) for way in ways):
                    fault = f"--auth-tokens {self.auth_tokens} lies in {place}, where commands may write"
                    fix = "Keep it elsewhere, such as in ~/.config/bursar, and name it by its whole path"
                    raise BursarError("bad_setting", fault, fix)


_CHOICES: dict[str, tuple[str, ...]] = {
    "redact": get_args(Redaction),
    "terminal": ("sandboxed", "unsafe", "off"),
    "terminal_net": ("on", "off"),
    "thumbnails": ("auto", "on", "off"),
    "require_isolation": ("", "kernel"),
}
"""What a setting with a few values may be."""

_LEAST: dict[str, float] = {
    "reply_bytes": 1024,
    "reply_tokens": 256,
    "preview_tokens": 50,
    "parallel_tokens": 256,
    "patience_s": 0,
    "capture_bytes": 1,
    "copy_bytes": 0,
    "command_cpu_s": 0,
    "command_memory_bytes": 0,
    "command_processes": 0,
    "command_file_bytes": 0,
    "idle_days": 0,
    "quota_bytes": 1,
    "session_quota_bytes": 1,
    "principal_quota_bytes": 0,
    "max_calls": 1,
    "max_calls_per_principal": 1,
    "max_calls_per_session": 1,
    "requests_per_minute": 0,
    "max_body_bytes": 65_536,
    "request_timeout_s": 1,
    "max_connections": 2,
    "max_sessions": 1,
    "max_sessions_per_principal": 1,
}
"""The smallest values that make sense: below the first two no reply can say what it must."""


def _listed(name: str, text: str) -> list[str]:
    """Return the texts that a variable gives for a setting."""
    kind = Settings.__dataclass_fields__[name].type
    if kind == tuple[Path, ...]:
        return text.split(os.pathsep)
    return [part.strip() for part in text.split(",")] if kind == tuple[str, ...] else [text]


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
