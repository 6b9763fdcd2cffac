"""What open tasks cost agents that have only a plain shell, or only bursar.

python bench/live.py serve ARM RUN [PLACE]       its tools; RUN.brief is what an agent is told, RUN.jsonl its calls
python bench/live.py call RUN TOOL [ARGUMENTS]   calls one, as the brief says; arguments as JSON, or on standard input
python bench/live.py bill RUN... [--place PLACE] what each run cost, and whether its answers hold

ARM is `bash` or `bursar`, RUN a path without suffix, PLACE what `bench/corpus.py` made. The agent writes its answers
into RUN.md, each task's below its number as a heading. Cost is as in `bench/questions.py`: tokens of o200k, new 1.25,
written 5, what stands before 0.1 at each turn; what an agent thinks is not in it.
"""

import argparse
import json
import re
import socket
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import corpus
from bursar.budget import tokens
from question_set import AIRPORTS, CITIES, COUNTRIES, HYDRO, LANGUAGES, REGIONS, Needle, Things, cells
from questions import CACHED, NEW, SHELL, WRITTEN, Server, Shell, is_in, served
from wire import INITIALIZE

BRIEF = """\
You have {tools} and no other way to the machine, reached by
    {python} {this} call {run} TOOL 'ARGUMENTS AS JSON'
(or with the JSON on standard input, as from a quoted here-document). Do not use any other command, file or tool, and
do not read how this one works. One call at a time, and no more than you need. The workspace is a directory of files
that the tasks name by relative paths; {base} is a web server. The tools:

{schema}

Do these tasks one after another. When you know all answers write them into {run}.md, each below its number as a heading
(`## 3`), short, with the names, numbers and lines that are asked for.

{tasks}
"""


@dataclass(frozen=True)
class Task:
    """What an agent is asked, and what a right answer holds."""

    text: str
    answer: Callable[[Things], list[Needle]]


def largest_in_africa(t: Things) -> list[Needle]:
    countries, living = t.json(COUNTRIES), Counter[str]()
    for city in t.json(CITIES).values():
        if countries.get(city["countrycode"], {}).get("continentcode") == "AF":
            living[countries[city["countrycode"]]["name"]] += city["population"]
    return [needle for name, people in living.most_common(5) for needle in (name, people)]


def mean_delays(t: Things) -> list[Needle]:
    late: dict[str, list[int]] = defaultdict(list)
    for flight in t.rows("flights/flights.csv"):
        if flight["arr_delay"] != "NA":
            late[flight["carrier"]].append(int(flight["arr_delay"]))
    names = {row["carrier"]: row["name"] for row in t.rows("flights/airlines.csv")}
    means = sorted(((sum(minutes) / len(minutes), names[carrier]) for carrier, minutes in late.items()), reverse=True)
    return [needle for mean, name in (*means[:2], means[-1]) for needle in (name.split()[0], float(f"{mean:.1f}"))]


def installed_twice(t: Things) -> list[Needle]:
    versions: dict[str, set[str]] = defaultdict(set)
    for path, package in t.json("project/package-lock.json")["packages"].items():
        if path:
            versions[path.rpartition("node_modules/")[2]].add(package["version"])
    return [needle for name, found in versions.items() if len(found) > 1 for needle in (name, *found)]


def failed_logins(t: Things) -> list[Needle]:
    users = Counter(re.findall(r"Failed \S+ for (?:invalid user )?(\S+) from", t.text("logs/sshd")))
    (first, times), *_ = users.most_common(1)
    return [first, times]


def unlike_subdivisions(t: Things) -> list[Needle]:
    regions = t.json(REGIONS)["3166-2"]
    kinds = Counter(region["type"] for region in regions)
    (kind, times), *_ = kinds.most_common(1)
    cantons = {region["code"][:2] for region in regions if region["type"] == "Canton"}
    return [kind, times, len(kinds), *cantons]


