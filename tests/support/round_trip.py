"""How much of a text comes back out of its PDF through `pdftotext`."""

import difflib
import io
import re
import subprocess
from pathlib import Path

from bursar.pdf import Options, render

SAMPLES = Path(__file__).parents[1] / "pdf" / "samples"
_DIRECTIONS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202b\u202c\u202d\u202e"))
WITHOUT_SPACES = ("chinese", "japanese", "korean", "thai")
"""Scripts whose lines break where there is no space, so that a space may come back that was not there."""


def extracted(pdf: bytes) -> str:
    """Return the text of a PDF in reading order, without the marks of direction that the extractor adds."""
    done = subprocess.run(["pdftotext", "-", "-"], input=pdf, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").translate(_DIRECTIONS)


def expected(source: str) -> str:
    """Return what a sample says, without its few kinds of markup."""
    lines: list[str] = []
    for line in source.split("\n"):
        if re.fullmatch(r"\|[-:| ]+\|", line) or line.startswith("```"):
            continue
        text = re.sub(r"^#+ |^- ", "", line)
        lines.append(text.replace("|", " ") if text.startswith("|") else text)
    return "\n".join(lines)


def recovered(name: str) -> float:
    """Return the share of a sample's characters that come back in their order, in per cent."""
    source = (SAMPLES / f"{name}.md").read_text(encoding="utf-8")
    made = io.BytesIO()
    render(source, Options(page_numbers=False), made)
    space = "" if name in WITHOUT_SPACES else " "
    wanted, got = (
        re.sub(r"\s+", space, text.replace("•", "")).strip() for text in (expected(source), extracted(made.getvalue()))
    )
    same = sum(block.size for block in difflib.SequenceMatcher(None, wanted, got, autojunk=False).get_matching_blocks())
    return 100 * same / max(len(wanted), len(got))
