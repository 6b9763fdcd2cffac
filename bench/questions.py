"""What an answer costs through bursar and in a plain shell, over questions with answers that are checked.

python bench/questions.py [PLACE] [--verbose] [--looks] [--only THING] [--record FILE]

PLACE is what `bench/corpus.py` made. Every arm answers all questions, one call a turn. Tokens are those of o200k. Cost
is in tokens of input: what is new 1.25, what the model writes 5, and all that stands before 0.1 each turn.
"""

import argparse
import html
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import corpus
import first_looks
from bursar.budget import tokens
from bursar.budget.reply import Reply
from question_set import QUESTIONS, Needle, Question, Step, Things
from wire import INITIALIZE, Client, module

NEW, WRITTEN, CACHED = 1.25, 5.0, 0.1
ANSWER_TOKENS = 25
"""Written at the end of each question, in every arm."""

SHELL_CHARACTERS = 30_000
"""What agents with a plain shell show of one output, cut in its middle."""

SHELL = {
    "name": "bash",
    "description": (
        "Run a command in a bash shell and return its output, stdout and stderr together. The working directory is the"
        " workspace and persists; there is no tty, so prompts read end of file. Output over 30,000 characters is cut in"
        " its middle. Commands that run for more than timeout seconds are ended."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command to run"},
            "timeout": {"type": "number", "description": "Seconds, default 120, at most 600"},
        },
        "required": ["command"],
    },
}


@dataclass(frozen=True)
class Turn:
    """One call and its reply, as they stand in the conversation."""

    tool: str
    call: str
    reply: str
    written: int
    read: int


@dataclass
class Outcome:
    """A question as one arm dealt with it."""

    question: Question
    turns: list[Turn]
    missed: list[Needle]

    @property
    def added(self) -> int:
        return sum(turn.written + turn.read for turn in self.turns)


@dataclass
class Arm:
    """One way to find answers."""

    name: str
    schema: int
    answer: Callable[[Question], Iterator[tuple[str, dict[str, Any], str]]]
    outcomes: list[Outcome] = field(default_factory=list)

    def run(self, questions: Sequence[Question], things: Things) -> None:
        seen: dict[str, list[str]] = {}
        for question in questions:
            turns: list[Turn] = []
            for tool, arguments, reply in self.answer(question):
                call = json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False, separators=(",", ":"))
                turns.append(Turn(tool, call, reply, tokens.count(call), tokens.count(reply)))
            replies = [turn.reply for turn in turns]
            seen.setdefault(question.thing, []).extend(replies)
            sight = shown(replies or seen[question.thing])
            missed = [needle for needle in question.answer(things) if not is_in(needle, sight)]
            self.outcomes.append(Outcome(question, turns, missed))

    @property
    def calls(self) -> int:
        return sum(len(outcome.turns) for outcome in self.outcomes)

    @property
    def added(self) -> int:
        return self.schema + sum(outcome.added for outcome in self.outcomes)

    def cost(self, session_of: Callable[[Question], object] = lambda _: None) -> float:
        """Return what all questions cost; a new session begins where `session_of` changes."""
        total, before, current = 0.0, 0, object()
        for outcome in self.outcomes:
            new = tokens.count(outcome.question.text)
            if (session := session_of(outcome.question)) != current:
                current, before = session, 0
                new += self.schema
            for written, read in [(turn.written, turn.read) for turn in outcome.turns] + [(ANSWER_TOKENS, 0)]:
                total += CACHED * before + NEW * new + WRITTEN * written
                before += new + written
                new = read
        return total


def shown(replies: Sequence[str]) -> str:
    """Return what a model takes from replies, without the signs that formats put around words."""
    parts: list[str] = []
    for reply in replies:
        try:
            parts.extend(strings(Reply.parse(reply).value))
        except ValueError:
            parts.append(html.unescape(reply))
    text = re.sub(r"\[([^\]\n]*)\]\([^)\s]*\)", r"\1", "\n".join(parts))
    return re.sub(r"\s+", " ", re.sub(r"[*`\\]", "", text))


