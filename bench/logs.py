"""Real logs and build outputs grown to any size: runs of their lines in any order, each run with other digits.

Made of what `bench/corpus.py` and `bench/failures.py` have fetched and printed; what cannot be made is left out.
"""

import os
import random
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import corpus

_RUN_LINES = 40
_DIGITS = b"0123456789"


def application(place: Path) -> list[bytes]:
    """Return lines of an application in the words of Django's documentation, a third of them WARN or ERROR."""
    chance = random.Random(1)
    words = [
        word
        for file in sorted((place / "work").glob("django-*/docs/**/*.txt"))
        for word in file.read_text(errors="replace").split()
        if word.isalpha()
    ]
    lines: list[str] = []
    for number in range(60_000 if words else 0):
        level = chance.choices(("INFO", "WARN", "ERROR"), (66, 17, 17))[0]
        clock = f"2026-07-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.{number % 997:03d}Z"
        name = f"[worker-{number % 64}] {chance.choice(words).lower()}.{chance.choice(words).lower()}"
        lines.append(f"{clock} {level} {name}: {' '.join(chance.choices(words, k=chance.randint(3, 12)))}\n")
    return [line.encode() for line in lines]


def services(place: Path) -> list[bytes]:
    """Return what 90 services log, as the tests of fail2ban have it."""
    return _lines(sorted((place / "work" / "logs").rglob("*")))


def builds(place: Path) -> list[bytes]:
    """Return what compilers, package managers, linkers and checkers print."""
    return _lines(sorted((place / "failures" / "logs").glob("*.log")), without="pytest")


def tests(place: Path) -> list[bytes]:
    """Return what pytest prints of failing tests."""
    return _lines(
        [*sorted((place / "failures" / "logs").glob("pytest*.log")), place / "work" / "output" / "pytest.log"]
    )


def checker(place: Path) -> list[bytes]:
    """Return what ruff says of Django, in colour: 156 MB, two fifths of it colours."""
    target = place / "ruff-colour.log"
    source = next((place / "work").glob("django-*"), None)
    if not target.exists() and source is not None:
        command = ["ruff", "check", "--isolated", "--no-cache", "--select", "ALL", "--output-format", "full", source]
        with target.open("wb") as out:
            subprocess.run(command, stdout=out, env=os.environ | {"FORCE_COLOR": "1"}, check=False)
    return _lines([target])


KINDS: dict[str, Callable[[Path], list[bytes]]] = {
    "application log, 1/3 WARN or ERROR": application,
    "logs of 90 services": services,
    "build output": builds,
    "test output": tests,
    "checker's output, in colour": checker,
}


@cache
def _every_line(kind: str, place: Path) -> list[bytes]:
    return KINDS[kind](place)


def _lines(files: list[Path], without: str = "///") -> list[bytes]:
    contents = (file.read_bytes() for file in files if file.is_file() and without not in file.name)
    return [line + b"\n" for content in contents for line in content.split(b"\n")]


def grown(lines: list[bytes], size: int, seed: int) -> Iterator[bytes]:
    """Yield runs of lines, `size` bytes in all; digits are exchanged but for those of colours."""
    chance = random.Random(seed)
    is_coloured = any(b"\x1b[" in line for line in lines[:1000])
    while size > 0:
        start = chance.randrange(max(1, len(lines) - _RUN_LINES))
        run = b"".join(lines[start : start + _RUN_LINES])[:size]
        if not is_coloured:
            run = run.translate(bytes.maketrans(_DIGITS, bytes(chance.sample(_DIGITS, 10))))
        size -= len(run)
        yield run


def make(kind: str, size: int, target: Path, place: Path = corpus.DEFAULT, seed: int = 2) -> bool:
    """Write a log of a kind; tell whether there is anything to make it of."""
    lines = _every_line(kind, place)
    with target.open("wb") as out:
        out.writelines(grown(lines, size if lines else 0, seed))
    return bool(lines)
