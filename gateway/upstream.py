"""The servers behind this one, as the `mcpServers` of clients' configurations name them."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from ..errors import BursarError
from .secrets import Secrets, secrets_of
from .untyped import is_mapping, is_sequence, mapping, sequence

DEPTH = "BURSAR_DEPTH"
"""Variable by which a server that was started by another of these knows that."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}", re.ASCII)
_VARIABLE = re.compile(r"\$\{(?:(env|input):)?([A-Za-z0-9_.-]{1,128})(?::-([^{}]*))?\}", re.ASCII)
_FILE_BYTES = 4 * 1024**2
KEYS = ("mcpServers", "servers", "mcp_servers")

Show = Literal["auto", "full", "compact"]


@dataclass(frozen=True, slots=True)
class Upstream:
    """One server behind this one.

    Attributes:
        name: as the configuration calls it.
        command: the program and its arguments; empty for one that is reached by `url`.
        env: variables of its own.
        cwd: directory it starts in; empty for the first root.
        url: address of its streamable HTTP endpoint.
        headers: sent with each request to it.
        secrets: which of all these no reply, artifact or log shows.
        fault: why it cannot be used, such as a variable that is not set; empty if it can be.
        show: how its tools are listed: as they fit, in full, or by name at most.
        only: tools that are offered; empty for all.
        without: tools that are not.
        net: whether it has a network.
        unix_sockets: whether it may use local sockets, as browsers must.
        write: directories that it may write besides the roots.
        share: sessions of one owner share a process.
        serial: one call at a time.
        idle_s: seconds without a call after which it is ended.
        timeout_s: seconds that one call may take.
        read_only: tools that change nothing, whatever they say of themselves.
        images: whether pictures of it are shown.
        sandbox: `off` where the user lets it do whatever the server can.
        trust: what it offers at first sight is approved, or waits for the user.
    """

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: Secrets = field(default_factory=Secrets)
    fault: str = ""
    show: Show = "auto"
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    net: bool = True
    unix_sockets: bool = False
    write: tuple[Path, ...] = ()
    share: bool = False
    serial: bool = False
    idle_s: float = 600.0
    timeout_s: float = 300.0
    read_only: frozenset[str] = frozenset()
    images: Literal["show", "store"] = "show"
    sandbox: Literal["on", "off"] = "on"
    trust: Literal["first", "ask"] = "first"

    @property
    def launch(self) -> str:
        """Hash of how it is reached: other words there are another server. Values of variables do not count."""
        said = [list(self.command), sorted(self.env), self.cwd, self.url, sorted(self.headers)]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]

    def offers(self, tool: str) -> bool:
        """Tell whether a tool of it may be called at all."""
        return tool not in self.without and (not self.only or tool in self.only)


def load(files: Sequence[Path | str], environment: Mapping[str, str] = os.environ) -> list[Upstream]:
    """Read the servers that configurations name, in their order; one that is named twice counts as the later says.

    Raises:
        BursarError: bad_setting; a file cannot be read, or an entry says what nothing can be made of.
    """
    if environment.get(DEPTH):
        fix = "Take it out of the configuration that --mcp names"
        raise BursarError("bad_setting", "this server was started by another of its kind, as a server behind it", fix)
    found: dict[str, Upstream] = {}
    for file in files:
        for upstream in _read(Path(file).expanduser(), environment):
            found[upstream.name] = upstream
    return list(found.values())


def _read(file: Path, environment: Mapping[str, str]) -> Iterator[Upstream]:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise _bad(f"{file} cannot be read: {error.strerror}", "Name a file with `mcpServers` in JSON") from error
    if len(raw) > _FILE_BYTES:
        raise _bad(f"{file} has {len(raw):,} bytes", "Name a file with `mcpServers` in JSON")
    told = parsed(raw, file)
    entries = next((told[key] for key in KEYS if isinstance(told.get(key), dict)), None)
    if entries is None:
        raise _bad(f"{file} has no object `mcpServers`", 'Write {"mcpServers": {"NAME": {"command": "…"}}}')
    for name, entry in mapping(entries).items():
        if not is_mapping(entry):
            raise _bad(f"{name} in {file} is no object", 'Write {"command": "…", "args": […]} or {"url": "…"}')
        if not mapping(entry).get("disabled"):
            yield _entry(name, mapping(entry), environment)


def parsed(raw: bytes, file: Path) -> dict[str, Any]:
    """Read the JSON of a configuration, with comments and commas before closing brackets as editors allow them.

    Raises:
        BursarError: bad_setting; it is none.
    """
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError) as error:
        from ..install.edit import plain

        try:
            told = json.loads(plain(raw))
        except (BursarError, ValueError, RecursionError):
            raise _bad(f"{file} is no JSON: {error}", "Mend it") from None
    if not is_mapping(told):
        raise _bad(f"{file} is no JSON object", 'Write {"mcpServers": {…}}')
    return mapping(told)