TASKS = [
    Task(
        "output/pytest.log is what a run of the tests of Werkzeug-2.0.0 printed. Which tests failed, what is the cause "
        "of each, and at which line of which file of the source does it arise?",
        lambda t: sorted(
            {
                found[1]
                for line in t.lines("output/pytest.log", "^FAILED")
                if (found := re.search(r"::(\w+)(?:\[| |$)", line))
            }
        ),
    ),
    Task(
        "output/build-greenlet.log: why was greenlet not built? Name the first error with its line and column, how "
        "many errors there are, and what Python changed.",
        lambda t: [
            cut_position(t.lines("output/build-greenlet.log", r"greenlet\.c:\d+:\d+: error")[0]),
            len(t.lines("output/build-greenlet.log", r"greenlet\.c:\d+:\d+: error")),
        ],
    ),
    Task(
        "logs/sshd: for which user did most logins fail, and how many times? Which kinds of attack do you see?",
        failed_logins,
    ),
    Task(
        f"Which five African countries have the most people living in the cities of {CITIES}, and how many? "
        f"({COUNTRIES} knows each country's continent.)",
        largest_in_africa,
    ),
    Task(
        "flights/flights.db (or the tables as CSV beside it): by mean arrival delay in minutes to one decimal, which "
        "two airlines were the worst and which the best? Names, not codes.",
        mean_delays,
    ),
    Task(
        "How does Django's QuerySet.bulk_create (django-5.2.8/django/db/models/query.py) check the arguments that tell "
        "what to do about conflicts: which errors does it raise when? Give the lines of the methods concerned.",
        lambda t: [
            "_check_bulk_create_options",
            line_of(t, "django-5.2.8/django/db/models/query.py", "def _check_bulk_create_options"),
            line_of(t, "django-5.2.8/django/db/models/query.py", "    def bulk_create"),
            "NotSupportedError",
            "ValueError",
        ],
    ),
    Task(
        "{base}/html/library/subprocess.html: which parameters did subprocess.run get in which versions, and what are "
        "the attributes of CompletedProcess?",
        lambda t: [
            "capture_output",
            "3.7",
            "encoding",
            "3.6",
            "3.5",
            "args",
            "returncode",
            "stdout",
            "stderr",
        ],
    ),
    Task(
        f"{{base}}/{HYDRO}: how many pages has it, which values has its code list of water definitions, and on which "
        "page does that stand first?",
        lambda t: [pages(t, HYDRO), "Tidal River", "Liquid Waste", 10],
    ),
    Task("project/: which packages are installed there in more than one version, and which versions?", installed_twice),
    Task(
        "changes/fail2ban.changelog: which security problems with a CVE number does it tell of, each in which version?",
        lambda t: sorted(set(re.findall(r"CVE-\d+-\d+", t.text("changes/fail2ban.changelog")))),
    ),
    Task(
        f"{LANGUAGES} and {REGIONS}: how many living languages (type L) have a two-letter code? Which type of "
        "subdivision is the most frequent, and how many are there; how many types are there in all; which countries "
        "(codes) have cantons?",
        lambda t: [
            sum(1 for one in t.json(LANGUAGES)["639-3"] if one["type"] == "L" and "alpha_2" in one),
            *unlike_subdivisions(t),
        ],
    ),
    Task(
        "Where does Django's own code (django-5.2.8/django) use the setting SESSION_COOKIE_SAMESITE (files and lines), "
        "what is its default, and which values do the documents (django-5.2.8/docs/ref/settings.txt) allow?",
        lambda t: [
            *{
                int(line.split(":")[1])
                for line in t.printed(
                    "grep -rn SESSION_COOKIE_SAMESITE django-5.2.8/django --include=*.py"
                ).splitlines()
            },
            "Lax",
            "Strict",
            "None",
        ],
    ),
    Task(
        "output/npm-install.log: how many requests did npm send, what was the slowest, and how many packages were "
        "added in what time?",
        lambda t: [
            len(t.lines("output/npm-install.log", r"http fetch GET")),
            max(int(ms) for ms in re.findall(r"http fetch GET \d+ \S+ (\d+)ms", t.text("output/npm-install.log"))),
            int(re.findall(r"added (\d+) packages", t.text("output/npm-install.log"))[0]),
        ],
    ),
    Task(
        f"{AIRPORTS}: which state has the most airports, and how many? And what is the northernmost airport?",
        lambda t: [
            cells(*Counter(row["state"] for row in t.rows(AIRPORTS)).most_common(1)[0]),
            max(t.rows(AIRPORTS), key=lambda row: float(row["latitude"]))["name"],
        ],
    ),
]


def cut_position(line: str) -> str:
    found = re.search(r":(\d+:\d+): error", line)
    return found[1] if found else line


def line_of(t: Things, path: str, start: str) -> int:
    return next(
        number for number, line in enumerate(t.text(path).splitlines(), 1) if line.startswith(start) or start in line
    )


def pages(t: Things, path: str) -> int:
    return int(t.printed(f"pdfinfo {path} | sed -n 's/^Pages: *//p'"))


