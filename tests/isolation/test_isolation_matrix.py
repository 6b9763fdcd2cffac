"""Nobody reaches another's artifacts, however he names them, over any transport, with tokens or without."""

import isolation
import pytest


@pytest.mark.parametrize(("principals", "transport"), isolation.columns())
def test_nothing_of_anothers_session_is_told(principals, transport):
    """What never existed is answered in the same words as what is another's; without tokens its handle is the key."""
    found = dict(isolation.run(principals, transport, every=5))
    opened = {name for name, outcome in found.items() if outcome == "opens"}
    assert {name: outcome for name, outcome in found.items() if outcome.startswith("LEAK")} == {}
    assert opened <= {name for name, (_, _, is_key) in isolation.ATTACKS.items() if is_key and principals == "one"}
    assert ("a reference, in 20 spellings" in opened) == (principals == "one")
