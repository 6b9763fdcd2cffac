"""Seatbelt, the sandbox of macOS, as `sandbox-exec` offers it: profiles for commands. Untested on the real system."""

import os
from collections.abc import Iterable
from pathlib import Path

from .policy import Policy

PROGRAM = "/usr/bin/sandbox-exec"

_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/random", "/dev/urandom")


def profile(policy: Policy, hidden: Iterable[str], session: Path, private: Path) -> str:
    """Return a profile: later rules win over earlier ones.

    Args:
        policy: what commands may do.
        hidden: every path to what is to be hidden.
        session: directory of the own session; to be read.
        private: directory for temporary files.
    """
    rules = ["(version 1)", "(allow default)", "(deny file-write*)"]
    rules += [f"(allow file-write* {_tree(path)})" for path in policy.writable]
    rules += [f"(deny file-read* file-write* process-exec* {_tree(path)})" for path in hidden]
    rules.append(f"(allow file-read* {_tree(os.path.realpath(session))})")
    rules.append(f"(allow file-read* file-write* process-exec* {_tree(os.path.realpath(private))})")
    rules.append(f"(allow file-write* {' '.join(f'(literal {_text(path)})' for path in _DEVICES)})")
    # A command may end what it started, and nothing else; nor look into other processes.
    rules += ["(deny signal)", "(allow signal (target same-sandbox))", "(deny process-info*)"]
    rules += ["(allow process-info* (target same-sandbox))", "(deny mach-priv-task-port)"]
    # What others start for a command would be outside: applications, jobs of launchd, scripts of other programs.
    rules += ["(deny lsopen)", "(deny appleevent-send)", "(deny job-creation)"]
    if not policy.network:
        rules.append("(deny network*)")
    if policy.unix_sockets:
        rules.append("(allow network* (local unix) (remote unix))")
    else:
        rules.append("(deny network* (remote unix))")
        # Names are looked up through a local socket of the system.
        rules.append('(allow network-outbound (literal "/private/var/run/mDNSResponder"))' if policy.network else "")
    return "\n".join(filter(None, rules))


def prefix(program: str, policy: Policy, hidden: Iterable[str], session: Path, private: Path) -> list[str]:
    """Return the arguments that run a command within a profile; see `profile`."""
    return [program, "-p", profile(policy, hidden, session, private)]


def _tree(path: str) -> str:
    return f"(subpath {_text(path)})"


def _text(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
