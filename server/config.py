"""Every setting of the server: its meaning, its unit, its bounds and its default stand where it is declared."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, cast, get_args

from ..artifacts.limits import Limits, Redaction
from ..artifacts.store import default_data_dir
from ..errors import BursarError

_STORE = Limits()
"""What it says is the default of the settings that it is made from."""

HTTP_ADDRESS = "127.0.0.1:8756"
"""Where `--http` listens if it is given no address."""


def _setting(
    default: Any,  # noqa: ANN401 - of the setting's own type
    text: str,
    metavar: str = "",
    *,
    words: str = "",
    bare: str = "",
    least: float | None = None,
    choices: Sequence[str] = (),
) -> Any:  # noqa: ANN401 - as `dataclasses.field`
    """Declare a setting.

    Args:
        default: its value, or a function that makes it.
        text: what it does, for `bursar --help`.
        metavar: what its value is called; empty for a switch.
        words: the default in words, where the value does not say it.
        bare: the value that the option stands for without one, if it may stand so.
        least: the smallest value that makes sense.
        choices: what it, or each of its values, may be.
    """
    about = {"help": text, "metavar": metavar, "words": words, "bare": bare, "least": least, "choices": choices}
    return (
        field(default_factory=default, metadata=about) if callable(default) else field(default=default, metadata=about)
    )


@dataclass(frozen=True)
class Settings:
    """How one server behaves; fixed at its start, changed by no tool.

    Each field is an option of the command line (`--reply-bytes 4096`) and an environment variable
    (`BURSAR_REPLY_BYTES=4096`); the option wins. What an option may repeat, a variable lists: directories separated as
    in PATH, anything else by commas. The properties follow from them.
    """

    root: tuple[Path, ...] = _setting(
        lambda: (Path.cwd(),),
        "a directory whose files the tools may read and write; repeat for more",
        "DIR",
        words="here",
    )
    data_dir: Path = _setting(  # noqa: RUF009 - makes a field
        default_data_dir, "where artifacts are kept, in DIR/bursar", "DIR", words="the platform's place for data"
    )
    session: str = _setting(
        "",
        "go on with an earlier session, named by its handle; as a variable it stands in no list of processes",
        "HANDLE",
    )
    tools: tuple[str, ...] = _setting(
        (), "offer this tool, and those named besides; repeat for more", "TOOL", words="all"
    )
    pass_env: tuple[str, ...] = _setting(
        (), "an environment variable that commands get to see; repeat for more", "NAME"
    )
    terminal: str = _setting(
        "sandboxed",
        "run commands sandboxed, or not start (required), unsafe (they can do what you can), or run none (off)",
        "MODE",
        words="sandboxed",
        choices=("sandboxed", "required", "unsafe", "off"),
    )
    terminal_net: str = _setting(
        "on", "whether sandboxed commands have a network: on or off", "on|off", words="on", choices=("on", "off")
    )
    terminal_write: tuple[Path, ...] = _setting(
        (), "a directory beside the roots that commands may write; repeat for more", "DIR"
    )
    terminal_unix_sockets: bool = _setting(
        False, "let commands use local sockets: databases and agents, but container engines and the desktop too"
    )
    command_cpu_s: float = _setting(
        0.0, "a command that computes for more seconds is ended, all its processes together", "S", words="any", least=0
    )
    command_memory_bytes: int = _setting(
        0,
        "one that uses more memory, all its processes together",
        "N",
        words="three quarters of the machine's",
        least=0,
    )
    command_processes: int = _setting(1024, "one that runs more processes at a time; 0: any", "N", least=0)
    command_file_bytes: int = _setting(16 * 1024**3, "one that writes a larger file; 0: any size", "N", least=0)
    allow_net: tuple[str, ...] = _setting(
        (), "an address or range, and port, that may be fetched though it is not public", "HOST:PORT"
    )
    proxy: str = _setting("", "fetch through this proxy, which then owns the address rule", "URL")
    ignore_robots: bool = _setting(False, "fetch pages although robots.txt asks not to")
    reply_bytes: int = _setting(
        0, "largest reply, in bytes", "N", words="by what is known of the client, else 8,192", least=1024
    )
    reply_tokens: int = _setting(
        0,
        "largest reply, in o200k tokens, unless a call asks for more; four times as much for calls in flight together",
        "N",
        words="by what is known of the client, else 2,000",
        least=256,
    )
    patience_s: float = _setting(
        0.0, "answer within so many seconds", "S", words="by what is known of the client", least=0
    )
    thumbnails: str = _setting(
        "auto",
        "show pictures beside replies: on, off, or auto: not to clients known to print them as text",
        "WHEN",
        words="auto",
        choices=("auto", "on", "off"),
    )
    copy_bytes: int = _setting(64 * 1024**2, "a local file of more bytes is referenced, not copied", "N", least=0)
    idle_days: float = _setting(
        _STORE.idle_s / 86_400,
        "a session unused for so many days is removed; lowered, it leaves sessions made before as they are",
        "N",
        least=0,
    )
    quota_bytes: int = _setting(
        _STORE.total_bytes,
        "bytes of all artifacts together; above it, the oldest idle sessions of whoever holds most go; "
        "lowered, it leaves sessions made before as they are",
        "N",
        least=1,
    )
    session_quota_bytes: int = _setting(
        _STORE.session_bytes,
        "bytes of one session's artifacts; what would go beyond is refused, a command that prints half of it ended",
        "N",
        least=1,
    )
    principal_quota_bytes: int = _setting(
        0, "bytes of all sessions of one principal over HTTP; 0: as many as all together", "N", least=0
    )
    redact: str = _setting(
        _STORE.redact,
        "blank known credentials: off, shown (in replies; the artifact keeps them) or stored (there too); who may run "
        "commands or edit files can still find out whether a text is in one",
        "WHERE",
        words=_STORE.redact,
        choices=get_args(Redaction),
    )
    fsync: bool = _setting(_STORE.fsync, "force every artifact to the disk before answering: safe from a power cut too")
    http: str = _setting(
        "", f"serve over HTTP, here or at {HTTP_ADDRESS}, not on standard input", "HOST:PORT", bare=HTTP_ADDRESS
    )
    no_auth: bool = _setting(False, "ask HTTP clients for no token; on loopback only")
    auth_tokens: str = _setting("", "accept the HTTP tokens whose hashes this file lists; see `bursar token`", "FILE")
    auth_issuer: str = _setting("", "accept HTTP tokens (JWT) of this OAuth authorization server", "URL")
    auth_audience: str = _setting(
        "", "the public address of this server, which those tokens must be made out for", "URL"
    )
    auth_scopes: tuple[str, ...] = _setting((), "a scope that those tokens must have; repeat for more", "NAME")
    allow_host: tuple[str, ...] = _setting(
        (), "a name, with its port, that HTTP clients call this server by", "HOST:PORT"
    )
    allow_origin: tuple[str, ...] = _setting((), "a web origin whose pages may call this server over HTTP", "ORIGIN")
    max_calls: int = _setting(
        256,
        "calls over HTTP that run at a time; half of them for one principal, a sixteenth for one session",
        "N",
        least=1,
    )
    requests_per_minute: int = _setting(
        6000, "HTTP requests of one principal, or without tokens of one address; 0: any number", "N", least=0
    )
    max_body_bytes: int = _setting(4 * 1024**2, "largest HTTP request", "N", least=65_536)
    request_timeout_s: float = _setting(
        30.0, "the headers of an HTTP request, and its body, must come within so many seconds", "S", least=1
    )
    max_connections: int = _setting(
        2000,
        "HTTP connections, and sessions of handshake protocols, open at a time; half of each for one principal",
        "N",
        least=2,
    )
    telemetry: tuple[str, ...] = _setting(
        (),
        "over HTTP: metrics for Prometheus at /metrics (prometheus), spans and metrics of OpenTelemetry to where the "
        "OTEL_* variables say (otlp); repeat for both",
        "WHERE",
        choices=("prometheus", "otlp"),
    )

    mcp: tuple[Path, ...] = _setting(
        (),
        "offer the servers of this configuration too, as clients have it (`mcpServers`), within the same budget; "
        "repeat for more",
        "FILE",
    )
    mcp_tokens: int = _setting(
        500,
        "list their tools with whole schemas if all cost no more tokens; else as signatures or names",
        "N",
        least=0,
    )

    @property
    def capture_bytes(self) -> int:
        """What one command may print."""
        return max(1, min(self.session_quota_bytes, self.quota_bytes) // 2)

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
        for setting in fields(self):
            self._check_bounds(setting)
        for directory in self.terminal_write:
            if not directory.is_dir():
                fix = "Name a directory that exists"
                raise BursarError("bad_setting", f"--terminal-write {directory} is not a directory", fix)
        self._check_tokens()

    def _check_bounds(self, setting: "Field[Any]") -> None:
        value, least, choices = getattr(self, setting.name), setting.metadata["least"], setting.metadata["choices"]
        option = f"--{setting.name.replace('_', '-')}"
        chosen = cast("tuple[object, ...]", value if isinstance(value, tuple) else (value,))
        if choices and (wrong := set(chosen).difference(choices)):
            raise BursarError("bad_setting", f"{option} cannot be {wrong.pop()!r}", f"Use {' or '.join(choices)}")
        is_chosen = value != setting.default
        if least is not None and is_chosen and not value >= least:  # not a number is not at least anything
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


def _listed(name: str, text: str) -> list[str]:
    """Return the texts that a variable gives for a setting."""
    kind = Settings.__dataclass_fields__[name].type
    if kind == tuple[Path, ...]:
        return text.split(os.pathsep)
    return [part.strip() for part in text.split(",")] if kind == tuple[str, ...] else [text]


def default_of(name: str) -> str:
    """Tell a setting's default in words."""
    setting = Settings.__dataclass_fields__[name]
    if words := setting.metadata["words"]:
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
