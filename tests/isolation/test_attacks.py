"""No command reaches another's session, the server or its helpers; everything that could be thought of is tried."""

import sys

import attacks
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these walls are made of what Linux has")


@pytest.mark.parametrize(
    ("user", "means"), [("root", "bubblewrap + Landlock"), ("user", "Landlock alone"), ("user", "bubblewrap alone")]
)
def test_every_attack_is_held(user, means):
    """With one of the means only, the names and command lines of others can be seen."""
    found = dict(attacks.run(user, means, 1))
    seen = {name for name, outcome in found.items() if outcome == "seen"}
    assert {name: outcome for name, outcome in found.items() if not outcome.startswith(("held", "seen"))} == {}
    assert seen == (set(attacks.SEEN) if means == "Landlock alone" else set())
