"""Whether what previews of real logs claim is true: counts, the first of each shape and how many there are, both ends.

python bench/claims.py [--files 200] [--show]

The reference reads each file line by line with Python's own `re` and nothing of bursar but the list of forms. The files
are those of `bench/corpus.py` and `bench/failures.py` that are too long to be shown whole, and the same grown.
"""

import argparse
import re
import statistics
import sys
import tempfile
from collections import Counter
from itertools import cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import corpus
import logs
from bursar.budget import forms
from bursar.budget.reply import Reply
from wire import server

SMALL_BYTES = 8 << 10
GROWN_BYTES = (40_000, 300_000, 1_500_000, 6_000_000, 30_000_000)

_COLOURS = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]?[0-~]?)")
_JUDGES = [
    (kind, re.compile(f"{forms._PREFIX}(?:{form})".encode()))  # noqa: SLF001 - the list of forms is what is promised
    for kind, every in forms._FORMS.items()  # noqa: SLF001
    for form in every
]
_PLACED = re.compile(
    f"{forms._PREFIX} *(?:E +)?(?:{forms._PLACE}[:(]\\d+(?:[:,]\\d+)?\\)?:?|{forms._STAMP})?".encode()  # noqa: SLF001
)
_LABEL = re.compile(r"(?s)(\d+): (.*?)(?: \(×([\d,]+)\))?")
_COUNT = re.compile(r"(about )?([\d,]+) (error|warning)s?(?: \(± ([\d,]+)\))?")


class Truth:
    """What a file says of failures, found line by line."""

    def __init__(self, content: bytes) -> None:
        self.lines = [_left(line) for line in content.removesuffix(b"\n").split(b"\n")]
        self.counts, self.alike = Counter[str](), Counter[tuple[str, bytes]]()
        self.first: dict[tuple[str, bytes], int] = {}
        self.keys: dict[int, tuple[str, bytes]] = {}
        for number, line in enumerate(self.lines, 1):
            if (found := _judged(line)) is None or found[0] in (forms.TEST, forms.NUMBERED):
                continue
            kind, name = found
            self.counts[kind] += 1
            key = self.keys[number] = kind, name or _shape(line)
            self.alike[key] += 1
            self.first.setdefault(key, number)

    @property
    def totals(self) -> dict[str, int]:
        counts = self.counts
        return {"error": counts[forms.CAUSE] or counts[forms.LEVEL], "warning": counts[forms.WARNING]}


def _left(line: bytes) -> bytes:
    """Return a line without colours, as it was last written."""
    return _COLOURS.sub(b"", line).rstrip(b"\r").rpartition(b"\r")[2]


def _judged(line: bytes) -> tuple[str, bytes] | None:
    line = line[: forms.LINE_BYTES]
    for kind, form in _JUDGES:
        if (match := form.match(line)) is not None:
            return kind, next(filter(None, match.groups()), b"")
    return None


def _shape(line: bytes) -> bytes:
    line = line[: forms.LINE_BYTES]
    match = _PLACED.match(line)
    return re.sub(rb"[0-9a-f]", b"", line[match.end() if match else 0 :].lower())


def _plain(line: bytes | str) -> str:
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    return re.sub(r"\W+", "", text, flags=re.ASCII)


