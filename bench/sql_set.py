"""Questions that a query answers: in words, the query, and the answer as Python computes it from the things."""

import csv
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FLIGHTS, PLANES, WEATHER, AIRLINES, DATABASE = (
    f"flights/{name}" for name in ("flights.csv", "planes.csv", "weather.csv", "airlines.csv", "flights.db")
)
RAIN, AIRPORTS, CARS = "vega/seattle-weather.csv", "vega/airports.csv", "vega/cars.json"
CITIES, COUNTRIES = "geo/cities15000.json", "geo/countries.json"
LANGUAGES, REGIONS = "iso/iso639-3.json", "iso/iso3166-2.json"
LOCK, PACKAGE = "project/package-lock.json", "project/node_modules/webpack/package.json"
DPKG, NPM, TESTS = "output/dpkg.log", "output/npm-install.log", "output/pytest.log"
SSHD, DOVECOT = "logs/sshd", "logs/dovecot"
PYPDF = "pypdf-7.1.0/CHANGELOG.md"


class Things:
    """Reads the things without any SQL."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.rows, self.json, self.lines = map(cache, (self._rows, self._json, self._lines))

    def _rows(self, path: str) -> list[dict[str, str]]:
        with open(self.work / path, newline="") as table:
            return list(csv.DictReader(table))

    def _json(self, path: str) -> Any:
        return json.loads((self.work / path).read_text())

    def _lines(self, path: str) -> list[str]:
        return (self.work / path).read_text(errors="replace").split("\n")

    def stored(self, table: str) -> list[dict[str, str]]:
        with sqlite3.connect(self.work / DATABASE) as database:
            database.row_factory = sqlite3.Row
            return list(map(dict, database.execute(f"SELECT * FROM {table}")))

    def matches(self, path: str, pattern: str) -> list[str]:
        return [
            found[1] if found.re.groups else found[0]
            for line in self.lines(path)
            if (found := re.search(pattern, line))
        ]

    def parts(self, path: str, pattern: str) -> list[tuple[str, ...]]:
        return [found.groups() for line in self.lines(path) if (found := re.search(pattern, line))]


def numbers(rows: Iterable[dict[str, str]], name: str) -> list[float]:
    return [float(row[name]) for row in rows if row[name] not in ("", "NA")]


def most(items: Iterable[Any], count: int) -> list[tuple[Any, int]]:
    """Return the most frequent, of equals the first by name."""
    return sorted(Counter(items).items(), key=lambda one: (-one[1], one[0]))[:count]


def one(value: Any) -> list[tuple[Any]]:
    return [(value,)]


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        paths: what it is about: the first is `t`, the others stand in the query as {1}, {2}.
        text: as it is asked.
        sql: the query.
        answer: returns the rows of the answer, in any order.
        looks: the names in the query are not those of the question, so that a look comes before it.
    """

    paths: tuple[str, ...]
    text: str
    sql: str
    answer: Callable[[Things], Iterable[tuple[Any, ...]]]
    looks: bool = False


def ask(paths: str, text: str, sql: str, answer: Callable[[Things], Iterable[tuple[Any, ...]]], *, looks: bool = False):
    return Question(tuple(paths.split()), text, sql, answer, looks)


QUESTIONS = [
    ask(FLIGHTS, "How many rows?", "SELECT count(*) FROM t", lambda t: one(len(t.rows(FLIGHTS)))),
    ask(
        FLIGHTS,
        "How many flights had each carrier?",
        "SELECT carrier, count(*) FROM t GROUP BY 1",
        lambda t: Counter(r["carrier"] for r in t.rows(FLIGHTS)).items(),
    ),
    ask(
        FLIGHTS,
        "Which five dest were flown to most?",
        "SELECT dest, count(*) AS n FROM t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5",
        lambda t: most((r["dest"] for r in t.rows(FLIGHTS)), 5),
    ),
    ask(
        FLIGHTS,
        "What is the greatest distance, and from which origin?",
        "SELECT DISTINCT distance, origin FROM t WHERE distance = (SELECT max(distance) FROM t)",
        lambda t: {
            (d, r["origin"])
            for d in [max(numbers(t.rows(FLIGHTS), "distance"))]
            for r in t.rows(FLIGHTS)
            if float(r["distance"]) == d
        },
    ),
    ask(
        FLIGHTS,
        "How many flights left with no dep_time (NA)?",
        "SELECT count(*) FROM t WHERE dep_time = 'NA'",
        lambda t: one(sum(r["dep_time"] == "NA" for r in t.rows(FLIGHTS))),
    ),
    ask(
        FLIGHTS,
        "The mean dep_delay of each origin, to one decimal?",
        "SELECT origin, round(avg(TRY_CAST(dep_delay AS DOUBLE)), 1) FROM t GROUP BY 1",
        lambda t: [
            (o, round(sum(n) / len(n), 1))
            for o in ("EWR", "JFK", "LGA")
            for n in [numbers((r for r in t.rows(FLIGHTS) if r["origin"] == o), "dep_delay")]
        ],
        looks=True,
    ),
    ask(
        FLIGHTS,
        "In which month were most flights?",
        "SELECT month, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
        lambda t: most((int(r["month"]) for r in t.rows(FLIGHTS)), 1),
    ),
    ask(
        FLIGHTS,
        "How many different tailnum are there?",
        "SELECT count(DISTINCT tailnum) FROM t",
        lambda t: one(len({r["tailnum"] for r in t.rows(FLIGHTS)})),
    ),
    ask(
        FLIGHTS,
        "How many flights were more than two hours late on arrival?",
        "SELECT count(*) FROM t WHERE TRY_CAST(arr_delay AS INT) > 120",
        lambda t: one(sum(n > 120 for n in numbers(t.rows(FLIGHTS), "arr_delay"))),
        looks=True,
    ),
    ask(
        FLIGHTS,
        "The median air_time to dest LAX?",
        "SELECT median(TRY_CAST(air_time AS DOUBLE)) FROM t WHERE dest = 'LAX'",
        lambda t: (
            one(sorted(n)[len(n) // 2] if len(n) % 2 else sum(sorted(n)[len(n) // 2 - 1 : len(n) // 2 + 1]) / 2)
            if (n := numbers((r for r in t.rows(FLIGHTS) if r["dest"] == "LAX"), "air_time"))
            else []
        ),
    ),
    ask(
        f"{FLIGHTS} {AIRLINES}",
        "How many flights had the airline named JetBlue Airways?",
        "SELECT count(*) FROM t JOIN {1} a USING (carrier) WHERE a.name = 'JetBlue Airways'",
        lambda t: one(sum(r["carrier"] == "B6" for r in t.rows(FLIGHTS))),
        looks=True,
    ),
    ask(
        f"{FLIGHTS} {PLANES}",
        "Flights by the manufacturer of the plane, the three with most?",
        "SELECT manufacturer, count(*) FROM t JOIN {1} USING (tailnum) GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
        lambda t: most(
            (
                m[r["tailnum"]]
                for m in [{p["tailnum"]: p["manufacturer"] for p in t.rows(PLANES)}]
                for r in t.rows(FLIGHTS)
                if r["tailnum"] in m
            ),
            3,
        ),
        looks=True,
    ),
    ask(
        f"{FLIGHTS} {PLANES}",
        "How many tailnum flew that are not among the planes?",
        "SELECT count(DISTINCT tailnum) FROM t ANTI JOIN {1} USING (tailnum)",
        lambda t: one(len({r["tailnum"] for r in t.rows(FLIGHTS)} - {p["tailnum"] for p in t.rows(PLANES)})),
    ),
    ask(
        f"{FLIGHTS} {WEATHER}",
        "At how many departures was the visibility below one mile?",
        "SELECT count(*) FROM t JOIN {1} w USING (origin, year, month, day, hour) WHERE TRY_CAST(w.visib AS DOUBLE) < 1",
        lambda t: one(
            sum(
                c[tuple(r[k] for k in ("origin", "year", "month", "day", "hour"))]
                for c in [
                    Counter(
                        tuple(w[k] for k in ("origin", "year", "month", "day", "hour"))
                        for w in t.rows(WEATHER)
                        if float(w["visib"]) < 1
                    )
                ]
                for r in t.rows(FLIGHTS)
            )
        ),
        looks=True,
    ),
    ask(
        PLANES,
        "How many planes of each type?",
        "SELECT type, count(*) FROM t GROUP BY 1",
        lambda t: Counter(r["type"] for r in t.rows(PLANES)).items(),
    ),
    ask(
        PLANES,
        "Which model has most seats?",
        "SELECT DISTINCT model FROM t WHERE seats = (SELECT max(seats) FROM t)",
        lambda t: {
            (r["model"],) for r in t.rows(PLANES) if int(r["seats"]) == max(int(p["seats"]) for p in t.rows(PLANES))
        },
    ),
    ask(
        PLANES,
        "How many planes were built before 1970?",
        "SELECT count(*) FROM t WHERE TRY_CAST(year AS INT) < 1970",
        lambda t: one(sum(n < 1970 for n in numbers(t.rows(PLANES), "year"))),
        looks=True,
    ),
    ask(
        PLANES,
        "The mean seats by engine, rounded?",
        "SELECT engine, round(avg(seats)) FROM t GROUP BY 1",
        lambda t: [
            (e, float(round(sum(n) / len(n))))
            for e in {r["engine"] for r in t.rows(PLANES)}
            for n in [numbers((r for r in t.rows(PLANES) if r["engine"] == e), "seats")]
        ],
    ),
    ask(
        WEATHER,
        "The highest temp at each origin?",
        "SELECT origin, max(TRY_CAST(temp AS DOUBLE)) FROM t GROUP BY 1",
        lambda t: [
            (o, max(numbers((r for r in t.rows(WEATHER) if r["origin"] == o), "temp"))) for o in ("EWR", "JFK", "LGA")
        ],
        looks=True,
    ),
    ask(
        WEATHER,
        "How many hours had any precip?",
        "SELECT count(*) FROM t WHERE precip > 0",
        lambda t: one(sum(n > 0 for n in numbers(t.rows(WEATHER), "precip"))),
    ),
    ask(
        RAIN,
        "How many days of each weather?",
        "SELECT weather, count(*) FROM t GROUP BY 1",
        lambda t: Counter(r["weather"] for r in t.rows(RAIN)).items(),
    ),
    ask(
        RAIN,
        "On which date was temp_max highest?",
        "SELECT strftime(date, '%Y-%m-%d') FROM t ORDER BY temp_max DESC LIMIT 1",
        lambda t: one(max(t.rows(RAIN), key=lambda r: float(r["temp_max"]))["date"].replace("/", "-")),
        looks=True,
    ),
    ask(
        RAIN,
        "The sum of precipitation in each year, to one decimal?",
        "SELECT year(date), round(sum(precipitation), 1) FROM t GROUP BY 1",
        lambda t: [
            (int(y), round(sum(float(r["precipitation"]) for r in t.rows(RAIN) if r["date"].startswith(y)), 1))
            for y in ("2012", "2013", "2014", "2015")
        ],
        looks=True,
    ),
    ask(
        AIRPORTS,
        "How many airports in each state, the four with most?",
        "SELECT state, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 4",
        lambda t: most((r["state"] for r in t.rows(AIRPORTS)), 4),
    ),
    ask(
        AIRPORTS,
        "The name of iata SEA?",
        "SELECT name FROM t WHERE iata = 'SEA'",
        lambda t: [(r["name"],) for r in t.rows(AIRPORTS) if r["iata"] == "SEA"],
    ),
    ask(
        f"{AIRPORTS} {FLIGHTS}",
        "How many flights went to airports in Florida?",
        "SELECT count(*) FROM t JOIN {1} f ON f.dest = t.iata WHERE t.state = 'FL'",
        lambda t: one(
            sum(
                r["dest"] in f
                for f in [{a["iata"] for a in t.rows(AIRPORTS) if a["state"] == "FL"}]
                for r in t.rows(FLIGHTS)
            )
        ),
        looks=True,
    ),
    ask(
        CARS,
        "The mean Horsepower of the cars of each Origin, to one decimal?",
        "SELECT Origin, round(avg(Horsepower), 1) FROM t GROUP BY 1",
        lambda t: [
            (o, round(sum(n) / len(n), 1))
            for o in ("USA", "Europe", "Japan")
            for n in [[c["Horsepower"] for c in t.json(CARS) if c["Origin"] == o and c["Horsepower"] is not None]]
        ],
    ),
    ask(
        CARS,
        "How many cars have no Miles_per_Gallon?",
        "SELECT count(*) FROM t WHERE Miles_per_Gallon IS NULL",
        lambda t: one(sum(c["Miles_per_Gallon"] is None for c in t.json(CARS))),
    ),
    ask(
        CARS,
        "Which Name is heaviest?",
        "SELECT Name FROM t ORDER BY Weight_in_lbs DESC LIMIT 1",
        lambda t: one(max(t.json(CARS), key=lambda c: c["Weight_in_lbs"])["Name"]),
        looks=True,
    ),
    ask(
        CARS,
        "How many cars by Cylinders?",
        "SELECT Cylinders, count(*) FROM t GROUP BY 1",
        lambda t: Counter(c["Cylinders"] for c in t.json(CARS)).items(),
    ),
    ask(
        COUNTRIES,
        "Which countries have more than 200 million people?",
        "SELECT name FROM t WHERE population > 200000000",
        lambda t: [(c["name"],) for c in t.json(COUNTRIES).values() if c["population"] > 200000000],
        looks=True,
    ),
    ask(
        COUNTRIES,
        "How many countries are on each continent?",
        "SELECT continentcode, count(*) FROM t GROUP BY 1",
        lambda t: Counter(c["continentcode"] for c in t.json(COUNTRIES).values()).items(),
        looks=True,
    ),
    ask(
        COUNTRIES,
        "What is the capital under the key CH?",
        "SELECT capital FROM t WHERE key = 'CH'",
        lambda t: one(t.json(COUNTRIES)["CH"]["capital"]),
    ),
    ask(
        COUNTRIES,
        "Which currencyname do most use?",
        "SELECT currencyname, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
        lambda t: most((c["currencyname"] for c in t.json(COUNTRIES).values()), 1),
    ),
    ask(
        CITIES,
        "How many cities, and how many people in all?",
        "SELECT count(*), sum(population) FROM t",
        lambda t: [(len(t.json(CITIES)), sum(c["population"] for c in t.json(CITIES).values()))],
        looks=True,
    ),
    ask(
        CITIES,
        "The five countrycode with most cities?",
        "SELECT countrycode, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
        lambda t: most((c["countrycode"] for c in t.json(CITIES).values()), 5),
    ),
    ask(
        CITIES,
        "Which city has most alternatenames?",
        "SELECT name FROM t ORDER BY len(alternatenames) DESC LIMIT 1",
        lambda t: one(max(t.json(CITIES).values(), key=lambda c: len(c["alternatenames"]))["name"]),
    ),
    ask(
        CITIES,
        "How many alternatenames begin with Z?",
        "SELECT count(*) FROM (SELECT unnest(alternatenames) AS a FROM t) WHERE a LIKE 'Z%'",
        lambda t: one(sum(a.startswith("Z") for c in t.json(CITIES).values() for a in c["alternatenames"])),
    ),
    ask(
        f"{CITIES} {COUNTRIES}",
        "How many cities are in countries of Africa?",
        "SELECT count(*) FROM t JOIN {1} c ON c.key = t.countrycode WHERE c.continentcode = 'AF'",
        lambda t: one(
            sum(
                t.json(COUNTRIES)[c["countrycode"]]["continentcode"] == "AF"
                for c in t.json(CITIES).values()
                if c["countrycode"] in t.json(COUNTRIES)
            )
        ),
        looks=True,
    ),
    ask(
        f"{CITIES} {COUNTRIES}",
        "The largest city of Brazil?",
        "SELECT t.name FROM t JOIN {1} c ON c.key = t.countrycode WHERE c.name = 'Brazil' ORDER BY t.population DESC LIMIT 1",
        lambda t: one(
            max((c for c in t.json(CITIES).values() if c["countrycode"] == "BR"), key=lambda c: c["population"])["name"]
        ),
        looks=True,
    ),
    ask(
        LANGUAGES,
        "How many languages of each type?",
        'SELECT type, count(*) FROM t."639-3" GROUP BY 1',
        lambda t: Counter(x["type"] for x in t.json(LANGUAGES)["639-3"]).items(),
        looks=True,
    ),
    ask(
        LANGUAGES,
        "The name of alpha_3 rm?",
        "SELECT name FROM \"639-3\" WHERE alpha_2 = 'rm'",
        lambda t: [(x["name"],) for x in t.json(LANGUAGES)["639-3"] if x.get("alpha_2") == "rm"],
        looks=True,
    ),
    ask(
        REGIONS,
        "How many regions have a parent?",
        'SELECT count(parent) FROM "3166-2"',
        lambda t: one(sum("parent" in x for x in t.json(REGIONS)["3166-2"])),
        looks=True,
    ),
    ask(
        f"{REGIONS} {COUNTRIES}",
        "How many regions have the countries of Europe together?",
        "SELECT count(*) FROM t.\"3166-2\" r JOIN {1} c ON c.key = split_part(r.code, '-', 1) WHERE c.continentcode = 'EU'",
        lambda t: one(
            sum(
                t.json(COUNTRIES).get(x["code"].partition("-")[0], {}).get("continentcode") == "EU"
                for x in t.json(REGIONS)["3166-2"]
            )
        ),
        looks=True,
    ),
    ask(
        LOCK,
        "How many packages of each license?",
        "SELECT license, count(*) FROM packages GROUP BY 1",
        lambda t: Counter(p.get("license") or "" for p in t.json(LOCK)["packages"].values()).items(),
    ),
    ask(
        LOCK,
        "Which version of node_modules/debug is in packages, by key?",
        "SELECT version FROM packages WHERE key = 'node_modules/debug'",
        lambda t: one(t.json(LOCK)["packages"]["node_modules/debug"]["version"]),
    ),
    ask(
        LOCK,
        "Which packages want ms in their dependencies?",
        "SELECT key FROM packages WHERE json_exists(dependencies, '$.ms')",
        lambda t: [(k,) for k, p in t.json(LOCK)["packages"].items() if "ms" in p.get("dependencies", {})],
    ),
    ask(
        LOCK,
        "What lockfileVersion is it?",
        "SELECT lockfileVersion FROM t",
        lambda t: one(t.json(LOCK)["lockfileVersion"]),
    ),
    ask(
        PACKAGE,
        "What version of webpack is it, and which license?",
        "SELECT version, license FROM t",
        lambda t: [(t.json(PACKAGE)["version"], t.json(PACKAGE)["license"])],
    ),
    ask(
        DATABASE,
        "How many rows has the table planes?",
        "SELECT count(*) FROM planes",
        lambda t: one(len(t.stored("planes"))),
    ),
    ask(
        DATABASE,
        "How many flights has each carrier?",
        "SELECT carrier, count(*) FROM flights GROUP BY 1",
        lambda t: Counter(r["carrier"] for r in t.stored("flights")).items(),
    ),
    ask(
        DATABASE,
        "Flights by the name of the airline, the two with most?",
        "SELECT a.name, count(*) FROM flights JOIN airlines a USING (carrier) GROUP BY 1 ORDER BY 2 DESC LIMIT 2",
        lambda t: [
            (a, n)
            for names in [{r["carrier"]: r["name"] for r in t.stored("airlines")}]
            for c, n in most((r["carrier"] for r in t.stored("flights")), 2)
            for a in [names[c]]
        ],
        looks=True,
    ),
    ask(
        f"{DATABASE} {WEATHER}",
        "How many flights of the database left in hours with precip above 0.5?",
        "SELECT count(*) FROM flights f JOIN {1} w ON (f.origin, f.month, f.day, f.hour) = (w.origin, w.month, w.day, w.hour) WHERE w.precip > 0.5",
        lambda t: one(
            sum(
                c[r["origin"], int(r["month"]), int(r["day"]), int(r["hour"])]
                for c in [
                    Counter(
                        (w["origin"], int(w["month"]), int(w["day"]), int(w["hour"]))
                        for w in t.rows(WEATHER)
                        if float(w["precip"]) > 0.5
                    )
                ]
                for r in t.stored("flights")
            )
        ),
        looks=True,
    ),
    ask(
        DPKG,
        "How many lines of each action (the third word)?",
        "SELECT split_part(line, ' ', 3), count(*) FROM t GROUP BY 1",
        lambda t: Counter(line.split(" ")[2] for line in t.lines(DPKG) if line).items(),
    ),
    ask(
        DPKG,
        "Which packages were upgraded?",
        "SELECT DISTINCT regexp_extract(line, ' upgrade (\\S+?):', 1) FROM t WHERE line LIKE '% upgrade %'",
        lambda t: {(x,) for x in t.matches(DPKG, r" upgrade (\S+?):")},
    ),
    ask(
        DPKG,
        "On which day was most installed?",
        "SELECT line[:10], count(*) FROM t WHERE line LIKE '% install %' GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
        lambda t: most((x[:10] for x in t.lines(DPKG) if " install " in x), 1),
    ),
    ask(
        DPKG,
        "In which line was tzdata first named?",
        "SELECT min(n) FROM t WHERE line LIKE '%tzdata%'",
        lambda t: one(next(n for n, x in enumerate(t.lines(DPKG), 1) if "tzdata" in x)),
    ),
    ask(
        DPKG,
        "How many packages of each architecture were installed?",
        "SELECT arch, count(*) FROM (SELECT unnest(regexp_extract(line, ' install (\\S+?):(\\S+)', ['package', 'arch'])) FROM t) WHERE arch <> '' GROUP BY 1",
        lambda t: Counter(t.matches(DPKG, r" install \S+?:(\S+)")).items(),
    ),
    ask(
        NPM,
        "How many lines of each level (the second word)?",
        "SELECT split_part(line, ' ', 2), count(*) FROM t WHERE line LIKE 'npm %' GROUP BY 1",
        lambda t: Counter(x.split(" ")[1] for x in t.lines(NPM) if x.startswith("npm ")).items(),
    ),
    ask(
        NPM,
        "The mean milliseconds of http fetches that tell them, rounded?",
        "SELECT round(avg(regexp_extract(line, ' (\\d+)ms', 1)::INT)) FROM t WHERE regexp_matches(line, 'http fetch .* \\d+ms')",
        lambda t: (
            one(float(round(sum(n) / len(n))))
            if (n := [int(x) for x in t.matches(NPM, r"http fetch .*? (\d+)ms")])
            else []
        ),
    ),
    ask(
        TESTS,
        "How many lines name a failed test?",
        "SELECT count(*) FROM t WHERE line LIKE 'FAILED %'",
        lambda t: one(sum(x.startswith("FAILED ") for x in t.lines(TESTS))),
    ),
    ask(
        SSHD,
        "How many different addresses stand behind from?",
        "SELECT count(DISTINCT regexp_extract(line, 'from (\\d+\\.\\d+\\.\\d+\\.\\d+)', 1)) FILTER (regexp_matches(line, 'from \\d+\\.\\d+\\.\\d+\\.\\d+')) FROM t",
        lambda t: one(len(set(t.matches(SSHD, r"from (\d+\.\d+\.\d+\.\d+)")))),
    ),
    ask(
        f"{SSHD} {DOVECOT}",
        "Which addresses are in both logs?",
        "SELECT DISTINCT regexp_extract(t.line, '\\d+\\.\\d+\\.\\d+\\.\\d+') AS ip FROM t WHERE ip <> '' AND ip IN (SELECT regexp_extract(line, '\\d+\\.\\d+\\.\\d+\\.\\d+') FROM {1})",
        lambda t: (
            {(x,) for x in t.matches(SSHD, r"\d+\.\d+\.\d+\.\d+")}
            & {(x,) for x in t.matches(DOVECOT, r"\d+\.\d+\.\d+\.\d+")}
        ),
    ),
    ask(
        PYPDF,
        "How many versions has the changelog, by lines that begin with ## Version?",
        "SELECT count(*) FROM t WHERE line LIKE '## Version%'",
        lambda t: one(sum(x.startswith("## Version") for x in t.lines(PYPDF))),
    ),
]
