"""What was cut for a model's eyes is recognised, and prose about it is not."""

import pytest
from bursar.content.writeback import find_marker, refuse_truncated
from bursar.errors import BursarError

HANDLE = "ses_7YPxeoPWhvJzA5JUzD2oEf"
NOTICES = [
    ("bursar", f'"incomplete":"9 of 10 lines not shown; read_artifact(artifact=\\"{HANDLE}/a7\\", tail=5)"'),
    ("bursar", f'"text":"{{\\\\"lines 41-60 follow; read_artifact(artifact=\\\\\\"{HANDLE}/a7\\\\\\")"'),
    ("bursar", '1 of 9 lines not shown; read_artifact(artifact="a12")'),
    ("bursar", '{"artifact":"a5-x.py","incomplete":"lines 9-403 of 403 not shown","size":{"bytes":17731}}'),
    ("bursar", '{"head":"a","omitted":"bytes 441-399713","tail":"b"}'),
    ("bursar", '"parts":[],"omitted":"12 items; read_artifact() lists what is stored of them"'),
    ("bursar", '{"head":"a","omitted":"lines 41-99980","tail":"b"}'),
    ("bursar", '{"artifact":"a1","same_as":"unchanged since it was shown; see it again: read_artifact()"}'),
    ("bursar", '"omitted": "lines 41-99980",'),
    ("Codex", "expo…33930 tokens truncated…t.target.value"),
    ("Codex", "abc…12 chars truncated…def"),
    ("Codex", "[... omitted 256 of 512 lines ...]"),
    ("Claude Code", "... [480572 characters truncated] ..."),
    ("Claude Code", "... [638 lines truncated] ..."),
    ("Claude Code", "<persisted-output>"),
    ("Claude Code", "Output too large (6.6MB). Full output saved to: /home/x/tool-results/b.txt"),
    ("gemini-cli", "... [12,345 characters omitted] ..."),
    ("gemini-cli", "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: /tmp/x"),
    ("gemini-cli", "IMPORTANT: The file content has been truncated."),
    ("gemini-cli", "x" * 2000 + "... [truncated]"),
    ("qwen-code", "... [CONTENT TRUNCATED] ..."),
    ("qwen-code", "Tool output was too large and has been truncated."),
    ("opencode", "...609936 bytes truncated..."),
    ("opencode", "The tool call succeeded but the output was truncated. Full output saved to: /home/x/tool_cb"),
    ("opencode", "(File has more lines. Use 'offset' parameter to read beyond line 300)"),
    ("OpenHands", "[... Observation truncated due to length ...]"),
    ("OpenHands", "timelin<response clipped><NOTE>Due to the max output limit, only part of this file has been shown"),
    ("Kimi", "this.minSam[...truncated]"),
    ("Kimi", "Command executed successfully. Output is truncated to fit in the message."),
    ("Claude Code", "> ... [638 lines truncated] ..."),
]


@pytest.mark.parametrize(("origin", "notice"), NOTICES)
def test_a_notice_is_found_on_its_line(origin, notice):
    marker = find_marker(f"# Title\n\ntext\n  {notice}  \nmore\n".encode())
    assert marker is not None
    assert marker.line == 4
    assert origin in marker.what


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The output was truncated, so we read the rest.",
        "Tool output was too large and has been truncated, said the log, and then it went on.",
        "Numbers are truncated... then rounded; [truncated] titles are shown in full below.",
        "We omitted 12 lines. The `<response clipped>` tag marks a cut.",
        "A table may be omitted: lines 3-9 of it hold nothing.",
        "`... [CONTENT TRUNCATED] ...` is what one client writes.",
        "short line... [truncated]",
        "He said: … 12 tokens were truncated … and left.",
        'What is incomplete names the next call: `… not shown; read_artifact(artifact="Xk3…/a7", grep="ERROR")`.',
        'ENDS = {"head": "", "omitted": "lines 10-99", "tail": ""}',
        '("OpenHands", r"<response clipped><NOTE>"),',
        '{"artifact":"ses_7YPxeoPWhvJzA5JUzD2oEf/a1","did":"$ ls","exit_code":0,"preview":"nothing was omitted"}',
    ],
)
def test_prose_about_truncation_is_not_a_notice(text):
    assert find_marker(text.encode()) is None


def test_lines_are_counted_past_other_hits():
    text = "truncated\n\nomitted here\n" + "x\n" * 50 + "clipped truncated\n...1 lines truncated...\n"
    marker = find_marker(text.encode())
    assert marker is not None
    assert marker.line == 55


def test_the_refusal_says_where_why_and_what_to_do():
    with pytest.raises(BursarError) as refusal:
        refuse_truncated(b"a\n...5 lines truncated...\n", allow_markers=False)
    assert refusal.value.code == "truncated_content"
    assert "line 2" in refusal.value.message
    assert "artifact" in refusal.value.fix
    assert "allow_markers" in refusal.value.fix
    refuse_truncated(b"a\n...5 lines truncated...\n", allow_markers=True)
