"""The parser of all the command lines: what is wrong is told in the form of the tools' errors."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NoReturn

from ..errors import BursarError
from .config import Settings, default_of, parse


class Parser(argparse.ArgumentParser):
    """Raises bad_command_line where another parser would end the program."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and what to read.

        Raises:
            BursarError: bad_command_line.
        """
        raise BursarError("bad_command_line", message.rstrip("."), f"See `{self.prog} --help`")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Have a parser understand every setting of a server."""
    settings = parser.add_argument_group("settings", "each also an environment variable, such as BURSAR_DATA_DIR")
    for setting in fields(Settings):
        text = f"{setting.metadata['help']} (default: {default_of(setting.name)})".replace("%", "%%")
        bare = "true" if setting.type is bool else setting.metadata["bare"]
        switch: dict[str, Any] = {"nargs": "?", "const": bare} if bare else {}
        settings.add_argument(
            _option(setting.name),
            action="append",
            default=argparse.SUPPRESS,
            metavar=setting.metadata["metavar"] or None,
            help=text,
            **switch,
        )


def loaded(given: Mapping[str, Sequence[str]]) -> Settings:
    """Return the settings that a parsed command line gives, with those of the environment.

    Raises:
        BursarError: bad_setting.
    """
    return Settings.load({name: parse(name, texts, _option(name)) for name, texts in given.items()})


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
