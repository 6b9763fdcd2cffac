"""What the server itself does with a stranger's text takes time in proportion to its length, whatever it is made of.

Each work has 20 s of processor time, several times what it needs; were it quadratic it would need an hour.
"""

import random
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("there are no bounds of processor time on Windows", allow_module_level=True)

from bursar.budget import tokens
from bursar.budget.cut import Allowance
from bursar.budget.previews.preview import CaptureFacts, ContentView, Hint
from bursar.content.writeback import find_marker
from bursar.guard.net import robots
from cpu_bound import ends_within

CPU_S = 20
ROOM = Allowance(1300, 6500)
MANY = 200_000


class Held:
    """A content in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size = len(content)

    def read(self, offset: int, length: int) -> bytes:
        return self._content[offset : offset + length]


@pytest.fixture(scope="module", autouse=True)
def _vocabulary():
    tokens.warm()


@pytest.mark.parametrize(
    "line",
    [
        *("#" * MANY + "x", "# " + " " * MANY + "x", "# " + "![" * MANY, "# " + "\\[" * MANY),
        *("**" * MANY, "**[](" * 40 + "**", "x\n---\n" * MANY, "x\n\n" + "-" * MANY),
        *("# " + "[](" * MANY, "# " + "](](a)" * (MANY // 5), "# " + "**`" * MANY, "# a\n" * MANY),
    ],
    ids=lambda line: line[:8],
)
def test_a_page_is_outlined(line):
    page = f"# Title\n\ntext\n\n{line}\n\nmore text\n"
    view = ContentView(Held(page.encode()), CaptureFacts(), Hint("page.md", "markdown"))
    assert ends_within(CPU_S, lambda: view.part(ROOM))


@pytest.mark.parametrize(
    "text",
    [
        b"\\" * (8 * MANY) + b" omitted",
        b'"omitted' + b"\\" * (8 * MANY),
        b'"omitted":' * MANY,
        b" not shown; read_artifact(artifact=" * (MANY // 4),
        b"omitted\n" * MANY,
        b"> " * MANY + b"... [truncated]",
        b"x" * MANY + b"... [truncated" * (MANY // 4),
        b"... [" + b"1,\xc2\xa0" * MANY,
        ("…1" * MANY).encode(),
        bytes(random.Random(1).choices(b"words. \n", [9, 9, 9, 9, 9, 9, 9, 0.1], k=3 * MANY)) * 15,
        b"... [truncated]\n" * (4 * MANY),
        b"x\r" * (8 * MANY) + b"... [truncated]",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_text_is_searched_for_truncation_notices(text):
    assert ends_within(CPU_S, lambda: find_marker(text))


def test_a_robots_txt_is_judged():
    part = "a" * 45 + "b" + "a" * 44
    rules = robots.parse(b"User-agent: *\n" + f"Disallow: /*{part}\n".encode() * 5000)
    assert ends_within(CPU_S, lambda: [rules.allow("/" + "a" * 8000) for _ in range(50)])


def test_the_rules_that_a_site_really_writes_are_all_judged():
    rules = robots.parse(b"User-agent: *\n" + b"".join(b"Disallow: /*?sort%d=\n" % number for number in range(900)))
    assert not rules.allow("/shop?sort0=1" + "&filter=abcdefgh" * 100)
    assert rules.allow("/shop?order=1" + "&filter=abcdefgh" * 100)
    assert rules.steps("/shop?sort0=1") <= robots.QUICK_STEPS


@pytest.mark.parametrize(
    "document",
    [
        b'["' + b'\\"' * (9 << 20),
        b"[" * (512 << 10) + b"," * (16 << 20),
    ],
    ids=lambda document: repr(document[:8]),
)
def test_the_beginning_of_a_huge_json_is_read(document):
    known = CaptureFacts(lines=1)
    assert ends_within(CPU_S, lambda: ContentView(Held(document), known, Hint("big.json")).part(ROOM))
