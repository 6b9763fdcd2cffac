"""The parser of all the command lines: what is wrong is told in the form of the tools' errors."""

import argparse
from typing import NoReturn

from ..errors import BursarError


class Parser(argparse.ArgumentParser):
    """Raises bad_command_line where another parser would end the program."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and what to read.

        Raises:
            BursarError: bad_command_line.
        """
        raise BursarError("bad_command_line", message.rstrip("."), f"See `{self.prog} --help`")
