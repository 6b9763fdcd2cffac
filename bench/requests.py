"""Keep requests within a limit: bursar and others on recorded sessions, in front of a strict provider.

    uv run bench/requests.py DATA [compare|forms|estimates|times|stuck] [--set airline] [--limit 16000] [--every 4]
        [--slow]

DATA is a folder of recorded sessions, which are not part of this repository. For each algorithm: how many requests
would be rejected or are over the limit, whether the goal stands in them word for word, which facts that the recorded
next call needs are in sight, behind a pointer that was really followed, or lost, and what all of it costs:
fresh tokens, and billed ones with a tenth for what a provider's cache has. Following pointers is in the bill.
"""

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections import Counter
from itertools import product
from pathlib import Path
from statistics import median

# At the end, because the package `requests`, which others import, is not this file.
sys.path += [sys.path.pop(0), str(Path(__file__).resolve().parents[1] / "tests" / "support")]

import histories
import request_data as data
import request_peers
from bursar.budget import request as ours
from bursar.budget import tokens
from bursar.history import Shelf
from strict_provider import Cache, rejected, texts

FACT = re.compile(r"[\w.~-]*(?:/[\w.-]+)+|[A-Za-z_]\w*(?:\.\w+)*|\d{3,}")
FAR = 6
CALL_TOKENS, MISS_TOKENS = 60, 60
POINTER = re.compile(r'read_artifact\(artifact=\\*"([^"\\]+)\\*"')


def facts(text):
    found = FACT.findall(text)
    return {
        one.strip(".")
        for one in found
        if (
            len(one) >= 5
            and ("/" in one or "_" in one or "." in one.strip(".") or one.isdigit() or one[1:] != one[1:].lower())
        )
        or (one.isdigit() and len(one) >= 3)
    }


def given(message):
    """Return what a recorded call used, its escapes undone."""
    return "\n".join(text for call in message.get("tool_calls") or () for text in texts(histories.arguments(call)))


def needed(session):
    """Return, for each request, the facts of the next call that were last seen some messages ago."""
    known = facts("\n".join(t for m in session[:2] for t in texts(m.get("content") or "")))
    last, out = {}, {}
    for index, message in enumerate(session):
        if message["role"] == "assistant":
            used = facts(given(message)) - known
            out[index] = {fact for fact in used if fact in last and last[fact] <= index - FAR}
        text = "\n".join([*texts(message.get("content") or ""), given(message)])
        for fact in facts(text):
            last[fact] = index
    return out


class Score:
    def __init__(self):
        self.requests = self.rejected = self.over = self.goal = self.failed = 0
        self.sight = self.pointer = self.lost = 0
        self.fresh = self.billed = self.follow = 0.0
        self.compactions = self.calls = self.own = 0
        self.ms = []

    def row(self):
        def share(count, of=self.requests):
            return f"{100 * count / max(1, of):.1f}"

        known = self.sight + self.pointer + self.lost
        ms = sorted(self.ms)
        return (
            f"{share(self.rejected)} | {share(self.over)} | {share(self.goal)} | "
            f"{share(self.sight, known)} / {share(self.pointer, known)} / {share(self.lost, known)} | "
            f"{self.fresh / 1e6:.2f} | {self.billed / 1e6:.2f} | {self.follow / 1e6:.2f} | "
            f"{self.compactions} | {self.calls} | "
            f"{median(ms):.1f} / {ms[int(len(ms) * 0.99)]:.1f}"
        )


