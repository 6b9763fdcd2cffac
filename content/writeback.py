"""The write-back guard: text that was cut for a model's eyes must not become a file."""

import re
from typing import NamedTuple

from ..budget.pattern import BytesMatch, BytesPattern, compile_bytes
from ..errors import BursarError


class Marker(NamedTuple):
    """A truncation notice in a text.

    Attributes:
        line: number of the line it is in, from 1.
        what: the notice, at most 80 characters, and whose it is.
    """

    line: int
    what: str


_NOTICES: tuple[tuple[str, str], ...] = (
    # Our own replies, also inside another string: the field `incomplete`, and the field `omitted` of a preview. They
    # name a real artifact and stand in compact JSON, which examples in documents and sources do not.
    ("bursar", r'(?:not shown|follow|fits|cut off); read_artifact\(artifact=\\*"(?:ses_\w{16,}/)?a\d+\\*"'),
    ("bursar", r'\\*"incomplete\\*":\\*"[^"\n]{1,120} not shown\\*"'),
    ("bursar", r'"omitted\\*":\\*"(?:(?:lines|bytes) \d+-\d+|\d+ items; read_artifact\(\))'),
    ("bursar", r'^"omitted": "(?:lines|bytes) \d+-\d+",$'),
    ("bursar", r'"same_as\\*": ?\\*"unchanged since it was shown'),
    ("bursar", r"^… [\d,]+ more$"),
    ("bursar", r'"deeper\\*":\\*"≥?[\d,]+ entr'),
    # openai/codex, codex-rs/utils/string/src/truncate.rs: format_truncation_marker; it stands inside a line.
    ("Codex", r"…\d+ (?:tokens|chars) truncated…"),
    # openai/codex, codex-rs/core/src/truncate.rs as it was in 2025.
    ("Codex", r"^\[\.\.\. omitted \d+ of \d+ lines \.\.\.\]$"),
    # anthropics/claude-code issues 805 and 23948; the source is not public.
    ("Claude Code", r"^\.\.\. \[[\d,]+ (?:characters|lines) truncated\] \.\.\.$"),
    ("Claude Code", r"^<persisted-output>$"),
    ("Claude Code", r"^Output too large \([\d.]+ ?[KMG]?B\)\. Full output saved to: "),
    ("Claude Code", r"^\[Old tool result content cleared\]$"),
    # google-gemini/gemini-cli, packages/core/src/utils/fileUtils.ts: formatTruncatedToolOutput, and the read_file tool.
    ("gemini-cli", r"^\.\.\. \[(?:[\d,.]|\xc2\xa0|\xe2\x80\xaf)+ characters omitted\] \.\.\.$"),
    ("gemini-cli", r"^Output too large\. Showing first [\d,.]+ and last [\d,.]+ characters\."),
    ("gemini-cli", r"^IMPORTANT: The file content has been truncated\.$"),
    ("gemini-cli", r"^<tool_output_masked>$"),
    ("gemini-cli", r"\.\.\. \[truncated\]$"),
    # QwenLM/qwen-code, packages/core/src/utils/truncation.ts.
    ("qwen-code", r"^\.\.\. \[CONTENT TRUNCATED\] \.\.\.$"),
    ("qwen-code", r"^Tool output was too large and has been truncated\.?$"),
    # anomalyco/opencode, packages/opencode/src/tool/truncate.ts and read.ts.
    ("opencode", r"^\.\.\.\d+ (?:lines|bytes) truncated\.\.\.$"),
    ("opencode", r"The tool call succeeded but the output was truncated\. Full output saved to: "),
    ("opencode", r"^\(File has more lines\. Use 'offset' parameter to read beyond line \d+\)$"),
    # OpenHands/OpenHands, openhands/events/serialization/event.py, and openhands-aci, editor/prompts.py.
    ("OpenHands", r"^\[\.\.\. Observation truncated due to length \.\.\.\]$"),
    ("OpenHands", r"<response clipped><NOTE>(?:Due|To) "),
    # MoonshotAI/kimi-cli, src/kimi_cli/tools/utils.py: ToolResultBuilder.
    ("Kimi", r"\[\.\.\.truncated\]$"),
    ("Kimi", r"Output is truncated to fit in the message\.(?:</system>)?$"),
)


_CUT, _CUT_BYTES = b"... [truncated]", 1000
"""What gemini-cli puts behind the first 2,000 characters of a line; behind a much shorter one it is prose. In the
pattern, so many characters would take a thousand times as long."""


def _compiled(*patterns: str) -> BytesPattern:
    """Compile for whole texts, of which any line may be quoted and end in white space: a quotation of a notice is one.

    RE2, for a stranger may have written the text.
    """
    quoted = (re.sub(r"\$$", r"[ \\t\\r]*$", re.sub(r"^\^", r"^[> \\t]*", pattern)) for pattern in patterns)
    return compile_bytes("|".join(quoted), every_line=True)


_ANY = _compiled(*(pattern for _, pattern in _NOTICES))
_EACH = tuple((origin, _compiled(pattern)) for origin, pattern in _NOTICES)


def find_marker(text: bytes) -> Marker | None:
    """Return the first truncation notice in a text, ours or that of a known coding agent; None when there is none.

    A notice that stands on a line of its own wherever it is made must stand so here too: prose about truncation is not
    one.
    """
    found = next((one for one in _ANY.finditer(text) if not _is_short(text, one)), None)
    if found is None:
        return None
    said = found.group()
    origin = next(origin for origin, pattern in _EACH if pattern.search(said))
    shown = said.decode("utf-8", "replace").strip("> \t\r")
    number = text.count(b"\n", 0, found.start()) + 1
    return Marker(number, f"{shown if len(shown) <= 80 else '…' + shown[-79:]} (as {origin} writes it)")


def _is_short(text: bytes, found: BytesMatch) -> bool:
    """Tell whether it is what ends a long line, behind a short one."""
    start = found.start()
    return found.group().startswith(_CUT) and start - text.rfind(b"\n", 0, start) <= _CUT_BYTES


def refuse_truncated(text: bytes, *, allow_markers: bool) -> None:
    """Refuse text that carries a truncation notice, unless the caller says that it belongs there.

    Raises:
        BursarError: truncated_content.
    """
    marker = None if allow_markers else find_marker(text)
    if marker is not None:
        raise BursarError(
            "truncated_content",
            f"line {marker.line} is a truncation notice, so a part of the text is missing: {marker.what}",
            "Pass the artifact id of the whole text, or allow_markers=true if the notice belongs there",
        )
