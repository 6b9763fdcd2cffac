"""No command reaches another's session, the server or its helpers; everything that could be thought of is tried."""

import json
import sys

import attacks
import pytest
from attack_scripts import BASH, PYTHON
from peers import Peer, serving, token_file

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these walls are made of what Linux has")


THROUGH_HELPERS = ["cat", "open descriptors", "descriptors of directories", "/proc/*/root", "ptrace", "names and sizes"]
"""What is left to try where the helper of the own session is not walled off from its commands."""


@pytest.mark.parametrize(
    ("user", "means", "chosen"),
    [
        ("root", "bubblewrap + Landlock", None),
        ("user", "Landlock alone", None),
        ("user", "bubblewrap alone", THROUGH_HELPERS),
    ],
)
def test_every_attack_is_held(user, means, chosen):
    """With Landlock alone the names and command lines of others can be seen."""
    found = dict(attacks.run(user, means, 1, chosen))
    seen = {name for name, outcome in found.items() if outcome == "seen"}
    assert {name: outcome for name, outcome in found.items() if not outcome.startswith(("held", "seen"))} == {}
    assert seen == (set(attacks.SEEN) if means == "Landlock alone" else set())


@pytest.mark.parametrize("name", ["cat", "symbolic link", "/proc/*/root", "memfd and fexecve", "a swapped link"])
def test_the_scripts_find_what_they_look_for_where_they_may_read_it(own, name):
    script = BASH.get(name) or attacks.python(PYTHON[name])
    assert attacks.attack(own, script).startswith("secret 0")


@pytest.fixture(scope="module")
def own():
    """A stage on which the victim attacks himself."""
    with attacks.staged("root", "Landlock alone") as stage:
        stage.turn()
        yield stage


def test_a_file_of_tokens_in_the_workspace_can_neither_be_read_nor_replaced(tmp_path):
    (tmp_path / "work").mkdir()
    place = tmp_path / "work" / "tokens"
    (token,) = token_file(place, "ann")
    before = place.read_bytes()
    options = ["--root", tmp_path / "work", "--data-dir", tmp_path / "data", "--auth-tokens", place]
    with serving(*map(str, options)) as (_, url):
        ann = Peer(url, token)
        said = [
            ann.call("read_file", path="tokens"),
            ann.call("write_pdf", content="x", path="tokens", overwrite=True),
            ann.call("terminal", command="cat tokens; echo x > tokens; mv tokens moved; rm -f tokens; cat moved"),
        ]
        assert json.loads(ann.call("directory_tree")[0])["preview"].endswith("/  empty")
        ann.http.close()
    assert [is_error for _, is_error in said] == [True, True, False]
    assert before.partition(b":")[2].decode().strip() not in str(said)
    assert place.read_bytes() == before
