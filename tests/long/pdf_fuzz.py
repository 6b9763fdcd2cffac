"""Fuzzes write_pdf: every assigned Unicode scalar value, then random mixed strings; each character is drawn or listed.

    python tests/long/pdf_fuzz.py                         all of it; some twenty minutes
    python tests/long/pdf_fuzz.py --strings 1000 --no-all

A character counts as drawn when pdftotext (poppler-utils) gives it back. Exit status 1 when one was lost.
"""

import argparse
import collections
import io
import random
import subprocess
import sys
import time
import unicodedata

from bursar.pdf import Options, render

BATCH = 500


def assigned() -> list[str]:
    return [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs", "Co")]


def pools(characters: list[str]) -> list[list[str]]:
    emoji = [chr(i) for i in range(0x1F000, 0x1FB00)] + ["\u200d", "\ufe0f", "\u20e3"]
    return [
        characters,
        [c for c in characters if c < "\u0900"],
        [c for c in characters if c < "\u3000"],
        list("שלוםעربيةहिन्दीไทยabc 123 ,.()[]{}\"'"),
        emoji + [chr(i) for i in range(0x1F1E6, 0x1F200)] + [chr(i) for i in range(0x1F3FB, 0x1F400)],
        [chr(i) for i in range(0, 0x110000, 997)],
        [chr(i) for i in range(0xD800, 0xE000, 31)] + list("ab\0\x07\x1b\t\u202e\ufeff\ufffe"),
        list("*_`#|[]()!<>-+~^:\\\n 1.abc"),
    ]


def lost(source: str, emoji: str) -> dict[str, tuple[int, int, int]]:
    """Return the characters that are neither in the document nor in the report, with the three counts."""
    made = io.BytesIO()
    report = render(source, Options(plain=True, page_numbers=False, emoji=emoji), made)
    text = subprocess.run(["pdftotext", "-raw", "-", "-"], input=made.getvalue(), capture_output=True, check=True)
    drawn = collections.Counter(text.stdout.decode("utf-8", "replace"))
    listed: collections.Counter[str] = collections.Counter()
    for one in report.replaced:
        for character in one.text:
            listed[character] += one.count
    given = collections.Counter(c for c in source if not c.isspace())
    return {c: (n, drawn[c], listed[c]) for c, n in given.items() if drawn[c] + listed[c] < n}


def show(what: str, found: dict[str, tuple[int, int, int]], started: float) -> int:
    print(f"{what}: {len(found)} characters lost, {time.perf_counter() - started:.0f} s", flush=True)
    for character, counts in list(found.items())[:10]:
        print(f"  U+{ord(character):04X} {unicodedata.name(character, '')} given, drawn, listed: {counts}")
    return len(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strings", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-all", action="store_true", help="leave out the walk over all assigned characters")
    options = parser.parse_args()
    characters, chance, bad = assigned(), random.Random(options.seed), 0
    if not options.no_all:
        started = time.perf_counter()
        source = "\n".join(" ".join(characters[i : i + 40]) for i in range(0, len(characters), 40))
        bad += show(f"{len(characters):,} assigned characters", lost(source, "name"), started)
    choices = pools(characters)
    for first in range(0, options.strings, BATCH):
        started = time.perf_counter()
        strings: list[str] = []
        for _ in range(min(BATCH, options.strings - first)):
            mix = chance.choices(choices, k=chance.randint(1, 3))
            strings.append("".join(chance.choice(chance.choice(mix)) for _ in range(chance.randint(1, 40))))
        source = "\n".join(strings)
        bad += show(
            f"strings {first} to {first + len(strings)}", lost(source, chance.choice(["name", "drop", "box"])), started
        )
        render(source, Options(toc=True), io.BytesIO())
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