HEAD = (
    "| | rejected % | over % | goal missing % | facts in sight / by pointer / lost % | fresh M | billed M |"
    " following M | compactions | model calls | ms p50 / p99 |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


class Ours:
    """bursar, with the artifacts that it stores."""

    def __init__(self, limit, dialect="chat", system=None, names=("bash", "read_artifact"), **settings):
        self.folder = tempfile.TemporaryDirectory(prefix="bursar-bench-")
        self.shelf = Shelf.open("", Path(self.folder.name))
        self.held, self.state, self.usage = {}, ours.State(), None
        self.limit = ours.Limit(tokens=limit, **settings)
        self.dialect, self.system, self.names = dialect, system, names
        self.tools = histories.tools(dialect, names)
        self.compactions = self.calls = 0

    def store(self, leaving):
        reference = self.shelf(leaving)
        self.held[reference] = leaving.data.decode("utf-8", "replace")
        return reference

    def __call__(self, messages):
        request = ours.Request(self.dialect, messages, self.system, self.tools)
        fitted = ours.fit(request, self.limit, self.store, self.state, self.usage)
        self.state = fitted.state
        self.compactions += bool(fitted.told)
        return fitted.messages

    def told(self, total, messages):
        self.usage = ours.Usage(total, messages)

    def follow(self, text, fact):
        """Make the calls that a request names until one answers, and return the size of what is read."""
        spent = 0
        for name in POINTER.findall(text):
            spent += CALL_TOKENS
            if fact not in self.held.get(name, ""):
                spent += MISS_TOKENS
                continue
            reply = asyncio.run(self.shelf.read_artifact(name, grep=re.escape(fact)))
            spent += tokens.count(reply)
            if fact in reply:
                return spent
        return None


class Plainly:
    """An algorithm without memory or pointers."""

    def __init__(self, make):
        self.make = make
        self.compactions = self.calls = 0

    def __call__(self, messages):
        return self.make(messages)

    def told(self, total, messages):
        pass

    def follow(self, text, fact):
        return None


def send_all(limit):
    return Plainly(lambda messages: messages)


def seed(limit):
    """Literally: keep the instructions and the newest prompt, drop from the oldest until it fits."""

    def make(messages):
        sizes = [tokens.count("\n".join(texts(message))) + 4 for message in messages]
        kept = list(range(len(messages)))
        newest = max(n for n, message in enumerate(messages) if message["role"] == "user")
        fixed = {n for n, message in enumerate(messages) if message["role"] == "system"} | {newest, len(messages) - 1}
        for n in range(len(messages)):
            if sum(sizes[k] for k in kept) <= limit:
                break
            if n not in fixed:
                kept.remove(n)
        return [messages[n] for n in kept]

    return Plainly(make)


def run(sessions, make, limit, score):
    for session in sessions:
        needs = needed(session)
        algorithm, cache = make(limit), Cache(tokens.count)
        stripped = [histories.bare(message) for message in session]
        goal = next(message["content"] for message in stripped if message["role"] == "user")
        goal = goal if isinstance(goal, str) else goal[0]["text"]
        for index in (index for index, message in enumerate(session) if message["role"] == "assistant"):
            history = stripped[:index]
            start = time.process_time()
            try:
                sent = algorithm(history)
            except Exception as error:  # noqa: BLE001 - whatever another library raises is its answer
                score.failed += 1
                print(type(error).__name__, str(error)[:200], file=sys.stderr)
                sent = []
            score.ms.append(1000 * (time.process_time() - start))
            total = cache.ask(sent)
            algorithm.told(total, len(history))
            score.requests += 1
            score.rejected += bool(rejected("chat", sent))
            score.over += total > limit
            text = "\n".join(t for message in sent for t in texts(message))
            score.goal += goal not in text
            unescaped = text.replace('\\"', '"').replace("\\/", "/")
            read = 0
            for fact in needs[index]:
                if fact in unescaped:
                    score.sight += 1
                elif (cost := algorithm.follow(text, fact)) is not None:
                    score.pointer += 1
                    read += cost + 0.1 * total
                else:
                    score.lost += 1
            score.follow += read
        score.fresh += cache.fresh
        score.billed += cache.billed
        score.compactions += algorithm.compactions
        score.calls += algorithm.calls
        score.own += getattr(algorithm, "spent", 0)
    score.billed += score.follow + score.own
    return score


def forms(sets, limits):
    """Every set in every form with every mutator: how many requests are rejected or over the limit."""
    print("| set | limit | form | requests | rejected | over | too large | compactions |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, sessions), limit, form in product(sets.items(), limits, histories.FORMS):
        tally = Counter()
        for session, mutator in product(sessions, histories.MUTATORS.values()):
            _agent(mutator([histories.bare(message) for message in session]), form, limit, tally)
        row = (tally[key] for key in ("requests", "rejected", "over", "large", "compactions"))
        print(f"| {name} | {limit} | {form} | {' | '.join(map(str, row))} |", flush=True)


def _agent(messages, form, limit, tally):
    """Ask for each turn of a history in one form."""
    system, written = histories.FORMS[form](messages)
    algorithm, sizes = Ours(limit, form, system), {}
    for end in range(1, len(written) + 1):
        if end < len(written) and not _is_asked(form, written[end], written[end - 1]):
            continue
        tally["requests"] += 1
        try:
            sent = algorithm(written[:end])
        except ours.RequestTooLarge:
            tally["large"] += 1
            continue
        for message in sent:
            if id(message) not in sizes:
                sizes[id(message)] = message, tokens.count("\n".join(texts(message))) + 4
        size = sum(sizes[id(message)][1] for message in sent)
        algorithm.told(size, end)
        tally["over"] += size > limit
        tally["rejected"] += bool(rejected(form, sent)) and not rejected(form, written[:end])
    tally["compactions"] += algorithm.compactions


def _is_asked(form, message, before):
    """Tell whether a request is made before a message: it is the model's, and the first of its turn."""
    if form == "responses":
        ours_ = ("reasoning", "function_call")
        by_model = [m.get("role") == "assistant" or m.get("type") in ours_ for m in (message, before)]
        return by_model[0] and not by_model[1]
    return bool(
        {message.get("role"), message.get("kind"), message.get("type")} & {"assistant", "model", "response", "ai"}
    )


def estimates(sessions):
    """How far an estimate is from what the provider then counted."""
    anchored, first, low = [], [], 0
    for session in sessions:
        written, state, usage = [histories.bare(message) for message in session], ours.State(), None
        for index, message in enumerate(session):
            if (told := message.get("usage")) is None:
                continue
            # The tools that were offered then are not recorded: one for commands is what its prompt describes.
            request = ours.Request("chat", written[:index], None, histories.tools("chat", ("bash",)))
            true = told["prompt_tokens"]
            error = ours.estimate(request, state, usage).tokens / true - 1
            (anchored if usage else first).append(error)
            usage = ours.Usage(true, index)
    off = sorted(map(abs, anchored))
    low = sum(error >= 0 for error in first)
    print(f"anchored: {len(off)} requests, p95 {off[int(0.95 * len(off))]:.2%}, max {off[-1]:.2%}")
    print(f"first: {low} of {len(first)} not low, {min(first):.1%} to {max(first):.1%}")


def times(sessions):
    """How long a request takes, with a history of 1,000 messages, and the first one with a million tokens."""
    messages = data.joined(sessions, 1_000_000, tokens.count)
    offered, spent, state = histories.tools("chat"), [], ours.State()
    limit = ours.Limit(tokens=128_000)
    # Until its tokens are counted by others, a history grows by some requests before one is compacted.
    for end in range(900, 1100):
        request = ours.Request("chat", messages[:end], None, offered)
        if ours.problems(request):
            continue
        start = time.process_time()
        fitted = ours.fit(request, limit, lambda leaving: "a1", state)
        spent.append((1000 * (time.process_time() - start), bool(fitted.told)))
        state = fitted.state
    ms = sorted(one for one, _ in spent[1:])
    compactions = ", ".join(f"{one:.0f}" for one, is_compaction in spent if is_compaction)
    print(
        f"1,000 messages: p50 {median(ms):.2f} ms, p99 {ms[int(0.99 * len(ms))]:.1f} ms; compactions {compactions} ms"
    )
    end = next(end for end in range(len(messages), 0, -1) if not ours.problems(ours.Request("chat", messages[:end])))
    start = time.process_time()
    ours.fit(ours.Request("chat", messages[:end], None, offered), limit, lambda leaving: "a1")
    print(f"first request of {end} messages, 1 M tokens: {time.process_time() - start:.2f} s")


def stuck(sessions):
    """How soon requests that cannot be made to fit are refused, and how often one is compacted in a row."""
    base = sessions[0].messages if hasattr(sessions[0], "messages") else sessions[0]
    base = [message for message in base if message.get("role") != "system"][:1]
    limit, offered = ours.Limit(tokens=16_000), histories.tools("chat")
    turns = [part for number in range(300) for part in _turn(number)]
    everything = [*base, *turns]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 200_000}}
    cases = {
        "a prompt of 200,000 words": ([*everything, {"role": "user", "content": "word " * 200_000}], offered, ()),
        "tools over the limit": (everything, histories.tools("chat", [f"tool_number_{n}" for n in range(3000)]), ()),
        "all of it pinned": (everything, offered, range(len(everything))),
        "pictures first": ([{"role": "user", "content": [picture] * 40}, *turns], offered, ()),
        "one result of 4 MB": ([*base, *_turn(1, "row of a table\n" * 280_000)], offered, ()),
    }
    print("| case | refused | ms | compactions of the next 20 requests |\n|---|---|---|---|")
    for name, (messages, tools, pins) in cases.items():
        state, refused, compactions, worst = ours.State(), 0, 0, 0.0
        for more in range(20):
            history = [*messages, *(part for number in range(more) for part in _turn(1000 + number))]
            request = ours.Request("chat", history, None, tools, pins=frozenset(pins))
            start = time.process_time()
            try:
                fitted = ours.fit(request, limit, lambda leaving: "a1", state)
                state, compactions = fitted.state, compactions + bool(fitted.told)
            except ours.RequestTooLarge:
                refused += 1
            worst = max(worst, 1000 * (time.process_time() - start))
        print(f"| {name} | {refused} of 20 | {worst:.0f} | {compactions} |", flush=True)