def _entry(name: str, entry: Mapping[str, Any], environment: Mapping[str, str]) -> Upstream:
    if not _NAME.fullmatch(name):
        raise _bad(f"a server is called {name[:60]!r}", "Use up to 32 letters, digits, - and _")
    values: dict[str, str | None] = {}

    def filled(text: str) -> str:
        return _VARIABLE.sub(lambda found: _value(found, environment, values), text)

    made = Upstream(
        name=name,
        command=tuple(filled(word) for word in (*_words(name, entry, "command"), *_words(name, entry, "args"))),
        env={key: filled(value) for key, value in _texts(name, entry, "env").items()},
        cwd=filled(_text(name, entry, "cwd")),
        url=filled(_text(name, entry, "url") or _text(name, entry, "serverUrl")),
        headers={key: filled(value) for key, value in _texts(name, entry, "headers").items()},
        **_own(name, entry.get("bursar", {})),
    )
    if bool(made.command) == bool(made.url):
        has = "both a command and" if made.url else "neither a command nor"
        raise _bad(f"{name} has {has} a url", "Give it one of them")
    if entry.get("type") == "sse":
        raise _bad(f"{name} speaks the old transport of server-sent events", "Give its streamable HTTP address")
    if made.url and urlsplit(made.url).scheme not in ("http", "https"):
        raise _bad(f"the url of {name} is no http or https address", "Write https://host/mcp")
    if _is_own(made.command):
        raise _bad(f"{name} is this server itself", "Take it out of the configuration that --mcp names")
    set_ = {variable: value for variable, value in values.items() if value is not None}
    missing = ", ".join(variable for variable in values if variable not in set_)
    named = [pair for table in (made.env, made.headers, set_) for pair in table.items()]
    secrets = secrets_of(named, (*made.command, made.url))
    return replace(made, secrets=secrets, fault=f"{missing} is not set in the environment of bursar" if missing else "")


def _value(found: "re.Match[str]", environment: Mapping[str, str], values: dict[str, str | None]) -> str:
    kind, variable, default = found.groups()
    if kind == "input":
        what = f"${{input:{variable}}} asks a person, whom nothing here can ask"
        raise _bad(what, f"Write ${{{variable.upper()}}} and set that variable")
    values[variable] = environment.get(variable) or default
    return values[variable] or ""


def _own(name: str, said: object) -> dict[str, Any]:
    """Understand what only this server knows of an entry."""
    if not is_mapping(said):
        raise _bad(f'"bursar" of {name} is no object', 'Write {"bursar": {"show": "compact"}}')
    known = {
        "show": "show",
        "only": "only",
        "except": "without",
        "net": "net",
        "unixSockets": "unix_sockets",
        "write": "write",
        "share": "share",
        "serial": "serial",
        "idleS": "idle_s",
        "timeoutS": "timeout_s",
        "readOnly": "read_only",
        "images": "images",
        "sandbox": "sandbox",
        "trust": "trust",
    }
    choices = {
        "show": ("auto", "full", "compact"),
        "images": ("show", "store"),
        "sandbox": ("on", "off"),
        "trust": ("first", "ask"),
    }
    kinds = {each.name: each.type for each in fields(Upstream)}
    made: dict[str, Any] = {}
    for key, value in mapping(said).items():
        if key not in known:
            raise _bad(f'"bursar" of {name} has {key!r}, which is none', f"Use some of {', '.join(known)}")
        attribute = known[key]
        fits, made[attribute] = _fitted(value, attribute, str(kinds[attribute]))
        if not fits or (attribute in choices and value not in choices[attribute]):
            takes = " or ".join(choices.get(attribute, (_WORDS.get(str(kinds[attribute]), "a list of texts"),)))
            raise _bad(f'"{key}" of {name} cannot be {json.dumps(value)[:60]}', f"Use {takes}")
    return made


_WORDS = {str(bool): "true or false", str(float): "a number of seconds"}


def _fitted(value: object, attribute: str, kind: str) -> tuple[bool, Any]:
    """Return whether a value is of an attribute's kind, and it as it is kept."""
    if kind == str(bool):
        said = {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value
        return isinstance(said, bool), said
    if kind == str(float):
        return isinstance(value, int | float) and not isinstance(value, bool) and value > 0, value
    if attribute in ("show", "images", "sandbox", "trust"):
        return isinstance(value, str), value
    words = sequence(value)
    if not is_sequence(value) or not all(isinstance(one, str) for one in words):
        return False, words
    if attribute == "write":
        return True, tuple(Path(word).expanduser() for word in words)
    return True, frozenset(words) if attribute == "read_only" else tuple(words)


def _words(name: str, entry: Mapping[str, Any], key: str) -> list[str]:
    value = entry.get(key, [])
    words = [value] if isinstance(value, str) else sequence(value)
    if not (isinstance(value, str) or is_sequence(value)) or not all(isinstance(word, str) for word in words):
        raise _bad(f"{key!r} of {name} is no list of texts", "Write it as a list of texts")
    return words


def _texts(name: str, entry: Mapping[str, Any], key: str) -> dict[str, str]:
    value: object = entry.get(key)
    if value is not None and not is_mapping(value):
        raise _bad(f"{key!r} of {name} is no object", "Write it as an object of texts")
    return {key: one if isinstance(one, str) else json.dumps(one) for key, one in mapping(value).items()}


def _text(name: str, entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key) or ""
    if not isinstance(value, str):
        raise _bad(f"{key!r} of {name} is no text", "Write it as a text")
    return value


def _is_own(command: Sequence[str]) -> bool:
    names = [Path(word).name for word in command[:4]]
    return names[:1] == ["bursar"] or names[1:3] == ["-m", "bursar"] or (names[:1] == ["uvx"] and "bursar" in names)


def _bad(what: str, fix: str) -> BursarError:
    return BursarError("bad_setting", what, fix)
