"""What is understood as Markdown: CommonMark with footnotes, definitions, formulas, and tables that lose no text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline


DEEPEST = 100
"""Levels of nesting; a list takes two, and the parser calls itself for each."""

JOINED = "rows that were joined"
"""Where the parser's environment counts the table rows that had too many cells."""

_PAGE_BREAK = re.compile(r"\\(?:pagebreak|newpage)|<!--\s*page-?\s?break\s*-->", re.IGNORECASE)
_FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$(?![\s$])((?:[^$\\]|\\.)*?)(?<!\s)\$(?![\w$])", re.DOTALL)
"""As pandoc has it, so that prices are none; nor is what stands right before a letter, as names of variables."""

_RULER = re.compile(r"[|:\-\s]*-[|:\-\s]*")
_MARK = re.compile(r":?-+:?")
_BAR = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


def parser() -> MarkdownIt:
    """Return a parser of blocks; running text is parsed when its block is drawn, to save memory."""
    made = MarkdownIt("commonmark", {"html": True, "maxNesting": DEEPEST}).enable("strikethrough")
    made.use(deflist_plugin)
    made.use(footnote_plugin)
    made.use(front_matter_plugin)
    made.disable(["inline", "text_join", "footnote_tail", "html_block"])
    interrupts = ["paragraph", "reference"]
    made.block.ruler.before("fence", "page_break", _page_break, {"alt": [*interrupts, "blockquote", "list"]})
    made.block.ruler.before("page_break", "own_table", _table, {"alt": interrupts})
    made.block.ruler.after("page_break", "comment", _comment, {"alt": interrupts})
    made.block.ruler.after("page_break", "equation", _equation, {"alt": interrupts})
    made.inline.ruler.after("escape", "formula", _formula)
    # Every link is parsed; which of them may be clicked is decided where they are drawn, and said in the report.
    made.validateLink = lambda url: True
    return made


def _page_break(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    line = _line(state, start)
    if line[:1] not in ("\\", "<") or state.is_code_block(start) or not _PAGE_BREAK.fullmatch(line):
        return False
    if not silent:
        state.push("page_break", "", 0)
        state.line = start + 1
    return True


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Leave out a comment, however many paragraphs it has."""
    return _enclosed(state, start, end, ("<!--", "-->"), "", is_silent=silent)


def _equation(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    return _enclosed(state, start, end, ("$$", "$$"), "equation", is_silent=silent)


def _enclosed(state: StateBlock, start: int, end: int, marks: tuple[str, str], kind: str, *, is_silent: bool) -> bool:
    """Parse lines of which the first begins with one mark, and the last ends with the other."""
    first = _line(state, start)
    if not first.startswith(marks[0]) or state.is_code_block(start):
        return False
    lines = [first.removeprefix(marks[0])]
    while not lines[-1].endswith(marks[1]):
        at = start + len(lines)
        if at >= end or state.sCount[at] < state.blkIndent:
            return False
        lines.append(_line(state, at))
    if not is_silent:
        if kind:
            state.push(kind, "", 0).content = "\n".join(lines).removesuffix(marks[1]).strip()
        state.line = start + len(lines)
    return True


def _formula(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "$" or state.src[state.pos - 1 : state.pos].isalnum():
        return False
    found = _FORMULA.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.markup = (found[1] or found[2]).strip(), found[0]
    state.pos = found.end()
    return True


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table of GitHub's kind into one token; the parser's own rule makes five for every cell."""
    # Nearly all lines are turned away here.
    if state.src.find("|", state.bMarks[start], state.eMarks[start]) < 0:
        return False
    if start + 2 > end or state.sCount[start + 1] < state.blkIndent or state.is_code_block(start + 1):
        return False
    ruler = _line(state, start + 1)
    marks, names = _cells(ruler), _cells(_line(state, start))
    is_ruler = _RULER.fullmatch(ruler) and len(marks) == len(names) and all(map(_MARK.fullmatch, marks))
    if not is_ruler or state.is_code_block(start):
        return False
    if silent:
        return True
    rows, line = [names], start + 2
    enders = state.md.block.ruler.getRules("blockquote")
    while line < end and state.sCount[line] >= state.blkIndent and not state.is_code_block(line):
        text = _line(state, line)
        # A line that begins with a bar begins nothing else.
        if not text or (text[0] != "|" and any(rule(state, line, end, True) for rule in enders)):
            break
        rows.append(_row(text, len(names), state))
        line += 1
    token = state.push("table", "table", 0)
    token.meta = {"rows": rows, "alignments": [_alignment(mark) for mark in marks]}
    state.line = line
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()


def _cells(line: str) -> list[str]:
    """Split a row at its bars; a bar after a backslash is text, also in code."""
    cells = _BAR.split(line) if "\\" in line else line.split("|")
    if not cells[0].strip():
        cells = cells[1:]
    if cells and not cells[-1].strip():
        cells = cells[:-1]
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _row(line: str, columns: int, state: StateBlock) -> list[str]:
    """Split a row of the body; no text is lost when it has more bars than the table has columns."""
    cells = _cells(line)
    if len(cells) > columns:
        cells = _cells(_CODE.sub(lambda code: _BAR.sub(r"\\|", code[0]), line))
    if len(cells) > columns:
        state.env[JOINED] = state.env.get(JOINED, 0) + 1
        cells[columns - 1 :] = [" | ".join(cells[columns - 1 :])]
    return cells


def _alignment(mark: str) -> str:
    if mark.endswith(":"):
        return "center" if mark.startswith(":") else "right"
    return "left" if mark.startswith(":") else ""