def _turn(number, text="ok\n" * 40):
    call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": '{"command": "make"}'}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument(
        "what", nargs="?", default="compare", choices=("compare", "forms", "estimates", "times", "stuck")
    )
    parser.add_argument("--set", default="coding", choices=("coding", "airline"))
    parser.add_argument("--limit", type=int, default=16_000)
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--only", default="", help="algorithms, or sets, whose name has this in it")
    parser.add_argument("--slow", action="store_true", help="litellm too, half a second a request")
    given_ = parser.parse_args()
    tokens.warm()
    folder = data.load(given_.data)
    sessions = data.coding(folder, given_.every)
    if given_.what == "estimates":
        return estimates(sessions)
    if given_.what == "times":
        return times(sessions)
    if given_.what == "stuck":
        return stuck(sessions)
    if given_.what == "forms":
        sets = {"coding": sessions, "airline": data.airline(folder), "demonstrations": data.demonstrations(folder)}
        return forms({name: of for name, of in sets.items() if given_.only in name}, (16_000, 32_000, 64_000))
    algorithms = {"bursar": Ours, "send all": send_all, "seed literally": seed}
    algorithms |= request_peers.installed(with_slow=given_.slow)
    print(HEAD)
    for name, make in algorithms.items():
        if given_.only in name:
            row = run(sessions if given_.set == "coding" else data.airline(folder), make, given_.limit, Score()).row()
            print(f"| {name} | {row} |", flush=True)
    return None


if __name__ == "__main__":
    main()
