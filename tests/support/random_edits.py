"""Random edits of random files through the tool, beside a reference that works on a list of characters, one by one."""

import random
from itertools import pairwise

from bursar.errors import BursarError

ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "cp1252", "shift_jis")
MARKS = {"utf-8-sig": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
DECLARED = {"cp1252": "# -*- coding: cp1252 -*-", "shift_jis": "# -*- coding: shift_jis -*-"}
WORDS = "def f(x): return x + 1 ; # if else for while print list tail head a aa aaa".split()
OTHERS = {
    "cp1252": "café naïve Größe ½ €".split(),
    "shift_jis": "日本語 編集 テスト".split(),
    "": "café 中文字符 編集 日本語 😀👩‍🚀 e\u0301 ﬁn مرحبا \u200b".split(),
}


class RefusedError(Exception):
    """The edits cannot be made; the argument is the code of the error."""


def units(text):
    """Return the characters of a text, of which CR LF is one."""
    found, at = [], 0
    while at < len(text):
        step = 2 if text[at : at + 2] == "\r\n" else 1
        found.append(text[at : at + step])
        at += step
    return found


def end_of_line(characters, start):
    """Return how the line ends in which a place is; of one without an end, how the one before does."""
    for character in characters[start:]:
        if character in {"\n", "\r\n"}:
            return character
    for character in reversed(characters[:start]):
        if character in {"\n", "\r\n"}:
            return character
    return "\n"


def plainly(text, edits):
    """Make all edits, or raise what is wrong with the first that cannot be made."""
    characters = units(text)
    has_crlf = "\r\n" in characters
    spans = []
    for old, new, everywhere in edits:
        part = units(old.replace("\r\n", "\n") if has_crlf else old)
        shown = ["\n" if has_crlf and one == "\r\n" else one for one in characters]
        places, at = [], 0
        while at + len(part) <= len(shown):
            is_here = shown[at : at + len(part)] == part
            if is_here:
                places.append(at)
            at += len(part) if is_here and everywhere else 1
        if not places:
            raise RefusedError("no_match")
        if len(places) > 1 and not everywhere:
            raise RefusedError("ambiguous")
        for place in places:
            ends = end_of_line(characters, place) if has_crlf else ""
            fitting = new.replace("\r\n", "\n").replace("\n", ends) if has_crlf else new
            spans.append((place, place + len(part), fitting))
    spans.sort()
    for (_, end, _), (start, _, _) in pairwise(spans):
        if start < end:
            raise RefusedError("overlapping")
    if all("".join(characters[start:end]) == new for start, end, new in spans):
        raise RefusedError("nothing_to_change")
    for start, end, new in reversed(spans):
        characters[start:end] = [new]
    return "".join(characters)


class Trial:
    """One file and the edits of it."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.encoding = self.chance.choice(ENCODINGS)
        self.codec = "utf-8" if self.encoding == "utf-8-sig" else self.encoding
        self.ends = self.chance.choice((("\n",), ("\n",), ("\r\n",), ("\n", "\r\n")))
        self.text = self._file()
        self.earlier = self._file()
        self.edits = [self._edit() for _ in range(self.chance.choice((1, 1, 1, 2, 3)))]

    @property
    def data(self):
        return MARKS.get(self.encoding, b"") + self.text.encode(self.codec)

    def _words(self, count):
        pool = WORDS + OTHERS.get(self.encoding, OTHERS[""])
        return " ".join(self.chance.choice(pool) for _ in range(count))

    def _file(self):
        lines = [DECLARED[self.encoding]] if self.encoding in DECLARED else []
        lines += [
            "    " * self.chance.randrange(3) + self._words(self.chance.randrange(1, 7))
            for _ in range(self.chance.randrange(1, 25))
        ]
        text = "".join(line + self.chance.choice(self.ends) for line in lines)
        return text if self.chance.random() < 0.7 else text.rstrip("\r\n")

    def _edit(self):
        source = self.text if self.chance.random() < 0.9 else self.earlier
        start = self.chance.randrange(len(source))
        old = source[start : start + self.chance.choice((1, 3, 8, 20, 60, 200))]
        if self.chance.random() < 0.8:
            old = old.replace("\r\n", "\n")
        if old.startswith("\n") or old.endswith("\r"):  # half of a line end is nobody's text
            old = old.strip("\r\n")
        old = old or "x + 1"
        new = self.chance.choice(
            (
                old,
                "",
                self._words(3),
                f"{self._words(2)}\n{self._words(1)}\n",
                old + self._words(1),
                old[::-1].replace("\r", ""),
            )
        )
        if self.chance.random() < 0.05 and self.encoding in DECLARED:
            new += "😀"
        return old, new, self.chance.random() < 0.3

    def expected(self):
        """Return the bytes afterwards, or the code of the error."""
        try:
            if any(not self._fits(new) for _, new, _ in self.edits):
                return "unencodable"
            return MARKS.get(self.encoding, b"") + plainly(self.text, self.edits).encode(self.codec)
        except RefusedError as error:
            return error.args[0]

    def _fits(self, new):
        try:
            new.encode(self.codec)
        except UnicodeEncodeError:
            return False
        return True


def tried(place, tool, seed):
    """Make the edits of a trial by the tool; return what is wrong with what came of it, or nothing, and the outcome."""
    trial = Trial(seed)
    path = place.write("f.txt", trial.data)
    wanted = trial.expected()
    edits = [{"old": old, "new": new, "all": everywhere} for old, new, everywhere in trial.edits]
    try:
        place.call(tool, path="f.txt", edits=edits)
        found = path.read_bytes()
    except BursarError as error:
        found = error.code
        if path.read_bytes() != trial.data:
            return f"seed {seed}: the file changed though it was refused as {found}", found
    is_right = found == wanted or (isinstance(wanted, str) and isinstance(found, str) and len(edits) > 1)
    return ("" if is_right else f"seed {seed}: {found!r} is not {wanted!r}"), found if isinstance(
        found, str
    ) else "edited"
