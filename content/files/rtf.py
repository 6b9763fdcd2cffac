"""Rich Text Format: the text without its looks."""

import codecs
import re
from dataclasses import dataclass, field, replace

from .text import Text, prose

_TOKEN = re.compile(rb"\\([a-zA-Z]{1,32})(-?[0-9]{1,10})? ?|\\'([0-9a-fA-F]{2})|\\(.)|([{}])|([^\\{}]+)", re.DOTALL)
_ASIDE = set(
    b"fonttbl colortbl stylesheet info pict object header footer headerl headerr footerl footerr generator listtable "
    b"listoverridetable rsidtbl themedata datastore latentstyles xmlnstbl mmathPr fldinst wgrffmtfilter".split()
)
_SIGNS = {
    b"par": "\n\n", b"line": "\n", b"tab": "\t", b"cell": "\t", b"row": "\n", b"sect": "\n\n", b"page": "\n\n",
    b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”",
    b"bullet": "•", b"emspace": " ", b"enspace": " ",
}  # fmt: skip
_CHARACTERS = {b"~": "\u00a0", b"_": "-", b"\n": "\n\n", b"\r": "\n\n", b"{": "{", b"}": "}", b"\\": "\\"}


@dataclass(slots=True)
class _State:
    """What holds in a group: its text is none of the document's, and how many bytes stand in for a character."""

    is_aside: bool = False
    skips: int = 1


@dataclass(slots=True)
class _Reader:
    codec: str = "cp1252"
    state: _State = field(default_factory=_State)
    stack: list[_State] = field(default_factory=list[_State])
    pieces: list[str] = field(default_factory=list[str])
    pending: bytearray = field(default_factory=bytearray)
    skipped: int = 0

    def text(self, data: bytes) -> str:
        for found in _TOKEN.finditer(data):
            word, number, code, sign, brace, plain = found.groups()
            if code:
                self._byte(bytes.fromhex(code.decode()))
            elif plain is not None:
                self._byte(plain.replace(b"\r", b"").replace(b"\n", b""))
            elif brace == b"{":
                self.stack.append(self.state)
                self.state = replace(self.state)
            elif brace == b"}":
                self.state = self.stack.pop() if self.stack else _State()
            elif word:
                self._word(word, int(number) if number else None)
            elif sign == b"*":
                self.state.is_aside = True
            elif sign in _CHARACTERS:
                self._put(_CHARACTERS[sign])
        self._put("")
        # Characters beyond 16 bits come in halves.
        return "".join(self.pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _word(self, word: bytes, number: int | None) -> None:
        if word in _ASIDE:
            self.state.is_aside = True
        elif word == b"u" and number is not None:
            self._put(chr(number % 0x10000))
            self.skipped = self.state.skips
        elif word == b"uc" and number is not None:
            self.state.skips = max(0, number)
        elif word == b"ansicpg" and number is not None:
            try:
                self.codec = codecs.lookup(f"cp{number}").name
            except LookupError:
                self.codec = "cp1252"
        elif word in _SIGNS:
            self._put(_SIGNS[word])

    def _byte(self, data: bytes) -> None:
        """Take bytes of the document's code page, less those that stand in for a character that was understood."""
        skipped = min(self.skipped, len(data))
        self.skipped -= skipped
        if not self.state.is_aside:
            self.pending += data[skipped:]

    def _put(self, text: str) -> None:
        if self.pending:
            self.pieces.append(self.pending.decode(self.codec, "replace"))
            self.pending.clear()
        if not self.state.is_aside:
            self.pieces.append(text)


def read(data: bytes) -> Text:
    """Read a document."""
    return Text([prose(_Reader().text(data))])
