"""Promises of tests/conftest.py: no run is green in CI because nothing of importance could be run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

TEST = """
import pytest

@pytest.mark.needs("mounts")
def test_that_needs_a_right(): ...

def test_that_needs_nothing(): ...
"""


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({}, 0, "mounts: not on this system"),
        ({"CI": "true"}, 1, "Failed for want of mounts"),
        ({"CI": "true", "BURSAR_CI_MAY_LACK": "bwrap"}, 1, "Failed for want of mounts"),
        (
            {"CI": "true", "BURSAR_CI_MAY_LACK": "bwrap, mounts"},
            0,
            "Done without, as BURSAR_CI_MAY_LACK allows: mounts",
        ),
    ],
)
def test_a_right_that_is_missing_fails_a_run_of_ci_unless_it_may_lack_it(tmp_path, given, code, said):
    for name in ("conftest.py", "support/needs.py"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "test_sample.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "BURSAR_CI_MAY_LACK")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", tmp_path]
    environment = kept | {"PATH": "", "PYTEST_ADDOPTS": ""} | given
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout
