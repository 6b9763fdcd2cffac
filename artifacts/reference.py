"""How an artifact is named: `a7` or `a7-terminal.log` in its session, elsewhere behind its handle; or an address."""

import re
from dataclasses import dataclass

from . import records

SCHEME = "artifact://"
"""What the address of an artifact begins with."""

HANDLE_PREFIX = "ses_"
HANDLE_CHARACTERS = 22
"""Of 62 each: 131 bits."""

HANDLE = re.compile(rf"{HANDLE_PREFIX}[0-9A-Za-z]{{{HANDLE_CHARACTERS}}}", re.ASCII)
_NAME = f"({records.ID.pattern})({records.LABEL.pattern})?"
_REFERENCE = re.compile(f"(?:{SCHEME})?(?:({HANDLE.pattern})/)?{_NAME}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reference:
    """The name of an artifact, whether there is one or not.

    Attributes:
        handle: of its session; empty for the session that it is used in.
        id: such as `a7`.
        label: how the name of its content file goes on, such as `-terminal.log`; empty if only the id is given.
    """

    handle: str
    id: str
    label: str = ""

    @classmethod
    def parse(cls, text: str) -> "Reference | None":
        """Understand `a7` or `a7-terminal.log`, also after a handle or `artifact://`; None for else, such as a path.

        Nothing is decoded: no other spelling is a reference.
        """
        found = _REFERENCE.fullmatch(text.strip())
        return None if found is None else cls(found[1] or "", found[2], found[3] or "")

    def __str__(self) -> str:
        """Write it as replies do."""
        return f"{self.handle}/{self.id}{self.label}" if self.handle else f"{self.id}{self.label}"

    @property
    def uri(self) -> str:
        """The address of the artifact as a resource."""
        return SCHEME + str(self)
