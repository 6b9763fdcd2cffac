"""Nobody reaches another's artifacts, however he names them, over any transport, with tokens or without."""

import isolation
import pytest


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize(
    ("at", "principals", "transport"),
    [(0, "one", "stdio"), (1, "one", "handshake HTTP"), (2, "two", "modern HTTP"), (3, "two", "stateless HTTP")],
)
def test_nothing_of_anothers_session_is_told(at, principals, transport):
    """What never existed is answered in the same words as what is another's; without tokens its handle is the key.

    Each transport once, with some of the spellings of a path, and each with others. All of it: long/isolation.py.
    """
    found = dict(isolation.run(principals, transport, spellings=slice(at, None, 20)))
    opened = {name for name, outcome in found.items() if outcome == "opens"}
    assert {name: outcome for name, outcome in found.items() if outcome.startswith("LEAK")} == {}
    assert opened <= {name for name, (_, _, is_key) in isolation.ATTACKS.items() if is_key and principals == "one"}
    assert ("a reference, in 20 spellings" in opened) == (principals == "one")


@pytest.mark.parametrize(("principals", "transport"), [("one", "stdio"), ("two", "handshake HTTP")])
def test_without_namespaces_commands_alone_can_tell_what_exists(principals, transport):
    """Landlock alone does not hide from a command that a file exists; no tool tells it, and nothing what is in it."""
    chosen = [name for name, (_, _, is_key) in isolation.ATTACKS.items() if not is_key]
    found = dict(isolation.run(principals, transport, chosen, spellings=slice(0, None, 20), means="Landlock alone"))
    assert {name: outcome for name, outcome in found.items() if not outcome.startswith("held")} == {
        isolation.IN_COMMANDS: found[isolation.IN_COMMANDS]
    }
    assert found[isolation.IN_COMMANDS].startswith("seen")
