"""The questions: each with the answer as Python computes it from the thing itself, and what each arm does to find it.

Questions about one thing stand together, and the first of them looks: a later one may use what was seen, in every arm.
`careful` bounds each command; `natural` does what comes first to mind.
"""

import csv
import json
import re
import statistics
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import lxml.html

Needle = str | int | float | re.Pattern[str]
Step = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        thing: what it is about.
        text: as it is asked.
        answer: returns what has to be in sight, all of it.
        bursar: calls as bursar's documents steer; None: the careful commands.
        careful: commands of a careful shell user, through bursar's terminal and in plain bash.
        natural: commands that bound nothing; None: the careful ones.

    Where there is nothing to do, it was in sight before. In a call, `{artifact of X}` is what the reply to the look at
    X named.
    """

    thing: str
    text: str
    answer: Callable[["Things"], Sequence[Needle]]
    bursar: Sequence[Step] | None
    careful: Sequence[str]
    natural: Sequence[str] | None = None


class Things:
    """Reads the things as the questions need them."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.text, self.json, self.rows, self.page = map(cache, (self._text, self._json, self._rows, self._page))

    def printed(self, command: str) -> str:
        return subprocess.run(
            ["bash", "-c", command], cwd=self.work, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    def _text(self, path: str) -> str:
        return (self.work / path).read_text(errors="replace")

    def lines(self, path: str, pattern: str = "") -> list[str]:
        return [line for line in self.text(path).splitlines() if re.search(pattern, line)]

    def _json(self, path: str) -> Any:
        return json.loads(self.text(path))

    def _rows(self, path: str) -> list[dict[str, str]]:
        with open(self.work / path, newline="") as table:
            return list(csv.DictReader(table))

    def _page(self, path: str) -> Any:
        return lxml.html.parse(str(self.work / path)).getroot()

    def described(self, path: str, name: str) -> str:
        """Return what a page of Python's documentation says of a name."""
        (term,) = self.page(path).xpath(f'//dt[@id="{name}"]')
        return " ".join(term.getnext().text_content().split())

    def count(self, folder: str, pattern: str) -> int:
        return sum(1 for path in (self.work / folder).rglob(pattern) if path.is_file())


def look(path: str, **asked: Any) -> Step:
    return "read_file", {"path": path, **asked}


def run(command: str) -> Step:
    return "terminal", {"command": command}


def fetch(path: str, **asked: Any) -> Step:
    return "web_fetch", {"url": f"{{base}}/{path}", **asked}


def ask(seen: str, **asked: Any) -> Step:
    """Read the artifact of an earlier look, named by its path or address."""
    return "read_artifact", {"artifact": f"{{artifact of {seen}}}", **asked}


def tree(path: str, **asked: Any) -> Step:
    return "directory_tree", {"path": path, **asked}


def cells(*values: Any) -> re.Pattern[str]:
    """Return what finds the values near one another, in this order or the other way round."""
    there, back = (
        r"[\s\S]{0,120}?".join(rf"(?<![\w.]){re.escape(str(value))}(?!\w)" for value in order)
        for order in (values, values[::-1])
    )
    return re.compile(f"{there}|{back}")


def plain(page: str, pattern: str, after: int) -> str:
    """Return the command that searches a page without its tags."""
    return f"curl -s {{base}}/{page} | sed 's/<[^>]*>//g' | grep -n -m4 -A{after} -e '{pattern}' | head -40"


CITIES, COUNTRIES = "geo/cities15000.json", "geo/countries.json"
LANGUAGES, REGIONS = "iso/iso639-3.json", "iso/iso3166-2.json"
FLIGHTS, DATABASE = "flights/flights.csv", "flights/flights.db"
WEATHER, AIRPORTS, CARS = "vega/seattle-weather.csv", "vega/airports.csv", "vega/cars.json"
TESTS, C_BUILD, LDAP = "output/pytest.log", "output/build-greenlet.log", "output/build-python-ldap.log"
NPM, LOCK, DPKG = "output/npm-install.log", "project/package-lock.json", "output/dpkg.log"
CHANGES, SECURITY = "changes/fail2ban.changelog", "changes/python3.11-doc.changelog.Debian"
SSHD, POSTFIX = "logs/sshd", "logs/postfix"
DJANGO = "django-5.2.8/django"
QUERY, SETTINGS = f"{DJANGO}/db/models/query.py", "django-5.2.8/docs/ref/settings.txt"
STDTYPES, SHUTIL = "html/library/stdtypes.html", "html/library/shutil.html"
SUBPROCESS, JSON_DOC = "html/library/subprocess.html", "html/library/json.html"
PDFS = "pypdf-7.1.0/resources"
HYDRO, ONCOLOGY = f"{PDFS}/GeoBase_NHNC1_Data_Model_UML_EN.pdf", f"{PDFS}/issue-604.pdf"
PYPDF = "pypdf-7.1.0/CHANGELOG.md"

MOST_FLOWN = "select name, count(*) n from flights join airlines using (carrier) group by 1 order by n desc"
PAGE_OF_LENVATINIB = "pdftotext $TMPDIR/o.pdf - | awk 'BEGIN {RS=\"\\f\"} tolower($0) ~ /lenvatinib/ {print NR; exit}'"


def number(row: dict[str, str], name: str) -> float:
    return float("-inf") if row[name] == "NA" else float(row[name])


def most(values: Iterable[Any], top: int = 1) -> list[tuple[Any, int]]:
    return Counter(values).most_common(top)


def cut(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    assert found, pattern
    return found[1]


def cities(t: Things) -> list[dict[str, Any]]:
    return list(t.json(CITIES).values())


QUESTIONS: list[Question] = [
    # 17 MB and 61 MB of JSON on one line.
    Question(
        "geo",
        "Which fields does a city in geo/cities15000.json have?",
        lambda t: list(cities(t)[0]),
        [look(CITIES)],
        [f"head -c 900 {CITIES}"],
        [f"cat {CITIES}"],
    ),
    Question(
        "geo",
        "How many cities are in it?",
        lambda t: [len(cities(t))],
        [],
        [f"jq length {CITIES}"],
    ),
    Question(
        "geo",
        "Which city has the largest population, and how large is it?",
        lambda t: [cells(*max((c["population"], c["name"]) for c in cities(t))[::-1])],
        None,
        [f"jq -c '[.[]] | max_by(.population) | [.name, .population]' {CITIES}"],
        [f"jq '[.[]] | max_by(.population)' {CITIES}"],
    ),
    Question(
        "geo",
        "Which five countries have the most cities there?",
        lambda t: [cells(code, n) for code, n in most((c["countrycode"] for c in cities(t)), 5)],
        None,
        [f"jq -c '[.[].countrycode] | group_by(.) | map([.[0], length]) | sort_by(-.[1])[:5]' {CITIES}"],
        [f"jq -r '.[].countrycode' {CITIES} | sort | uniq -c | sort -rn"],
    ),
    Question(
        "geo",
        "What is the time zone of Reykjavík?",
        lambda t: [next(c["timezone"] for c in cities(t) if c["name"] == "Reykjavík")],
        None,
        [f"jq -r '.[] | select(.name == \"Reykjavík\") | .timezone' {CITIES}"],
        [f"jq '.[] | select(.name == \"Reykjavík\")' {CITIES}"],
    ),
    Question(
        "geo",
        "How many of the cities of geo/cities1000.json have fewer than 1,000 inhabitants?",
        lambda t: [sum(c["population"] < 1000 for c in t.json("geo/cities1000.json").values())],
        None,
        ["jq '[.[] | select(.population < 1000)] | length' geo/cities1000.json"],
    ),
    Question(
        "geo",
        "What is the currency and the capital of Bhutan (geo/countries.json)?",
        lambda t: [t.json(COUNTRIES)["BT"]["currencycode"], t.json(COUNTRIES)["BT"]["capital"]],
        [look(COUNTRIES), run(f"jq -c '.BT | [.capital, .currencycode]' {COUNTRIES}")],
        [f"head -c 500 {COUNTRIES}", f"jq -c '.BT | [.capital, .currencycode]' {COUNTRIES}"],
        [f"cat {COUNTRIES}", f"jq .BT {COUNTRIES}"],
    ),
    Question(
        "geo",
        "How many countries are there of each continent?",
        lambda t: [cells(*pair) for pair in most((c["continentcode"] for c in t.json(COUNTRIES).values()), 7)],
        None,
        [f"jq -r '.[].continentcode' {COUNTRIES} | sort | uniq -c"],
    ),
    # Middle-sized JSON.
    Question(
        "iso",
        "Which keys occur in the entries of iso/iso639-3.json, also rarely?",
        lambda t: sorted({key for entry in t.json(LANGUAGES)["639-3"] for key in entry}),
        [look(LANGUAGES)],
        [f"head -c 300 {LANGUAGES}", f"jq -c '[.\"639-3\"[] | keys[]] | unique' {LANGUAGES}"],
        [f"cat {LANGUAGES}", f"jq '.[\"639-3\"][] | keys[]' {LANGUAGES} | sort | uniq -c"],
    ),
    Question(
        "iso",
        "How many languages have a two-letter code?",
        lambda t: [sum("alpha_2" in entry for entry in t.json(LANGUAGES)["639-3"])],
        [],
        [f"grep -c alpha_2 {LANGUAGES}"],
        [f"jq '[.[\"639-3\"][] | select(.alpha_2)] | length' {LANGUAGES}"],
    ),
    Question(
        "iso",
        "What is the three-letter code of Basque?",
        lambda t: [next(e["alpha_3"] for e in t.json(LANGUAGES)["639-3"] if e["name"] == "Basque")],
        None,
        [f"grep -m1 -B2 '\"Basque\"' {LANGUAGES}"],
        [f"grep -B5 -A5 Basque {LANGUAGES}"],
    ),
    Question(
        "iso",
        "How many languages are extinct (type E)?",
        lambda t: [sum(e["type"] == "E" for e in t.json(LANGUAGES)["639-3"])],
        [],
        [f'grep -c \'"type": "E"\' {LANGUAGES}'],
    ),
    Question(
        "iso",
        "Which are the three most frequent types of region in iso/iso3166-2.json, and how many of each?",
        lambda t: [cells(*pair) for pair in most((e["type"] for e in t.json(REGIONS)["3166-2"]), 3)],
        [look(REGIONS), run(f"jq -r '.\"3166-2\"[].type' {REGIONS} | sort | uniq -c | sort -rn | head -3")],
        [f"head -c 300 {REGIONS}", f"jq -r '.\"3166-2\"[].type' {REGIONS} | sort | uniq -c | sort -rn | head -3"],
        [f"cat {REGIONS}", f"jq -r '.\"3166-2\"[].type' {REGIONS} | sort | uniq -c | sort -rn"],
    ),
    Question(
        "iso",
        "What is the name of the region CH-GR?",
        lambda t: [next(e["name"] for e in t.json(REGIONS)["3166-2"] if e["code"] == "CH-GR")],
        None,
        [f"grep -m1 -A1 'CH-GR' {REGIONS}"],
        [f"grep -A5 'CH-GR' {REGIONS}"],
    ),
    # A table of 31 MB, and the same in a database.
    Question(
        "flights",
        "Which columns does flights/flights.csv have?",
        lambda t: list(t.rows(FLIGHTS)[0]),
        None,
        [f"head -3 {FLIGHTS}"],
        [f"cat {FLIGHTS}"],
    ),
    Question(
        "flights",
        "How many flights are in it?",
        lambda t: [len(t.rows(FLIGHTS))],
        None,
        [f"tail -n +2 {FLIGHTS} | wc -l"],
    ),
    Question(
        "flights",
        "What was the longest delay of a departure, in minutes?",
        lambda t: [int(max(number(row, "dep_delay") for row in t.rows(FLIGHTS)))],
        None,
        [f"cut -d, -f6 {FLIGHTS} | sort -rn | head -1"],
        [f"sort -t, -k6 -rn {FLIGHTS} | head"],
    ),
    Question(
        "flights",
        "How many flights went to Honolulu (HNL)?",
        lambda t: [sum(row["dest"] == "HNL" for row in t.rows(FLIGHTS))],
        None,
        [f"grep -c ',HNL,' {FLIGHTS}"],
    ),
    Question(
        "flights",
        "Which tables and columns does flights/flights.db have?",
        lambda t: ["airlines", "planes", "flights", "sched_dep_time", "manufacturer", "time_hour"],
        None,
        [f"sqlite3 {DATABASE} .schema"],
    ),
    Question(
        "flights",
        "Which airline, by name, flew most, and how often?",
        lambda t: [
            cells({row["carrier"]: row["name"] for row in t.rows("flights/airlines.csv")}[code], n)
            for code, n in most(row["carrier"] for row in t.rows(FLIGHTS))
        ],
        None,
        [f"sqlite3 {DATABASE} '{MOST_FLOWN} limit 1'"],
        [f"sqlite3 {DATABASE} '{MOST_FLOWN}'"],
    ),
    Question(
        "flights",
        "How many flights were cancelled (no departure time) in each month?",
        lambda t: [
            cells(month, n)
            for month, n in sorted(Counter(int(r["month"]) for r in t.rows(FLIGHTS) if r["dep_time"] == "NA").items())
        ],
        None,
        [f"sqlite3 {DATABASE} \"select month, count(*) from flights where dep_time = 'NA' group by 1\""],
    ),
    Question(
        "flights",
        "How many planes did each of the three largest manufacturers build?",
        lambda t: [cells(*pair) for pair in most((r["manufacturer"] for r in t.rows("flights/planes.csv")), 3)],
        None,
        ["head -2 flights/planes.csv; cut -d, -f4 flights/planes.csv | sort | uniq -c | sort -rn | head -3"],
        ["cat flights/planes.csv", "cut -d, -f4 flights/planes.csv | sort | uniq -c | sort -rn"],
    ),
    Question(
        "flights",
        "In which year was the oldest plane built, and what is its tail number?",
        lambda t: [
            cells(*min((r["year"], r["tailnum"]) for r in t.rows("flights/planes.csv") if r["year"] > "1")[::-1])
        ],
        None,
        ["awk -F, 'NR>1 && $2+0>0 {print $2, $1}' flights/planes.csv | sort -n | head -1"],
        ["cut -d, -f1,2 flights/planes.csv | grep -v NA | sort -t, -k2 -n | head -20"],
    ),
    # Small tables.
    Question(
        "vega",
        "What kinds of weather are in vega/seattle-weather.csv, and how many days of each?",
        lambda t: [cells(*pair) for pair in most((row["weather"] for row in t.rows(WEATHER)), 5)],
        [run(f"head -3 {WEATHER}; cut -d, -f6 {WEATHER} | tail -n +2 | sort | uniq -c")],
        [f"head -3 {WEATHER}", f"cut -d, -f6 {WEATHER} | tail -n +2 | sort | uniq -c"],
        [f"cat {WEATHER}", f"cut -d, -f6 {WEATHER} | tail -n +2 | sort | uniq -c"],
    ),
    Question(
        "vega",
        "On which day was it hottest, and how hot?",
        lambda t: [cells(*max((number(row, "temp_max"), row["date"]) for row in t.rows(WEATHER))[::-1])],
        None,
        [f"sort -t, -k3 -rn {WEATHER} | head -1 | cut -d, -f1,3"],
        [f"sort -t, -k3 -rn {WEATHER} | head"],
    ),
    Question(
        "vega",
        "What was the weather on 2014-07-04?",
        lambda t: [next(row["weather"] for row in t.rows(WEATHER) if row["date"] == "2014/07/04")],
        None,
        [f"grep '^2014/07/04' {WEATHER}"],
    ),
    Question(
        "vega",
        "What was the lowest and the highest temperature ever, and the most rain in a day?",
        lambda t: [
            min(number(row, "temp_min") for row in t.rows(WEATHER)),
            max(number(row, "temp_max") for row in t.rows(WEATHER)),
            max(number(row, "precipitation") for row in t.rows(WEATHER)),
        ],
        None,
        [
            f"awk -F, 'NR>1 {{if ($3>h) h=$3; if ($4<l) l=$4; if ($2>p) p=$2}} END {{print l, h, p}}' {WEATHER}",
        ],
    ),
    Question(
        "vega",
        "Which airport has the code SEA in vega/airports.csv, and how many airports are in Alaska?",
        lambda t: [
            next(row["name"] for row in t.rows(AIRPORTS) if row["iata"] == "SEA"),
            sum(row["state"] == "AK" for row in t.rows(AIRPORTS)),
        ],
        None,
        [f"head -2 {AIRPORTS}; grep '^SEA,' {AIRPORTS}; grep -c ',AK,' {AIRPORTS}"],
        [f"cat {AIRPORTS}", f"grep SEA {AIRPORTS}; grep -c ',AK,' {AIRPORTS}"],
    ),
    Question(
        "vega",
        "What is the mean horsepower of the cars from Japan in vega/cars.json, to one decimal?",
        lambda t: [
            round(
                statistics.mean(
                    c["Horsepower"] for c in t.json(CARS) if c["Origin"] == "Japan" and c["Horsepower"] is not None
                ),
                1,
            )
        ],
        [look(CARS), run(f"jq '[.[] | select(.Origin == \"Japan\").Horsepower | values] | add / length' {CARS}")],
        [f"head -c 300 {CARS}", f"jq '[.[] | select(.Origin == \"Japan\").Horsepower | values] | add / length' {CARS}"],
        [f"cat {CARS}", f"jq '[.[] | select(.Origin == \"Japan\").Horsepower | values] | add / length' {CARS}"],
    ),
    # A run of tests, and builds that failed.
    Question(
        "tests",
        "output/pytest.log: how many tests failed, passed and had errors?",
        lambda t: [re.compile(re.escape(cut(t.lines(TESTS)[-1], r"(\d+ failed, \d+ passed)"))), "20 errors"],
        [look(TESTS)],
        [f"tail -n 12 {TESTS} | cut -c1-200"],
        [f"cat {TESTS}"],
    ),
    Question(
        "tests",
        "In which test functions are the failures, and how many in each?",
        lambda t: [
            cells(n, name) if n > 1 else name
            for name, n in most((re.split(r"\[| - ", line)[0].split("::")[-1] for line in t.lines(TESTS, "^FAILED")), 9)
        ],
        [],
        [f"grep '^FAILED' {TESTS} | sed 's/ - .*//; s/\\[.*//' | sort | uniq -c"],
        [f"grep FAILED {TESTS}", f"grep '^FAILED' {TESTS} | cut -d'[' -f1 | sort | uniq -c"],
    ),
    Question(
        "tests",
        "Why do the tests of serving have errors?",
        lambda t: ["fixture 'dev_server' not found"],
        [],
        [f"grep '^E ' {TESTS} | cut -c1-150 | sort | uniq -c | sort -rn | head -8"],
        [f"grep '^E ' {TESTS}"],
    ),
    Question(
        "tests",
        "At which line of which file is the warning raised that makes test_user_agent fail?",
        lambda t: [cut(t.text(TESTS), r"(tests/test_wrappers\.py:\d+): DeprecationWarning")],
        [],
        [f"grep '^tests/test_wrappers.py:[0-9]*:' {TESTS} | sort | uniq -c | head"],
        [f"grep -A500 '_ test_user_agent' {TESTS} | grep -A3 -B3 Warning"],
    ),
    Question(
        "tests",
        "Which version of pytest and of Python ran it?",
        lambda t: [cut(t.text(TESTS), r"Python ([\d.]+)"), cut(t.text(TESTS), r"(pytest-[\d.]+)")],
        [ask(TESTS, lines="1-3")],
        [f"head -3 {TESTS}"],
        [],
    ),
    Question(
        "tests",
        "Which test took place in tests/test_http.py and failed?",
        lambda t: [cut(t.text(TESTS), r"FAILED tests/test_http\.py::\w+::(\w+)")],
        [],
        [f"grep '^FAILED tests/test_http' {TESTS}"],
        [f"grep test_http {TESTS}"],
    ),
    Question(
        "builds",
        "output/build-greenlet.log: what is the first error of the compiler, and where?",
        lambda t: [t.lines(C_BUILD, r"greenlet\.c:\d+:\d+: error")[0].strip()],
        [look(C_BUILD, grep=r"\.c:\d+:\d+: error", lines="1-120")],
        [f"grep -n 'error:' {C_BUILD} | head -5 | cut -c1-200"],
        [f"cat {C_BUILD}"],
    ),
    Question(
        "builds",
        "How many errors did the compiler give?",
        lambda t: [len(t.lines(C_BUILD, r"\.c:\d+:\d+: error"))],
        None,
        [f"grep -c '[0-9]: error:' {C_BUILD}"],
    ),
    Question(
        "builds",
        "Which members does the compiler miss in PyThreadState?",
        lambda t: sorted(set(re.findall(r"PyThreadState’ .* has no member named ‘(\w+)’", t.text(C_BUILD)))),
        None,
        [f"grep -o 'PyThreadState. .*no member named .[a-z_]*' {C_BUILD} | grep -o '[a-z_]*$' | sort -u"],
        [f"grep PyThreadState {C_BUILD}"],
    ),
    Question(
        "builds",
        "Why did the build of python-ldap fail (output/build-python-ldap.log)?",
        lambda t: [cut(t.text(LDAP), r"fatal error: (\S+: No such file or directory)")],
        [look(LDAP)],
        [f"grep -n -m5 -B3 -A3 'error:' {LDAP} | cut -c1-200"],
        [f"cat {LDAP}"],
    ),
    Question(
        "builds",
        "Which C file was being compiled then?",
        lambda t: ["Modules/LDAPObject.c"],
        [],
        [],
        [],
    ),
    Question(
        "npm",
        "output/npm-install.log: how many packages were added, and were there warnings?",
        lambda t: (
            [cut(t.text(NPM), r"(added \d+ packages)"), 'Unknown user config "nodedir"']
            if "nodedir" in t.text(NPM)
            else [cut(t.text(NPM), r"(added \d+ packages)")]
        ),
        [look(NPM, grep="^added|warn")],
        [f"tail -n 5 {NPM}; grep -E '^added|warn' {NPM} | head"],
        [f"cat {NPM}"],
    ),
    Question(
        "npm",
        "How many HTTP requests did it make, and did any not return 200?",
        lambda t: [len(t.lines(NPM, r"http fetch GET 200"))],
        None,
        [f"grep -o 'http fetch GET [0-9]*' {NPM} | sort | uniq -c"],
    ),
    Question(
        "npm",
        "Which version of ajv is locked in project/package-lock.json?",
        lambda t: [t.json(LOCK)["packages"]["node_modules/ajv"]["version"]],
        [look(LOCK, grep='"node_modules/ajv"', context="0-1")],
        [f"grep -A1 '\"node_modules/ajv\"' {LOCK}"],
        [f"cat {LOCK}", f"grep -A15 'node_modules/ajv' {LOCK}"],
    ),
    Question(
        "npm",
        "How many of the packages have each license?",
        lambda t: [
            cells(name, n)
            for name, n in most((p["license"] for p in t.json(LOCK)["packages"].values() if "license" in p), 9)
        ],
        None,
        [f"jq -r '.packages[].license // empty' {LOCK} | sort | uniq -c | sort -rn"],
        [f"jq -r '.packages[].license' {LOCK} | sort | uniq -c | sort -rn"],
    ),
    Question(
        "npm",
        "Which locked packages depend on safe-buffer?",
        lambda t: [
            name.removeprefix("node_modules/")
            for name, package in t.json(LOCK)["packages"].items()
            if "safe-buffer" in package.get("dependencies", {})
        ],
        None,
        [f"jq -r '.packages | to_entries[] | select(.value.dependencies[\"safe-buffer\"]?).key' {LOCK}"],
        [f"grep -B32 '\"safe-buffer\":' {LOCK} | grep -E 'node_modules/|safe-buffer'"],
    ),
    Question(
        "npm",
        "How many files lie below project/node_modules, links with or without?",
        lambda t: [
            re.compile(
                "|".join(
                    f"{n}|{n:,}"
                    for n in (
                        t.count("project/node_modules", "*"),
                        int(t.printed("find project/node_modules -type f | wc -l")),
                    )
                )
            )
        ],
        None,
        ["find project/node_modules -type f | wc -l"],
        ["ls -R project/node_modules", "find project/node_modules -type f | wc -l"],
    ),
    Question(
        "npm",
        "What is the entry point (main) of webpack?",
        lambda t: [t.json("project/node_modules/webpack/package.json")["main"]],
        None,
        ["jq -r .main project/node_modules/webpack/package.json"],
        ["cat project/node_modules/webpack/package.json"],
    ),
    # Logs of servers and of the machine.
    Question(
        "dpkg",
        "output/dpkg.log: when does it begin and when does it end?",
        lambda t: [t.lines(DPKG)[0][:19], t.lines(DPKG)[-1][:19]],
        None,
        [f"head -3 {DPKG}; tail -n 3 {DPKG}"],
        [f"cat {DPKG}", f"head {DPKG}; tail {DPKG}"],
    ),
    Question(
        "dpkg",
        "How many packages were installed, and how many upgraded?",
        lambda t: [len(t.lines(DPKG, r"^\S+ \S+ install ")), len(t.lines(DPKG, r"^\S+ \S+ upgrade "))],
        None,
        [f"grep -c ' install ' {DPKG}; grep -c ' upgrade ' {DPKG}"],
        [f"grep ' install ' {DPKG}", f"grep -c ' install ' {DPKG}; grep -c ' upgrade ' {DPKG}"],
    ),
    Question(
        "dpkg",
        "From which version to which was libsystemd0 upgraded?",
        lambda t: t.lines(DPKG, r" upgrade libsystemd0:")[0].split()[-2:],
        None,
        [f"grep ' upgrade libsystemd0' {DPKG}"],
        [f"grep libsystemd0 {DPKG}"],
    ),
    Question(
        "dpkg",
        "On which day was most done?",
        lambda t: [cells(*most(line[:10] for line in t.lines(DPKG))[0])],
        None,
        [f"cut -c1-10 {DPKG} | sort | uniq -c | sort -rn | head -1"],
        [f"cut -d' ' -f1 {DPKG} | sort | uniq -c"],
    ),
    Question(
        "logs",
        "logs/sshd: how many failed passwords are logged?",
        lambda t: [len(t.lines(SSHD, "Failed password"))],
        None,
        [f"head -12 {SSHD}; grep -c 'Failed password' {SSHD}"],
        [f"cat {SSHD}", f"grep -c 'Failed password' {SSHD}"],
    ),
    Question(
        "logs",
        "From which addresses were passwords for root refused there?",
        lambda t: sorted(set(re.findall(r"Failed password for root from (\S+)", t.text(SSHD)))),
        [look(SSHD, grep="Failed password for root")],
        [f"grep -o 'Failed password for root from [^ ]*' {SSHD} | sort -u"],
        [f"grep root {SSHD}"],
    ),
    Question(
        "logs",
        "What was the reason of the fatal negotiation with 192.0.2.2?",
        lambda t: [cut(t.text(SSHD), r"negotiate with 192\.0\.2\.2 port \d+: ([\w ]+)")],
        None,
        [f"grep -m2 'fatal.*192.0.2.2' {SSHD}"],
        [f"grep 192.0.2.2 {SSHD}"],
    ),
    Question(
        "logs",
        "Which of the logs in logs/ mention the address 1.2.3.4?",
        lambda t: [
            path.name
            for path in sorted((t.work / "logs").iterdir())
            if path.is_file() and "1.2.3.4" in path.read_text(errors="replace")
        ],
        None,
        ["grep -lF 1.2.3.4 logs/* | sort"],
        ["grep -r 1.2.3.4 logs/", "grep -rlF 1.2.3.4 logs/"],
    ),
    Question(
        "logs",
        "logs/postfix: how many were rejected with 554 and how many with 450?",
        lambda t: [
            len(t.lines(POSTFIX, r"^\w.*: 554 ")),
            len(t.lines(POSTFIX, r"^\w.*: 450 ")),
        ],
        None,
        [f"head -5 {POSTFIX}; grep -c '^[A-Z].*: 554 ' {POSTFIX}; grep -c '^[A-Z].*: 450 ' {POSTFIX}"],
        [f"cat {POSTFIX}", f"grep -c '^[A-Z].*: 554 ' {POSTFIX}; grep -c '^[A-Z].*: 450 ' {POSTFIX}"],
    ),
    # What changed.
    Question(
        "changes",
        "changes/fail2ban.changelog: which is the latest version, and of which day?",
        lambda t: [cut(t.text(CHANGES), r"\n(ver\. [\d.]+ \([\d/]+\))")],
        None,
        [f"head -15 {CHANGES}"],
        [f"head -50 {CHANGES}"],
    ),
    Question(
        "changes",
        "When was version 0.9.0 of it released?",
        lambda t: [cut(t.text(CHANGES), r"ver\. 0\.9\.0 \(([\d/]+)\)")],
        None,
        [f"grep -m1 '^ver\\. 0\\.9\\.0' {CHANGES}"],
        [f"grep -F '0.9.0' {CHANGES}"],
    ),
    Question(
        "changes",
        "What was fixed in CVE-2026-3276 (changes/python3.11-doc.changelog.Debian)?",
        lambda t: ["canonical ordering in unicodedata.normalize"],
        [look(SECURITY, grep="CVE-2026-3276", context="0-2")],
        [f"grep -A2 CVE-2026-3276 {SECURITY}"],
        [f"cat {SECURITY}"],
    ),
    Question(
        "changes",
        "How many different CVEs does that file name?",
        lambda t: [len(set(re.findall(r"CVE-\d+-\d+", t.text(SECURITY))))],
        None,
        [f"grep -o 'CVE-[0-9]*-[0-9]*' {SECURITY} | sort -u | wc -l"],
    ),
    Question(
        "changes",
        "Which security changes came with pypdf 7.0.0 (pypdf-7.1.0/CHANGELOG.md)?",
        lambda t: re.findall(r"#\d+", cut(t.text(PYPDF), r"## Version 7\.0\.0,[\s\S]*?\(SEC\)([\s\S]*?)###")),
        [look(PYPDF, grep="Version 7.0.0", context="0-12")],
        [f"grep -n -A12 'Version 7.0.0' {PYPDF} | head -20"],
        [f"cat {PYPDF}"],
    ),
    Question(
        "changes",
        "Which version of pypdf has the change #1015?",
        lambda t: [re.findall(r"## Version ([\d.]+)", t.text(PYPDF).partition("#1015)")[0])[-1]],
        None,
        [f"awk '/^## Version/ {{v=$0}} /#1015\\)/ {{print v; print}}' {PYPDF}"],
        [f"grep -n -B60 '#1015)' {PYPDF}"],
    ),
    # Documentation on the web.
    Question(
        "web",
        "{base}/html/library/shutil.html: what is the signature of shutil.rmtree?",
        lambda t: [re.compile(r"rmtree\(\W*path\W+ignore_errors\W+False\W+onerror\W+None\W+dir_fd\W+None")],
        [fetch(SHUTIL, grep=r"rmtree\(\*?path")],
        [plain(SHUTIL, r"rmtree(path", 0)],
        [f"curl -s {{base}}/{SHUTIL}", f"curl -s {{base}}/{SHUTIL} | sed 's/<[^>]*>//g' | grep -A10 'rmtree('"],
    ),
    Question(
        "web",
        "Since which version has shutil.copytree the parameter dirs_exist_ok?",
        lambda t: [cut(t.described(SHUTIL, "shutil.copytree"), r"(New in version [\d.]+: The dirs_exist_ok)")],
        [ask(SHUTIL, grep="New in version.*dirs")],
        [plain(SHUTIL, "New in version.*dirs_exist_ok", 0)],
        [f"curl -s {{base}}/{SHUTIL} | sed 's/<[^>]*>//g' | grep -B3 -A3 dirs_exist_ok"],
    ),
    Question(
        "web",
        "Which exception does str.index raise when nothing is found ({base}/html/library/stdtypes.html)?",
        lambda t: [cut(t.described(STDTYPES, "str.index"), r"(raise ValueError)")],
        [fetch(STDTYPES, grep=r"str\. ?index\(", context="0-3")],
        [plain(STDTYPES, r"str\.index(", 5)],
        [f"curl -s {{base}}/{STDTYPES}", f"curl -s {{base}}/{STDTYPES} | sed 's/<[^>]*>//g' | grep -A12 'str.index'"],
    ),
    Question(
        "web",
        "Since which version is there str.removeprefix?",
        lambda t: [cut(t.described(STDTYPES, "str.removeprefix"), r"(New in version [\d.]+)")],
        [ask(STDTYPES, grep=r"^\W*str\. ?removeprefix", context="0-14")],
        [plain(STDTYPES, r"^str\.removeprefix(", 14)],
        [f"curl -s {{base}}/{STDTYPES} | sed 's/<[^>]*>//g' | grep -A20 removeprefix"],
    ),
    Question(
        "web",
        "Which sections has the chapter on built-in types about sets and dicts?",
        lambda t: [
            " ".join(h.text_content().replace("¶", "").split()).split(" — ")[0]
            for h in t.page(STDTYPES).xpath("//h2")
            if re.search("set,|dict", h.text_content())
        ],
        [ask(STDTYPES, grep="^## .*(Set|dict)")],
        [f"curl -s {{base}}/{STDTYPES} | grep -o '<h2>.*' | sed 's/<[^>]*>//g' | grep -E 'Set|dict'"],
        [f"curl -s {{base}}/{STDTYPES} | grep '<h[1-6]>'"],
    ),
    Question(
        "web",
        "What is the default of bufsize in subprocess.Popen ({base}/html/library/subprocess.html)?",
        lambda t: [re.compile(r"bufsize\W{1,8}-\\{0,2}1")],
        [fetch(SUBPROCESS, grep=r"class.*Popen\(")],
        [plain(SUBPROCESS, r"subprocess\.Popen(", 0)],
        [f"curl -s {{base}}/{SUBPROCESS}", f"curl -s {{base}}/{SUBPROCESS} | sed 's/<[^>]*>//g' | grep bufsize"],
    ),
    Question(
        "web",
        "What is subprocess.check_output equivalent to?",
        lambda t: [re.compile(r"run\(\.\.\., check=True, stdout=PIPE\)\.stdout")],
        [ask(SUBPROCESS, grep=r"is equivalent to", context="0-4")],
        [plain(SUBPROCESS, r"subprocess\.check_output(", 8)],
        [f"curl -s {{base}}/{SUBPROCESS} | sed 's/<[^>]*>//g' | grep -A20 'check_output('"],
    ),
    Question(
        "web",
        "{base}/html/library/json.html: what does json.tool's option --indent do, and which exclude it?",
        lambda t: ["--tab", "--no-indent", "--compact"],
        [fetch(JSON_DOC, grep="--indent", context="0-5")],
        [plain(JSON_DOC, "--indent", 5)],
        [f"curl -s {{base}}/{JSON_DOC}", f"curl -s {{base}}/{JSON_DOC} | sed 's/<[^>]*>//g' | tail -120"],
    ),
    # Source code and its documents.
    Question(
        "django",
        "Where in django-5.2.8/django is the class QuerySet defined?",
        lambda t: [re.compile(rf"query\.py\D{{0,40}}{t.lines(QUERY).index('class QuerySet(AltersData):') + 1}\b")],
        None,
        [f"grep -rn '^class QuerySet\\b' {DJANGO}"],
        ["grep -rn 'class QuerySet' django-5.2.8"],
    ),
    Question(
        "django",
        "Which parameters does QuerySet.bulk_create take?",
        lambda t: ["batch_size", "ignore_conflicts", "update_conflicts", "update_fields", "unique_fields"],
        [look(QUERY, grep=r"def bulk_create\(", context="0-9")],
        [f"grep -n -m1 -A12 'def bulk_create(' {QUERY}"],
        [f"cat {QUERY}", f"grep -A60 'def bulk_create(' {QUERY}"],
    ),
    Question(
        "django",
        "What does QuerySet.get raise when several objects are found?",
        lambda t: ["self.model.MultipleObjectsReturned"],
        [ask(QUERY, grep=r"raise self\.model\.")],
        [f"grep -n 'raise self.model' {QUERY}"],
        [f"grep -A40 'def get(self' {QUERY}"],
    ),
    Question(
        "django",
        "Show the body of QuerySet.in_bulk: which error for a field that is not unique?",
        lambda t: ["in_bulk()'s field_name must be a unique field"],
        [ask(QUERY, grep=r"def in_bulk\(", context="0-50")],
        [f"grep -n -A50 'def in_bulk(' {QUERY} | head -60"],
        [f"grep -A60 'def in_bulk(' {QUERY}"],
    ),
    Question(
        "django",
        "How many classes below django/db/models subclass Transform directly?",
        lambda t: [
            sum(
                len(re.findall(r"^class \w+\(Transform\):", path.read_text(), re.MULTILINE))
                for path in (t.work / DJANGO / "db" / "models").rglob("*.py")
            )
        ],
        None,
        [f"grep -rhE '^class \\w+\\(Transform\\):' {DJANGO}/db/models | wc -l"],
        [f"grep -rn '(Transform)' {DJANGO}/db/models", f"grep -rn '(Transform):' {DJANGO}/db/models | wc -l"],
    ),
    Question(
        "django",
        "Which are the backends in django/db/backends, and which have a file features.py?",
        lambda t: ["base", "dummy", "mysql", "oracle", "postgresql", "sqlite3"],
        None,
        [f"ls {DJANGO}/db/backends/*/features.py"],
        [f"find {DJANGO}/db/backends"],
    ),
    Question(
        "django",
        "Which management commands does Django's core have?",
        lambda t: [p.stem for p in (t.work / DJANGO / "core/management/commands").glob("*.py") if p.stem[0] != "_"],
        None,
        [f"ls {DJANGO}/core/management/commands"],
        [f"ls -la {DJANGO}/core/management/commands"],
    ),
    Question(
        "django",
        "What is the default of DATA_UPLOAD_MAX_MEMORY_SIZE (django-5.2.8/docs/ref/settings.txt)?",
        lambda t: [cut(t.text(SETTINGS), r"``DATA_UPLOAD_MAX_MEMORY_SIZE``\n-+\n\nDefault: ``(\d+)``")],
        [look(SETTINGS, grep="^``DATA_UPLOAD_MAX_MEMORY_SIZE", context="0-4")],
        [f"grep -n -A5 'DATA_UPLOAD_MAX_MEMORY_SIZE' {SETTINGS} | head -25"],
        [f"cat {SETTINGS}", f"grep -A10 'DATA_UPLOAD_MAX_MEMORY_SIZE' {SETTINGS}"],
    ),
    Question(
        "django",
        "Which values may SESSION_COOKIE_SAMESITE have?",
        lambda t: ["'Strict'", "'Lax'", "'None'"],
        None,
        [f"grep -A32 '^``SESSION_COOKIE_SAMESITE``' {SETTINGS}"],
        [f"grep -A50 'SESSION_COOKIE_SAMESITE' {SETTINGS}"],
    ),
    Question(
        "django",
        "How many release notes does Django have in docs/releases, and which is the newest?",
        lambda t: [t.count("django-5.2.8/docs/releases", "*.txt"), "5.2.8.txt"],
        None,
        ["ls django-5.2.8/docs/releases/*.txt | wc -l; ls -v django-5.2.8/docs/releases | grep '^[0-9]' | tail -1"],
        ["ls django-5.2.8/docs/releases", "ls django-5.2.8/docs/releases/*.txt | wc -l"],
    ),
    # Documents in PDF.
    Question(
        "pdf",
        "{base}/" + HYDRO + ": how many pages has it, and what is it about?",
        lambda t: [19, "National Hydro Network"],
        [fetch(HYDRO)],
        [f"cd $TMPDIR; curl -s {{base}}/{HYDRO} -o h.pdf; pdfinfo h.pdf | grep Pages; pdftotext -l 1 h.pdf - | head"],
        [f"curl -s {{base}}/{HYDRO} -o $TMPDIR/h.pdf; pdfinfo $TMPDIR/h.pdf; pdftotext $TMPDIR/h.pdf -"],
    ),
    Question(
        "pdf",
        "What changed in it in August 2004?",
        lambda t: [re.compile(r"validity_date")],
        [ask(HYDRO, grep="August 2004", context="0-4")],
        ["pdftotext -layout $TMPDIR/h.pdf - | grep -m1 -A4 'August 2004'"],
        [],
    ),
    Question(
        "pdf",
        "On which page of {base}/" + ONCOLOGY + " does the text first speak of lenvatinib?",
        lambda t: [
            next(
                place
                for place, page in enumerate(t.printed(f"pdftotext {ONCOLOGY} -").split("\f"), 1)
                if "lenvatinib" in page.lower()
            )
        ],
        [fetch(ONCOLOGY, grep="(?i)lenvatinib", max_tokens=250)],
        [f"curl -s {{base}}/{ONCOLOGY} -o $TMPDIR/o.pdf; {PAGE_OF_LENVATINIB}"],
        [
            f"curl -s {{base}}/{ONCOLOGY} -o $TMPDIR/o.pdf; pdftotext $TMPDIR/o.pdf -",
            PAGE_OF_LENVATINIB,
        ],
    ),
    Question(
        "pdf",
        "How many of the PDFs in pypdf-7.1.0/resources are there, and which is the largest?",
        lambda t: [
            sum(1 for path in (t.work / PDFS).glob("*.pdf")),
            max((t.work / PDFS).glob("*.pdf"), key=lambda path: path.stat().st_size).name,
        ],
        None,
        [f"ls {PDFS}/*.pdf | wc -l; ls -S {PDFS}/*.pdf | head -1"],
        [f"ls -laS {PDFS}", f"ls {PDFS}/*.pdf | wc -l"],
    ),
]
