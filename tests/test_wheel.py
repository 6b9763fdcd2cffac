"""What an installation brings along, and what starting it loads."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from rooms import ROOMS, ROOT


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """The files of a wheel built from this checkout."""
    place = tmp_path_factory.mktemp("wheel")
    subprocess.run(["uv", "build", "--quiet", "--wheel", "--out-dir", place, ROOT], check=True)
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        return [Path(name) for name in files.namelist()]


def test_nothing_but_bursar_lands_among_the_packages(held):
    assert {file.parts[0] for file in held if not file.parts[0].endswith(".dist-info")} == {"bursar"}


def test_the_wheel_holds_every_room_and_every_module_of_it(held):
    assert {file.parts[1] for file in held if len(file.parts) > 2 and file.parts[0] == "bursar"} == set(ROOMS)
    modules = {Path("bursar") / file.relative_to(ROOT) for room in ROOMS for file in (ROOT / room).rglob("*.py")}
    assert modules <= set(held)
    assert Path("bursar/py.typed") in held


def test_the_server_starts_without_the_heavy_libraries():
    heavy = {"tiktoken", "regex", "pathspec", "charset_normalizer", "lxml", "PIL", "typst", "turbohtml", "rich"}
    code = f"import sys, bursar.server.stdio; print(sorted({heavy!r} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
