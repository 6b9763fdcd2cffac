"""The baselines of the conformance suite excuse nothing without a reason, and no required scenario of the fixtures."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BASELINES = sorted(HERE.glob("baseline-*.yml"))
ENTRY = re.compile(r"  - (?P<scenario>[a-z0-9-]+)(:(?P<check>\S+))?  # (?P<reason>\S.{14,})")


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda path: path.stem)
def test_every_excuse_has_a_reason(baseline):
    head, section, *entries = baseline.read_text("utf-8").splitlines()
    assert head.startswith("# ")
    assert section == "server:"
    assert entries
    for entry in entries:
        assert ENTRY.fullmatch(entry), entry


@pytest.mark.parametrize("baseline", [path for path in BASELINES if "fixture" in path.stem], ids=lambda path: path.stem)
def test_the_fixtures_are_excused_single_checks_at_most(baseline):
    for entry in baseline.read_text("utf-8").splitlines()[2:]:
        found = ENTRY.fullmatch(entry)
        assert found
        assert found["check"], entry
