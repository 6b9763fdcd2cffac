"""How an artifact is named: `a7` within its session, `<handle>/a7` everywhere, and either as an address."""

import re
from dataclasses import dataclass

from . import records

SCHEME = "artifact://"
"""What the address of an artifact begins with."""

HANDLE_PREFIX = "ses_"
HANDLE_CHARACTERS = 22
"""Of 62 each: 131 bits."""

HANDLE = re.compile(rf"{HANDLE_PREFIX}[0-9A-Za-z]{{{HANDLE_CHARACTERS}}}", re.ASCII)
_REFERENCE = re.compile(rf"(?:{SCHEME})?(?:({HANDLE.pattern})/)?({records.ID.pattern})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reference:
    """The name of an artifact, whether there is one or not.

    Attributes:
        handle: of its session; empty for the session that it is used in.
        id: such as `a7`.
    """

    handle: str
    id: str

    @classmethod
    def parse(cls, text: str) -> "Reference | None":
        """Understand `a7` or `<handle>/a7`, either after `artifact://`; None for anything else, such as a path.

        Nothing is decoded: no other spelling is a reference.
        """
        found = _REFERENCE.fullmatch(text.strip())
        return None if found is None else cls(found[1] or "", found[2])

    def __str__(self) -> str:
        """Write it as replies do."""
        return f"{self.handle}/{self.id}" if self.handle else self.id

    @property
    def uri(self) -> str:
        """The address of the artifact as a resource."""
        return SCHEME + str(self)
