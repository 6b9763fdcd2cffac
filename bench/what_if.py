"""What changes to the replies would save: recorded calls and replies rewritten, and counted again.

python bench/what_if.py RECORD

RECORD is what `bench/questions.py --record` wrote. Each change is taken alone, then all together.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from bursar.budget import tokens
from questions import ANSWER_TOKENS, CACHED, NEW, WRITTEN

REFERENCE = re.compile(r"ses_\w+/(a\d+)")
SITE_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(https?://127\.0\.0\.1[^)]*\)")


@dataclass(frozen=True)
class Entry:
    """One recorded call."""

    question: int
    call: str
    reply: str

    @property
    def tool(self) -> str:
        return json.loads(self.call)["name"]


Change = Callable[[Sequence[Entry]], Sequence[Entry]]


def on_replies(rewrite: Callable[[dict[str, Any], Entry], Any]) -> Change:
    """Return a change of each reply that is an object; `rewrite` returns the new object, or a text."""

    def change(entries: Sequence[Entry]) -> list[Entry]:
        changed: list[Entry] = []
        for entry in entries:
            text = entry.reply
            if text.startswith("{"):
                new = rewrite(json.loads(text), entry)
                text = new if isinstance(new, str) else json.dumps(new, ensure_ascii=False, separators=(",", ":"))
            changed.append(replace(entry, reply=text))
        return changed

    return change


def without(*names: str, whole_only: bool = False) -> Change:
    def rewrite(reply: dict[str, Any], _: Entry) -> dict[str, Any]:
        if whole_only and "incomplete" in reply:
            return reply
        return {name: value for name, value in reply.items() if name not in names}

    return on_replies(rewrite)


def short_references(entries: Sequence[Entry]) -> list[Entry]:
    return [
        replace(entry, call=REFERENCE.sub(r"\1", entry.call), reply=REFERENCE.sub(r"\1", entry.reply))
        for entry in entries
    ]


@on_replies
def usual_outcomes(reply: dict[str, Any], _: Entry) -> dict[str, Any]:
    left = {name: value for name, value in reply.items() if name != "isolation"}
    if left.get("exit_code") == 0:
        del left["exit_code"]
    if left.get("took_s", 10) < 10:
        left.pop("took_s", None)
    return left


@on_replies
def bare_text(reply: dict[str, Any], _: Entry) -> Any:
    """What is shown whole stands there unquoted, after one line with the reference and what is unusual."""
    if "incomplete" in reply or not isinstance(reply.get("preview"), str):
        return reply
    status = f" exit {reply['exit_code']}" if reply.get("exit_code") else ""
    matches = f" {reply['matches']} matches" if "matches" in reply else ""
    return f"{reply.get('artifact', '')}{status}{matches}\n{reply['preview']}"


@on_replies
def no_context(reply: dict[str, Any], entry: Entry) -> dict[str, Any]:
    arguments = json.loads(entry.call)["arguments"]
    if "grep" in arguments and "context" not in arguments and isinstance(reply.get("preview"), str):
        kept = [line for line in reply["preview"].splitlines() if not re.match(r"\d+- |\d+-$|--$", line)]
        reply = reply | {"preview": "\n".join(kept)}
    return reply


@on_replies
def no_site_links(reply: dict[str, Any], _: Entry) -> dict[str, Any]:
    text = json.dumps(reply, ensure_ascii=False)
    return json.loads(SITE_LINK.sub(lambda link: "" if link[1] == "¶" else link[1], text))


@on_replies
def short_hint(reply: dict[str, Any], _: Entry) -> dict[str, Any]:
    if "incomplete" in reply:
        reply = reply | {"incomplete": reply["incomplete"].split(" (~")[0].split("; see more")[0][:60]}
    return reply


def asked_at_once(entries: Sequence[Entry]) -> list[Entry]:
    """Join a look and the search after it in the same question: `grep` and `lines` on `read_file`, `web_fetch`."""
    joined: list[Entry] = []
    for _, group in groupby(entries, key=lambda entry: entry.question):
        rest = list(group)
        while rest:
            first, *rest = rest
            if first.tool in ("read_file", "web_fetch") and rest and rest[0].tool == "read_artifact":
                call, asked = json.loads(first.call), json.loads(rest[0].call)["arguments"]
                call["arguments"] |= {name: value for name, value in asked.items() if name != "artifact"}
                text = json.dumps(call, ensure_ascii=False, separators=(",", ":"))
                first, rest = replace(first, call=text, reply=rest[0].reply), rest[1:]
            joined.append(first)
    return joined


def same(entries: Sequence[Entry]) -> Sequence[Entry]:
    return entries


CHANGES: dict[str, tuple[Change, int | None]] = {
    "as recorded": (same, None),
    "a7 for ses_…/a7, in replies and calls": (short_references, None),
    "no did": (without("did"), None),
    "no path and size where all is shown": (without("path", "size", whole_only=True), None),
    "no isolation, exit_code 0, took_s below 10": (usual_outcomes, None),
    "no file, final_url, content_type, language, received": (
        without("file", "final_url", "content_type", "language", "received"),
        None,
    ),
    "what is shown whole as bare text": (bare_text, None),
    "incomplete in 60 characters": (short_hint, None),
    "no context around matches unless asked for": (no_context, None),
    "no links within the site": (no_site_links, None),
    "grep on read_file and web_fetch": (asked_at_once, None),
    "tools and instructions in 1,000 tokens": (same, 1000),
}


def cost(entries: Sequence[Entry], schema: int, texts: Sequence[str]) -> tuple[int, int, float]:
    """Return calls, tokens added and cost of one session."""
    total, before, added = 0.0, 0, schema
    new = schema
    of = {number: list(group) for number, group in groupby(entries, key=lambda entry: entry.question)}
    for number, text in enumerate(texts):
        new += tokens.count(text)
        turns = [(tokens.count(entry.call), tokens.count(entry.reply)) for entry in of.get(number, [])]
        for written, read in [*turns, (ANSWER_TOKENS, 0)]:
            total += CACHED * before + NEW * new + WRITTEN * written
            before += new + written
            new = read
        added += sum(map(sum, turns))
    return len(entries), added, total


def main(record: Path) -> None:
    head, *lines = map(json.loads, record.read_text().splitlines())
    for name, schema in head["schemas"].items():
        entries = [Entry(e["question"], e["call"], e["reply"]) for e in lines if e["arm"] == name]
        print(f"\n{name:54} {'calls':>5} {'tokens':>8} {'saved':>7} {'cost':>9} {'saved':>9}")
        if "bursar" not in name:
            calls, added, total = cost(entries, schema, head["questions"])
            print(f"{'as recorded':54} {calls:5} {added:8,} {'':7} {total:9,.0f}")
            continue
        everything, first = entries, (0, 0, 0.0)
        for label, (change, new_schema) in CHANGES.items():
            calls, added, total = cost(change(entries), new_schema or schema, head["questions"])
            first = first if first[0] else (calls, added, total)
            everything = change(everything)
            print(f"{label:54} {calls:5} {added:8,} {first[1] - added:7,} {total:9,.0f} {first[2] - total:9,.0f}")
        calls, added, total = cost(everything, 1000, head["questions"])
        print(f"{'all of them':54} {calls:5} {added:8,} {first[1] - added:7,} {total:9,.0f} {first[2] - total:9,.0f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
