"""What sandboxed commands may do, and how well it is kept."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ...errors import BursarError

Level = Literal["kernel", "off", "unsafe"]
"""`kernel`: the kernel keeps commands in, as tried at this start. `off`: nothing does, so none is run. `unsafe`: none
is kept in, because the user said so."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What commands may do. Each may read and run what the server can, but for what is hidden.

    Attributes:
        store: directory of all sessions; hidden, but for the caller's own.
        roots: directories that may be changed.
        writes: further ones, as the user allowed them.
        hidden: further directories of which nothing may be read, such as the one with the server's keys.
        network: whether IPv4 and IPv6 may be used.
        unix_sockets: whether local sockets may be used: databases, agents, and container engines too.
    """

    store: Path
    roots: tuple[Path, ...]
    writes: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    network: bool = True
    unix_sockets: bool = False

    @property
    def writable(self) -> list[str]:
        """The directories that may be changed, without links."""
        return [os.path.realpath(path) for path in (*self.roots, *self.writes)]

    def check(self) -> None:
        """Refuse what cannot be kept.

        Raises:
            BursarError: bad_setting; what is to be changed lies in what is to be hidden.
        """
        for place in (*self.roots, *self.writes):
            for hidden in (self.store, *self.hidden):
                if place.resolve().is_relative_to(hidden.resolve()):
                    raise BursarError(
                        "bad_setting",
                        f"{place} lies in {hidden}, which commands must not see",
                        "Name another directory, or keep the artifacts elsewhere with --data-dir",
                    )


@dataclass(frozen=True, slots=True)
class Isolation:
    """How well commands are kept in.

    Attributes:
        level: as it was tried at this start.
        means: what keeps them in, such as `namespaces + Landlock 7 + seccomp`; empty without.
        reason: why the level is no better, or what is missing though it is; empty if nothing is.
        fix: what to do about it.
        attacks: each that was tried and what came of it: `held`, or what went wrong.
        own_view: whether commands see a machine of their own, with a private `/tmp` and no processes but theirs.
    """

    level: Level
    means: str = ""
    reason: str = ""
    fix: str = ""
    attacks: Mapping[str, str] = field(default_factory=dict[str, str])
    own_view: bool = False

    def line(self) -> str:
        """Say it in one line."""
        said = f"{self.level} ({self.means})" if self.means else self.level
        return ": ".join(part for part in (said, ". ".join(filter(None, (self.reason, self.fix)))) if part)


CACHES = {
    # variable: (place below the private directory, usual place below the home directory)
    "XDG_CACHE_HOME": (".cache", ".cache"),
    "npm_config_cache": (".cache/npm", ".npm"),
    "YARN_CACHE_FOLDER": (".cache/yarn", ".cache"),
    "npm_config_store_dir": (".cache/pnpm", ".local/share/pnpm"),
    "GOPATH": (".cache/go", "go"),
    "CARGO_HOME": (".cache/cargo", ".cargo"),
    "GRADLE_USER_HOME": (".cache/gradle", ".gradle"),
    "NUGET_PACKAGES": (".cache/nuget", ".nuget/packages"),
    "BUN_INSTALL_CACHE_DIR": (".cache/bun", ".bun"),
    "MPLCONFIGDIR": (".cache/matplotlib", ".config/matplotlib"),
    "IPYTHONDIR": (".cache/ipython", ".ipython"),
}
"""Where tools keep what they could fetch again; most of them do not work where they cannot write it."""


def private_environment(private: str, home: str, writable: Iterable[str]) -> dict[str, str]:
    """Point tools to the private directory, but for caches that commands may write where they usually are."""
    environment: dict[str, str] = {"TMPDIR": private, "TMP": private, "TEMP": private}
    for variable, (here, usual) in CACHES.items():
        where = Path(home or "/", usual).resolve()
        if not any(where.is_relative_to(place) for place in writable):
            environment[variable] = os.path.join(private, here)  # noqa: PTH118
    return environment