class Claims:
    """What is untrue in a reply, and how far its estimates are off."""

    def __init__(self, reply: dict, truth: Truth) -> None:
        self.reply, self.truth = reply, truth
        self.preview = reply["preview"] if isinstance(reply.get("preview"), dict) else {}
        self.checked = 0
        self.untrue: list[str] = []
        self.errors: list[tuple[float, bool]] = []
        self._is("lines", reply["size"]["lines"], len(truth.lines))
        self.is_partial = " of start and end" in self.preview.get("notable_total", "")
        for label in self.preview.get("notable", []):
            self._labelled(label)
        if total := self.preview.get("notable_total"):
            self._total(total)
        self._ends()

    def _is(self, what: str, claimed: object, true: object) -> None:
        self.checked += 1
        if claimed != true:
            self.untrue.append(f"{what}: {claimed!r} claimed, {true!r} is true")

    def _labelled(self, label: str) -> None:
        number, text, alike = _LABEL.fullmatch(label).groups()
        number, said = int(number), text.split("\n")[0].removesuffix("…")
        self._is(f"line {number}", _plain(said), _plain(self.truth.lines[number - 1])[: len(_plain(said))])
        key = self.truth.keys.get(number)
        if key is None:
            self._is(f"line {number}", "tells of a failure", "does not")
            return
        if not self.is_partial:
            self._is(f"first of {key}", number, self.truth.first[key])
        if alike and not self.is_partial:
            self._is(f"alike line {number}", int(alike.replace(",", "")), self.truth.alike[key])

    def _total(self, total: str) -> None:
        for about, count, noun, margin in _COUNT.findall(total):
            claimed, true = int(count.replace(",", "")), self.truth.totals[noun]
            if not about:
                if self.is_partial:
                    self._is(f"{noun}s at least", claimed <= true, True)
                else:
                    self._is(f"{noun}s", claimed, true)
            else:
                self.checked += 1
                self.errors.append(
                    (abs(claimed - true) / max(1, true), abs(claimed - true) <= int(margin.replace(",", "")))
                )

    def _ends(self) -> None:
        head, tail = self.preview.get("head"), self.preview.get("tail")
        if isinstance(head, str) and head and "\n" in head:
            self._is("first line", _plain(head.split("\n")[0])[:60], _plain(self.truth.lines[0])[:60])
        if isinstance(tail, str) and "\n" in tail.strip():
            last = next(line for line in reversed(self.truth.lines) if line.strip())
            self._is("last line", _plain(tail.strip().split("\n")[-1])[:60], _plain(last)[:60])


def files(place: Path, folder: Path, most: int) -> list[Path]:
    """Return logs and texts too long to be shown whole: as they are, then grown."""
    found = [
        path
        for where in (place / "failures" / "logs", place / "work" / "output", place / "work" / "logs", Path("/var/log"))
        for path in sorted(where.rglob("*"))
        if path.is_file() and path.stat().st_size > SMALL_BYTES and b"\0" not in path.read_bytes()[:4096]
    ]
    texts = sorted((place / "work").glob("django-*/docs/**/*.txt"), key=lambda path: -path.stat().st_size)
    found += texts[: most // 5]
    for number, (kind, size) in enumerate(zip(cycle(logs.KINDS), (s for s in cycle(GROWN_BYTES) for _ in logs.KINDS))):
        if len(found) >= most:
            return found[:most]
        target = folder / f"grown-{number:03}.log"
        if logs.make(kind, size + number * 997, target, place, seed=number):
            found.append(target)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", nargs="?", type=Path, default=corpus.DEFAULT)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--show", action="store_true", help="each file")
    asked = parser.parse_args()
    claims, partly, untrue, errors = 0, 0, 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").mkdir()
        every = files(asked.place, folder, asked.files)
        with server("--root", str(folder), "--data-dir", str(folder / "data"), "--patience-s", "600") as client:
            for path in every:
                (folder / "now.log").write_bytes(path.read_bytes())
                text, is_error, _ = client.call("terminal", command="cat now.log", cwd=str(folder))
                assert not is_error, text
                reply = dict(Reply.parse(text).value)
                if "size" not in reply:  # shown whole
                    continue
                seen = Claims(reply, Truth(path.read_bytes()))
                claims += seen.checked
                errors += seen.errors
                partly += bool(seen.errors)
                untrue += len(seen.untrue)
                if asked.show or seen.untrue:
                    print(
                        f"{path.name:32} {path.stat().st_size:12,} bytes {seen.checked:3} claims",
                        *seen.untrue,
                        sep="\n  ",
                    )
    print(f"{len(every)} files, {claims:,} claims, {untrue} untrue; {len(errors)} estimates in {partly} files", end="")
    if errors:
        within = sum(is_within for _, is_within in errors)
        off = statistics.median(error for error, _ in errors)
        print(f": {within} within their margin, median {off:.1%} off, most {max(errors)[0]:.1%}", end="")
    print()


if __name__ == "__main__":
    main()
