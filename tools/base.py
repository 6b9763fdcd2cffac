"""What a tool is: its arguments, its work and its facts. How much of it the model sees is decided elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from ..artifacts import Artifact, Session, Writer
from ..budget.page import Page
from ..budget.previews.preview import Hint
from ..budget.reply import View
from ..guard.commands import Commands
from ..guard.net import Net
from ..guard.paths import Workspace
from ..guard.workers import Workers

Fact = str | int | float | bool | None | Sequence[str] | Mapping[str, str | int | float | None] | Artifact
"""A short typed value; the choke point cuts each text at 300 characters, and paths at 4,096, and names an artifact."""


class ToolArgs(BaseModel):
    """Arguments of a tool, checked strictly: an unknown name is an error.

    An optional argument counts as not given if it is null, an empty text or 0: some clients have their models fill in
    every argument.

    Attributes:
        zeros: optional arguments for which 0 says something of its own.
        empties: those for which an empty text does.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    zeros: ClassVar[frozenset[str]] = frozenset()
    empties: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _empty_means_default(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        arguments = cast("dict[str, Any]", given)
        return {name: value for name, value in arguments.items() if not cls._is_left_out(name, value)}

    @classmethod
    def _is_left_out(cls, name: str, value: object) -> bool:
        if name not in cls.model_fields or cls.model_fields[name].is_required():
            return False
        is_zero = isinstance(value, int | float) and not isinstance(value, bool) and value == 0
        is_empty = value == "" and name not in cls.empties
        return value is None or is_empty or (is_zero and name not in cls.zeros)


UNLISTED: dict[str, JsonValue] = {"unlisted": True}
"""Marks an argument that no schema spends a model's attention on."""


def as_text(schema: dict[str, Any]) -> None:
    """List an argument as a text, whatever else is understood: a choice costs its tokens in every turn."""
    for name in ("anyOf", "enum", "default"):
        schema.pop(name, None)
    schema["type"] = "string"


def unlisted(default: Any = None, **how: Any) -> Any:  # noqa: ANN401 - as pydantic's Field
    """Declare an optional argument that is understood, and that no schema spends a model's attention on.

    Args:
        default: its value when it is not given.
        how: what else pydantic's `Field` takes.
    """
    return Field(default, json_schema_extra=UNLISTED, **how)


class ShownArgs(ToolArgs):
    """Arguments of a tool that shows a content.

    Attributes:
        max_tokens: how long the reply may be, within what the client takes; 0 for the usual.
    """

    max_tokens: int = 0


class Progress(Protocol):
    """Tells the client how far a call has come; does nothing for a client that did not ask."""

    async def __call__(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report `done` of `total` (None when unknown), in whatever unit `message` names."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """What one call may use: its session, the gates to the machine, and a way to report progress.

    Attributes:
        tool: the name of the tool that is called.
        did: the one-line description of the action, for the records.
        workspace: the files that the caller may use.
        commands: starts programs.
        net: the way out to the network.
        workers: processes for parsing what nobody trusts.
        progress: tells the client how far the call has come.
        patience_s: seconds until the client may give up; a longer work answers before with a live artifact.
        room: tokens of its reply, if no others are in flight with it.
        shows_pictures: a picture beside the reply is a picture to the model, not the text of its base64.
        writers: every output opened so far; the choke point commits each of them, however the call ends.
    """

    tool: str
    did: str
    session: Session
    workspace: Workspace
    commands: Commands
    net: Net
    workers: Workers
    progress: Progress
    patience_s: float
    room: int
    shows_pictures: bool = True
    writers: list[Writer] = field(default_factory=list[Writer])

    def output(self, label: str, did: str = "") -> Writer:
        """Open an artifact to stream content into.

        Args:
            label: ends its file name, such as `terminal.log`.
            did: what made it, in one line, if that is not what the call is for.
        """
        writer = self.session.writer(tool=self.tool, did=did or self.did, label=label)
        self.writers.append(writer)
        return writer


@dataclass(frozen=True, slots=True)
class Picture:
    """A small image for the eye of the model, beside the reply."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of a work, good or bad.

    Attributes:
        facts: short values in the order in which they are shown.
        output: the content to preview; a writer is committed by the choke point.
        hint: what the tool knows of the content's kind.
        parts: outcomes of several items in one call; they share the budget and keep their places.
        picture: an image to show, when the caller asked for one.
        view: the tool's own way of showing the output within an allowance, in place of the preview by kind.
        afresh: show the output even if the session was shown it before, and do not count this as showing it.
    """

    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    output: Writer | Artifact | None = None
    hint: Hint = field(default_factory=Hint)
    parts: Sequence["Done"] = ()
    picture: Picture | None = None
    view: View | None = None
    afresh: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A page of an artifact that exists already, or of a list; never stored again.

    Attributes:
        page: what to show and how to go on.
        artifact: what the page is of; None for a list.
        facts: short values in the order in which they are shown.
        by_name: the caller named what is read, as the artifact or by its path, and can name it so again.
    """

    page: Page
    artifact: Artifact | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    by_name: bool = True


Outcome = Done | Reading

A = TypeVar("A", bound=ToolArgs)


class Tool(Generic[A]):
    """One tool; the docstring of a subclass is the description that the model reads.

    Attributes:
        name: as clients call it.
        Args: its arguments.
        read_only: it changes nothing but the session's own artifacts; clients may run it in parallel and unasked.
        destructive: it may delete or overwrite what was there before.
        open_world: it reaches beyond this machine.
        schema: of its arguments, where another server declares them.
        is_listed: clients are told of it; it can be called all the same if they are not.
    """

    name: ClassVar[str]
    read_only: ClassVar[bool] = False
    destructive: ClassVar[bool] = False
    open_world: ClassVar[bool] = False
    schema: ClassVar[Mapping[str, Any] | None] = None
    is_listed: ClassVar[bool] = True
    Args: type[A]

    def did(self, args: A) -> str:
        """Describe the action in one line built from the arguments, such as `$ npm test`."""
        raise NotImplementedError

    async def leave(self, session: Session) -> None:
        """End what goes on in a session beside its calls: it is about to be deleted."""

    async def run(self, args: A, call: Call) -> Outcome:
        """Do the work.

        Raises:
            BursarError: the call could not be done at all; an unwelcome outcome of the work is no error.
        """
        raise NotImplementedError
