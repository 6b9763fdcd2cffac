"""How a model reads again what a request leaves out: the call of a tool that this very request offers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from .. import graphemes
from .wire import Wire, dumps, get

_ARTIFACTS = "read_artifact"
_ARTIFACT_MAKERS = frozenset(
    "web_fetch read_file terminal directory_tree download_image write_pdf edit_file call_tool call_read_tool".split()
)
"""Tools of the same server where clients put nothing before their names."""

_FILE_TOOLS = {"read_file", "read", "view_file", "view", "open_file", "open", "cat"}
_SHELL_TOOLS = {"bash", "terminal", "shell", "run_shell_command", "execute_command", "run_command", "execute"}
_PATH_ARGUMENTS = ("path", "file_path", "filename", "file", "target_file")
_COMMAND_ARGUMENTS = ("command", "cmd", "script", "input")


@dataclass(frozen=True)
class Reader:
    """What a request offers to read with.

    Attributes:
        artifacts: the tool that reads artifacts by name; empty if there is none.
        files: a tool that reads files, and its argument for the path.
        shell: a tool that runs commands, and its argument for the command.
        tools: the names of all.
    """

    artifacts: str = ""
    files: tuple[str, str] | None = None
    shell: tuple[str, str] | None = None
    tools: frozenset[str] = frozenset()

    def call(self, reference: str) -> str:
        """Write the call that reads what is stored under a reference, a name or an absolute path; empty if none can."""
        if reference and self.artifacts:
            return f"{self.artifacts}(artifact={dumps(reference)}, grep=…)"
        if reference.startswith("/") and self.files:
            return f"{self.files[0]}({self.files[1]}={dumps(reference)})"
        if reference.startswith("/") and self.shell:
            return f"{self.shell[0]}({self.shell[1]}={dumps(f'grep -n … {reference}')})"
        return ""

    def is_own(self, name: str) -> bool:
        """Tell whether a tool is of the server that has the artifacts, so that its replies name them."""
        prefix, found, _ = self.artifacts.rpartition(_ARTIFACTS)
        return bool(found) and (name.startswith(prefix) if prefix else name in _ARTIFACT_MAKERS)

    def again(self, name: str, arguments: str) -> str:
        """Write the call that returned something; empty if its tool is no longer offered."""
        return f"run again: {name}({arguments})" if name in self.tools else ""


def reader(tools: Sequence[Wire]) -> Reader:
    """Find what a request's tools can read with."""
    fields = {_name(tool): _arguments(tool) for tool in tools}
    artifacts = next((name for name in fields if name.endswith(_ARTIFACTS)), "")
    return Reader(
        artifacts, _taking(fields, _FILE_TOOLS, _PATH_ARGUMENTS), _taking(fields, _SHELL_TOOLS, _COMMAND_ARGUMENTS),
        frozenset(fields),
    )  # fmt: skip


def _taking(fields: Mapping[str, Sequence[str]], names: set[str], arguments: Sequence[str]) -> tuple[str, str] | None:
    for name, given in fields.items():
        if name.rpartition("__")[2].lower() in names:
            return name, next((argument for argument in arguments if argument in given), arguments[0])
    return None


def _name(tool: Wire) -> str:
    return str(get(get(tool, "function") or tool, "name") or get(tool, "type"))


def _arguments(tool: Wire) -> Sequence[str]:
    held = get(tool, "function") or tool
    for key in ("parameters", "input_schema", "parameters_json_schema"):
        if properties := get(get(held, key), "properties"):
            return list(cast("Mapping[str, Any]", properties))
    return ()


def shortened(text: str, limit: int) -> str:
    """Return the start of a text on one line, with `…` where it was cut."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit and len(text) <= 4 * limit else line[: graphemes.floor(line, limit - 1)] + "…"
