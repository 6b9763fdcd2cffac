"""No text that a stranger writes makes a pattern slow in the server's own process."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no timers of processor time on Windows")

_PROGRAM = Path(__file__).parent / "support" / "patterns_on_runs.py"
_PATTERNS_AT_LEAST = 40


def test_every_pattern_of_the_server_keeps_its_bound_of_processor_time_on_long_runs_of_its_own_signs():
    ran = subprocess.run([sys.executable, _PROGRAM], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ""
    assert int(ran.stderr) > _PATTERNS_AT_LEAST


def test_the_bound_finds_a_pattern_that_goes_back_and_forth():
    program = (
        "import re, patterns_on_runs as p; "
        r"print(p.ends(p.Use('', re.compile(r'^(#{1,6})\s+(.+?)\s*#*$'), frozenset({'match'}))), "
        r"p.ends(p.Use('', re.compile(r'!\[([^\]]*)\]\([^)]*\)'), frozenset({'sub'}))), "
        r"p.ends(p.Use('', re.compile(r'\\*\"omitted'), frozenset({'search'}))))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=_PROGRAM.parent
    )
    assert ran.stdout.split() == ["False", "False", "False"]
