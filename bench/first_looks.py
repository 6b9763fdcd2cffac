"""First looks at many kinds of file and output, and what each has to name: keys, columns, failing tests, errors."""

import re
from collections.abc import Callable, Iterable

from question_set import (
    AIRPORTS,
    C_BUILD,
    CARS,
    CHANGES,
    CITIES,
    COUNTRIES,
    DATABASE,
    DJANGO,
    DPKG,
    FLIGHTS,
    HYDRO,
    JSON_DOC,
    LANGUAGES,
    LDAP,
    LOCK,
    NPM,
    ONCOLOGY,
    POSTFIX,
    PYPDF,
    QUERY,
    REGIONS,
    SECURITY,
    SETTINGS,
    SSHD,
    STDTYPES,
    SUBPROCESS,
    TESTS,
    WEATHER,
    Step,
    Things,
    fetch,
    look,
    run,
    tree,
)

Names = Callable[[Things], Iterable[object]]

PACKAGE = "project/node_modules/webpack/package.json"


def keys(path: str) -> Names:
    """Return what finds every key of an object, or of the entries of one or of a list."""

    def names(t: Things) -> set[str]:
        content = t.json(path)
        while isinstance(content, dict) and len(content) == 1:
            (content,) = content.values()
        entries = list(content.values()) if isinstance(content, dict) else content
        if isinstance(content, dict) and not all(isinstance(entry, dict) for entry in entries):
            return set(content)
        return {key for entry in entries for key in entry}

    return names


def columns(path: str) -> Names:
    return lambda t: t.rows(path)[0]


def found(path: str, pattern: str) -> Names:
    return lambda t: dict.fromkeys(re.findall(pattern, t.text(path), re.MULTILINE))


def chapters(path: str) -> Names:
    return lambda t: [
        re.split(" — |¶", " ".join(heading.text_content().split()))[0].strip() for heading in t.page(path).xpath("//h2")
    ]


def printed(command: str, pattern: str) -> Names:
    return lambda t: dict.fromkeys(re.findall(pattern, t.printed(command), re.MULTILINE))


def none(t: Things) -> Iterable[object]:
    return []


def seen(path: str, names: Names = none) -> tuple[str, Step, Names]:
    return path.rpartition("/")[2], look(path), names


def output(command: str, names: Names = none) -> tuple[str, Step, Names]:
    return f"$ {command}"[:52], run(command), names


LOOKS: list[tuple[str, Step, Names]] = [
    seen(CITIES, keys(CITIES)),
    seen("geo/cities1000.json", keys("geo/cities1000.json")),
    seen(COUNTRIES, keys(COUNTRIES)),
    seen(LANGUAGES, keys(LANGUAGES)),
    seen(REGIONS, keys(REGIONS)),
    seen(CARS, keys(CARS)),
    seen(LOCK, keys(LOCK)),
    seen(PACKAGE, keys(PACKAGE)),
    seen(FLIGHTS, columns(FLIGHTS)),
    seen("flights/planes.csv", columns("flights/planes.csv")),
    seen("flights/weather.csv", columns("flights/weather.csv")),
    seen(AIRPORTS, columns(AIRPORTS)),
    seen(WEATHER, columns(WEATHER)),
    seen(DATABASE, printed(f"sqlite3 {DATABASE} .schema", r"CREATE TABLE (\w+)")),
    seen(TESTS, found(TESTS, r"^(?:FAILED|ERROR) \S*::(\w+)")),
    seen(C_BUILD, found(C_BUILD, r"(?:member named |error: )‘(\w+)’")),
    seen(LDAP, found(LDAP, r"fatal error: (\S+)")),
    seen(NPM, found(NPM, r"^(added \d+ packages)")),
    seen(DPKG),
    seen(SSHD),
    seen(POSTFIX),
    seen("logs/dovecot"),
    seen("logs/apache-auth"),
    seen(QUERY, found(QUERY, r"^class (\w+)")),
    seen(f"{DJANGO}/db/models/fields/__init__.py", found(f"{DJANGO}/db/models/fields/__init__.py", r"^class (\w+)")),
    seen("project/node_modules/express/lib/application.js"),
    seen("project/node_modules/webpack/lib/Compiler.js"),
    seen("django-5.2.8/django/contrib/admin/static/admin/css/base.css"),
    seen("django-5.2.8/django/contrib/admin/static/admin/js/vendor/jquery/jquery.min.js"),
    seen(SETTINGS),
    seen(PYPDF, found(PYPDF, r"^## Version (7\.[\d.]+)")),
    seen(CHANGES),
    seen(SECURITY),
    ("stdtypes.html", fetch(STDTYPES), chapters(STDTYPES)),
    ("subprocess.html", fetch(SUBPROCESS), chapters(SUBPROCESS)),
    ("json.html", fetch(JSON_DOC), chapters(JSON_DOC)),
    ("PDF of 19 pages", fetch(HYDRO), none),
    ("PDF of 137 pages", fetch(ONCOLOGY), none),
    ("tree of node_modules", tree("project"), none),
    ("tree of Django", tree("django-5.2.8"), lambda t: [path.name for path in (t.work / "django-5.2.8").iterdir()]),
    output(f"cat {TESTS}", found(TESTS, r"^(?:FAILED|ERROR) \S*::(\w+)")),
    output(f"cat {C_BUILD}", found(C_BUILD, r"(?:member named |error: )‘(\w+)’")),
    output(f'jq \'.["BT", "CH", "FR"]\' {COUNTRIES}', keys(COUNTRIES)),
    output(f"sqlite3 -header {DATABASE} 'select * from flights limit 300'", columns(FLIGHTS)),
    output("ls -la django-5.2.8/django", lambda t: [path.name for path in (t.work / "django-5.2.8/django").iterdir()]),
    output("cd project && npm ls --all"),
    output("diff -r -u django-5.2.8/django/conf/locale/de django-5.2.8/django/conf/locale/fr"),
    output("grep -rn 'import [*]' django-5.2.8/tests | head -200"),
    output("cd project && npm run nothing"),
    output("curl -s {base}/html/library/json.html", none),
]