def strings(value: object, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                yield f"{key}:"
            yield from strings(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, name)
    else:
        yield f"{name}: {value}"


def is_in(needle: Needle, sight: str) -> bool:
    if isinstance(needle, re.Pattern):
        return needle.search(sight) is not None
    if isinstance(needle, str):
        return re.sub(r"\s+", " ", re.sub(r"[*`\\]", "", needle)) in sight
    further = r"\d*" if isinstance(needle, float) else ""
    return re.search(rf"(?<!\d)(?<!\d\.)(?:{needle}|{needle:,}){further}(?!\d|\.\d)", sight) is not None


class Server:
    """Bursar over standard input and output, as a client of whom nothing is known."""

    def __init__(self, work: Path, data: str, base_url: str) -> None:
        address = base_url.removeprefix("http://")
        self.base_url = base_url
        options = ["--root", str(work), "--data-dir", data, "--allow-net", address, "--patience-s", "100"]
        self.client = Client(module(*options))
        answer = self.client.request("initialize", INITIALIZE)["result"]
        self.client.send("notifications/initialized", notify=True)
        listed = self.client.request("tools/list", {})["result"]["tools"]
        # Annotations are for clients, which give a model the rest.
        seen = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in listed]
        schema = json.dumps(seen, ensure_ascii=False, separators=(",", ":"))
        self.instructions = answer.get("instructions", "")
        self.schema = tokens.count(schema) + tokens.count(self.instructions)
        self.artifacts: dict[str, str] = {}

    def documented(self, question: Question) -> Iterator[tuple[str, dict[str, Any], str]]:
        steps = question.bursar
        yield from (self.step(step) for step in (map(command, question.careful) if steps is None else steps))

    def careful(self, question: Question) -> Iterator[tuple[str, dict[str, Any], str]]:
        yield from (self.step(command(text)) for text in question.careful)

    def step(self, step: Step) -> tuple[str, dict[str, Any], str]:
        tool, given = step
        seen = given.get("artifact", "").removeprefix("{artifact of ").removesuffix("}")
        if seen and seen not in self.artifacts:  # no reply told a name: a file is asked by its path
            tool, given = "read_file", {"path": seen} | {name: given[name] for name in given if name != "artifact"}
        arguments = {name: self.filled(value) for name, value in given.items()}
        reply, is_error, _ = self.client.call(tool, **arguments)
        if not is_error and tool in ("read_file", "web_fetch") and (named := reference(reply)):
            self.artifacts[given.get("path") or given["url"].removeprefix("{base}/")] = named
        return tool, arguments, reply

    def filled(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        value = re.sub(r"\{artifact of (.*?)\}", lambda found: self.artifacts[found[1]], value)
        return value.replace("{base}", self.base_url)


def command(text: str) -> Step:
    return "terminal", {"command": text}


def reference(reply: str) -> str:
    """Return how a reply names its artifact: what a model copies from it; empty if it does not."""
    return Reply.parse(reply).value.get("artifact", "")


class Shell:
    """Plain bash, as agents have it."""

    def __init__(self, work: Path, temporary: str, base_url: str) -> None:
        self.work, self.base_url = work, base_url
        self.environment = os.environ | {"TMPDIR": temporary}

    def careful(self, question: Question) -> Iterator[tuple[str, dict[str, Any], str]]:
        yield from map(self.run, question.careful)

    def natural(self, question: Question) -> Iterator[tuple[str, dict[str, Any], str]]:
        yield from map(self.run, question.careful if question.natural is None else question.natural)

    def run(self, text: str) -> tuple[str, dict[str, Any], str]:
        text = text.replace("{base}", self.base_url)
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        output = done.stdout.decode(errors="replace")
        if (over := len(output) - SHELL_CHARACTERS) > 0:
            half = SHELL_CHARACTERS // 2
            output = f"{output[:half]}\n\n... {over} characters cut ...\n\n{output[-half:]}"
        if done.returncode:
            output += f"\n(exit status {done.returncode})"
        return "bash", {"command": text}, output


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback; gives its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def table(arms: Sequence[Arm], questions: Sequence[Question]) -> None:
    print(f"{len(questions)} questions about {len({question.thing for question in questions})} kinds of things\n")
    print(f"{'':34} {'':6} {'':7} {'tokens':>10} {'cost, one':>11} {'cost, one a':>12}")
    print(f"{'':34} {'calls':>6} {'schema':>7} {'added':>10} {'session':>11} {'kind':>12} answered")
    for arm in arms:
        missed = sum(bool(outcome.missed) for outcome in arm.outcomes)
        apart = arm.cost(lambda question: question.thing)
        print(
            f"{arm.name:34} {arm.calls:6} {arm.schema:7,} {arm.added:10,} {arm.cost():11,.0f} {apart:12,.0f}"
            f" {len(arm.outcomes) - missed:8}"
        )


def losing(documented: Arm, careful: Arm) -> None:
    """Print the questions at which bursar as documented added more than careful bash, the worst first."""
    both = zip(documented.outcomes, careful.outcomes, strict=True)
    pairs = [(ours.added - theirs.added, ours, theirs) for ours, theirs in both]
    lost = sorted((pair for pair in pairs if pair[0] > 0), key=lambda pair: -pair[0])
    print(
        f"\nmore tokens than careful bash at {len(lost)} of {len(pairs)} questions, {sum(p[0] for p in lost):,} in all"
    )
    print("   bursar   bash  calls  question")
    for _, ours, theirs in lost:
        calls = f"{len(ours.turns)}:{len(theirs.turns)}"
        print(f"  {ours.added:7,} {theirs.added:6,}  {calls:>5}  {ours.question.text[:100]}")


def by_field(arm: Arm) -> None:
    """Print which fields of the replies cost how much, and which kinds of call."""
    fields: Counter[str] = Counter()
    times: Counter[str] = Counter()
    kinds: dict[str, list[Turn]] = {}
    for outcome in arm.outcomes:
        for turn in outcome.turns:
            asked = "grep" if '"grep"' in turn.call else "range" if '"lines"' in turn.call else ""
            kinds.setdefault(f"{turn.tool} {asked}".strip(), []).append(turn)
            try:
                reply = Reply.parse(turn.reply).value
            except ValueError:
                reply = {"error": turn.reply}
            for name, value in reply.items():
                text = json.dumps({name: value}, ensure_ascii=False, separators=(",", ":"))[1:-1] + ","
                fields[name] += tokens.count(text)
                times[name] += 1
    print(f"\n{arm.name}: where the tokens are\n{'field':16} {'times':>5} {'tokens':>7} {'each':>6}")
    for name, cost in fields.most_common():
        print(f"{name:16} {times[name]:5} {cost:7,} {cost / times[name]:6.0f}")
    print(f"{'call':22} {'times':>5} {'written':>7} {'read':>7} {'read each':>9}")
    for name, turns in sorted(kinds.items(), key=lambda item: -sum(turn.read for turn in item[1])):
        written, read = sum(turn.written for turn in turns), sum(turn.read for turn in turns)
        print(f"{name:22} {len(turns):5} {written:7,} {read:7,} {read / len(turns):9.0f}")


def break_even(server: Server, shell: Shell) -> None:
    """Print what the first so many lines of a log cost either way, and from what size on bursar is cheaper."""
    print(
        "\nthe first lines of output/dpkg.log, printed; then a search for the one in their middle if that is not shown"
    )
    print(f"{'lines':>6} {'bash':>7} {'bursar':>7} {'search':>7}")
    text = (shell.work / "output/dpkg.log").read_text().splitlines()
    shown_in_part: list[tuple[int, int, int]] = []
    for lines in (1, 3, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640):
        asked = f"head -n {lines} output/dpkg.log"
        plain = tokens.count(shell.run(asked)[2])
        _, _, reply = server.step(command(asked))
        ours, read = tokens.count(reply), 0
        if "incomplete" in Reply.parse(reply).value:
            wanted = {"artifact": reference(reply), "grep": f"^{re.escape(text[lines // 2])}$", "context": 0}
            tool, arguments, found = server.step(("read_artifact", wanted))
            read = tokens.count(found)
            written = tokens.count(json.dumps({"name": tool, "arguments": arguments}))
            shown_in_part.append((ours, written, read))
        print(f"{lines:6} {plain:7,} {ours:7,} {read or '':>7}")
    ours, written, read = (statistics.mean(column) for column in zip(*shown_in_part, strict=True))
    print("\nbursar, with that search, is cheaper than the whole output if it has more tokens than")
    print(f"{'tokens before':>14} {'0 turns after':>14} {'10 turns':>10} {'40 turns':>10}")
    for before in (5_000, 20_000, 60_000):
        sizes: list[float] = []
        for after in (0, 10, 40):
            search = WRITTEN * written + CACHED * (before + ours) + NEW * (ours + read)
            later = CACHED * after * (ours + written + read)
            sizes.append((search + later) / (NEW + CACHED * after))
        print(f"{before:14,} {sizes[0]:14,.0f} {sizes[1]:10,.0f} {sizes[2]:10,.0f}")


def looks(server: Server, things: Things) -> None:
    """Print what first looks at many kinds of file and output cost, and whether they name what has to be named."""
    print(f"\n{'first look':52} {'tokens':>6}  named")
    costs: list[int] = []
    complete: list[bool] = []
    for name, step, names in first_looks.LOOKS:
        _, _, reply = server.step(step)
        costs.append(tokens.count(reply))
        sight = shown([reply])
        wanted = [str(one) for one in names(things)]
        absent = [one for one in wanted if not re.search(rf"(?<!\w){re.escape(one)}(?!\w)", sight)]
        if wanted:
            complete.append(not absent)
        share = f"{len(wanted) - len(absent)} of {len(wanted)}" if wanted else "-"
        print(f"{name:52} {costs[-1]:6,}  {share}{', not ' if absent else ''}{', '.join(absent[:4])[:60]}")
    print(
        f"{len(costs)} looks, median {statistics.median(costs):,.0f} tokens, mean {statistics.mean(costs):,.0f};",
        end="",
    )
    print(f" {sum(complete)} of {len(complete)} name all that has names")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", nargs="?", type=Path, default=corpus.DEFAULT)
    parser.add_argument("--verbose", action="store_true", help="each question in each arm")
    parser.add_argument("--looks", action="store_true", help="first looks alone")
    parser.add_argument("--only", help="the questions about one kind of thing")
    parser.add_argument("--record", type=Path, help="write every call and reply there, as lines of JSON")
    options = parser.parse_args()
    questions = [question for question in QUESTIONS if options.only in (None, question.thing)]
    with served(options.place / "work") as base_url, tempfile.TemporaryDirectory() as temporary:
        things = Things(options.place / "work")
        shell = Shell(things.work, temporary, base_url)
        first, second, third = (Server(things.work, f"{temporary}/{name}", base_url) for name in "abc")
        shell_schema = tokens.count(json.dumps(SHELL, separators=(",", ":")))
        arms = [
            Arm("bursar, as documented", first.schema, first.documented),
            Arm("bursar, a careful user's commands", second.schema, second.careful),
            Arm("plain bash, careful", shell_schema, shell.careful),
            Arm("plain bash, natural", shell_schema, shell.natural),
        ]
        if not options.looks:
            for arm in arms:
                arm.run(questions, things)
            report(arms, questions, options)
            break_even(second, shell)
        if options.only is None:
            looks(third, things)
        for server in (first, second, third):
            server.client.close()


def report(arms: Sequence[Arm], questions: Sequence[Question], options: argparse.Namespace) -> None:
    table(arms, questions)
    for arm in arms:
        for outcome in arm.outcomes:
            if outcome.missed:
                print(f"not answered: {arm.name}: {outcome.question.text}: {outcome.missed}")
    if options.verbose:
        print()
        for outcomes in zip(*(arm.outcomes for arm in arms), strict=True):
            costs = "  ".join(f"{len(o.turns)} {o.added:6,}{'!' if o.missed else ' '}" for o in outcomes)
            print(f"{outcomes[0].question.thing:8} {costs}  {outcomes[0].question.text[:90]}")
    losing(arms[0], arms[2])
    for arm in arms[:2]:
        by_field(arm)
    if options.record:
        with open(options.record, "w") as record:
            head = {"schemas": {arm.name: arm.schema for arm in arms}, "questions": [q.text for q in questions]}
            record.write(json.dumps(head) + "\n")
            for arm in arms:
                for place, outcome in enumerate(arm.outcomes):
                    for turn in outcome.turns:
                        entry = {"arm": arm.name, "question": place, "call": turn.call, "reply": turn.reply}
                        record.write(json.dumps(entry, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
