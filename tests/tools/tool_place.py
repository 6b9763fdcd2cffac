"""A workspace, a store and calls of tools in it, for the tests of tools."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from bursar.artifacts import Artifact, Limits, Session, Store, Writer
from bursar.guard.paths import Workspace
from bursar.tools.base import Done, Outcome, Tool
from harness import call_of


@dataclass
class Place:
    """Calls tools as the choke point does."""

    base: Path
    reports: list[tuple[float, float | None, str]] = field(default_factory=list)
    patience_s: float = 30

    def __post_init__(self) -> None:
        self.root = self.base / "work"
        self.root.mkdir()
        self.store = Store(self.base / "store", Limits())
        self.session = self.store.create("local:1")

    def write(self, name: str, content: bytes | str = b"") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def call(self, tool: Tool[Any], session: Session | None = None, **arguments: object) -> Outcome:
        return anyio.run(self.calling, tool, session or self.session, arguments)

    def done(self, tool: Tool[Any], **arguments: object) -> tuple[Done, Artifact]:
        outcome = self.call(tool, **arguments)
        assert isinstance(outcome, Done)
        output = outcome.output
        artifact = output.commit() if isinstance(output, Writer) else output
        assert artifact is not None
        return outcome, artifact

    async def calling(self, tool: Tool[Any], session: Session, arguments: dict[str, object]) -> Outcome:
        args = tool.Args(**arguments)
        workspace = Workspace([self.root], closed=[self.store.root]).opening(session.directory)
        given = {"workspace": workspace, "progress": self._report, "patience_s": self.patience_s}
        call = call_of(tool, args, session, **given)
        return await tool.run(args, call)

    async def _report(self, done: float, total: float | None = None, message: str = "") -> None:
        self.reports.append((done, total, message))