@contextmanager
def tools_of(arm: str, work: Path) -> Iterator[tuple[str, str, int, Callable[[str, dict[str, Any]], str]]]:
    """Give an arm's web address, its schema as text and in tokens, and what calls its tools."""
    with tempfile.TemporaryDirectory() as temporary, served(work) as base:
        if arm == "bash":
            shell = Shell(work, temporary, base)
            schema = json.dumps(SHELL)
            yield base, schema, tokens.count(schema), lambda _, arguments: shell.run(arguments["command"])[2]
        else:
            # Agents may be shown no more than 30,000 characters by what runs the call for them.
            INITIALIZE["clientInfo"] = {"name": "opencode", "version": "1"}
            server = Server(work, temporary, base)
            schema = json.dumps(server.client.tools(), ensure_ascii=False) + "\n\n" + server.instructions
            yield base, schema, server.schema, lambda tool, arguments: server.client.call(tool, **arguments)[0]


def serve(arm: str, run: Path, work: Path) -> None:
    """Write the brief, then answer one call a connection, and log it."""
    with tools_of(arm, work) as (base, schema, size, call), socket.socket(socket.AF_UNIX) as listener:
        log = run.with_suffix(".jsonl").open("w")
        log.write(json.dumps({"arm": arm, "schema": size}) + "\n")
        tasks = "\n".join(f"{number}. {task.text}" for number, task in enumerate(TASKS, 1)).replace("{base}", base)
        tools = "a plain bash shell" if arm == "bash" else "the tools of the server bursar"
        brief = BRIEF.format(
            tools=tools,
            python=sys.executable,
            this=Path(__file__).resolve(),
            run=run,
            base=base,
            schema=schema,
            tasks=tasks,
        )
        run.with_suffix(".brief").write_text(brief)
        run.with_suffix(".sock").unlink(missing_ok=True)
        listener.bind(str(run.with_suffix(".sock")))
        listener.listen()
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rw") as stream:
                tool, arguments = json.loads(stream.readline())
                reply = call(tool, arguments)
                stream.write(reply)
                log.write(json.dumps({"tool": tool, "arguments": arguments, "reply": reply}) + "\n")
                log.flush()


def send(run: Path, tool: str, arguments: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(run.with_suffix(".sock")))
        with connection.makefile("rw") as stream:
            stream.write(json.dumps([tool, json.loads(arguments)]) + "\n")
            stream.flush()
            print(stream.read())


def bill(run: Path, things: Things) -> None:
    """Print what a run cost, and which tasks' answers lack something."""
    head, *calls = map(json.loads, run.with_suffix(".jsonl").read_text().splitlines())
    new, before, cost, read = head["schema"] + sum(tokens.count(task.text) for task in TASKS), 0, 0.0, []
    for one in calls:
        written = tokens.count(json.dumps({"name": one["tool"], "arguments": one["arguments"]}, ensure_ascii=False))
        cost += CACHED * before + NEW * new + WRITTEN * written
        before += new + written
        new = tokens.count(one["reply"])
        read.append(new)
    parts = re.split(r"^## *(\d+).*$", run.with_suffix(".md").read_text().replace("−", "-"), flags=re.MULTILINE)
    told = {int(number): text for number, text in zip(parts[1::2], parts[2::2], strict=True)}
    lacking = {
        number: missed
        for number, task in enumerate(TASKS, 1)
        if (
            missed := [
                one for one in task.answer(things) if not is_in(one, re.sub(r"[*`\\]", "", told.get(number, "")))
            ]
        )
    }
    print(
        f"{run.name:16} {head['arm']:7} {len(calls):5} calls {sum(read):8,} tokens read, largest {max(read):6,},"
        f" cost {cost:9,.0f}"
    )
    for number, missed in lacking.items():
        print(f"    {number}: not found in the answer: {missed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    serving = commands.add_parser("serve")
    serving.add_argument("arm", choices=["bash", "bursar"])
    calling = commands.add_parser("call")
    for one in (serving, calling):
        one.add_argument("run", type=Path)
    serving.add_argument("place", type=Path, nargs="?", default=corpus.DEFAULT)
    calling.add_argument("tool")
    calling.add_argument("arguments", nargs="?")
    billing = commands.add_parser("bill")
    billing.add_argument("runs", type=Path, nargs="+")
    billing.add_argument("--place", type=Path, default=corpus.DEFAULT)
    asked = parser.parse_args()
    if asked.what == "serve":
        serve(asked.arm, asked.run.resolve(), asked.place / "work")
    elif asked.what == "call":
        send(asked.run, asked.tool, asked.arguments or sys.stdin.read())
    else:
        for run in asked.runs:
            bill(run, Things(asked.place / "work"))


if __name__ == "__main__":
    main()
