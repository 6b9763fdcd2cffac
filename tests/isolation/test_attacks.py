"""No command reaches another's session, the server or its helpers; everything that could be thought of is tried."""

import sys

import attacks
import pytest
from attack_scripts import BASH, PYTHON
from peers import Peer, serving, token_file
from replies import reply_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these walls are made of what Linux has")


THROUGH_HELPERS = ["cat", "open descriptors", "descriptors of directories", "/proc/*/root", "ptrace", "names and sizes"]
"""What is left to try where the helper of the own session is not walled off from its commands."""


@pytest.mark.parametrize(
    ("user", "means", "chosen"),
    [
        pytest.param("root", "namespaces + Landlock", None, marks=pytest.mark.needs("root", "namespaces")),
        pytest.param("user", "Landlock alone", None, marks=pytest.mark.needs("user namespaces")),
        pytest.param("user", "namespaces alone", THROUGH_HELPERS, marks=pytest.mark.needs("user namespaces")),
        pytest.param("user", "bubblewrap alone", THROUGH_HELPERS, marks=pytest.mark.needs("user namespaces", "bwrap")),
    ],
)
def test_every_attack_is_held(user, means, chosen):
    """With Landlock alone the names and command lines of others can be seen."""
    found = dict(attacks.run(user, means, 1, chosen))
    seen = {name for name, outcome in found.items() if outcome == "seen"}
    assert {name: outcome for name, outcome in found.items() if not attacks.is_held(outcome)} == {}
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


def test_a_file_of_tokens_that_is_saved_anew_can_neither_be_read_nor_replaced(tmp_path):
    for name in ("work", "keys"):
        (tmp_path / name).mkdir()
    place = tmp_path / "keys" / "tokens"
    (token,) = token_file(place, "ann")
    before = place.read_bytes()
    options = ["--root", tmp_path / "work", "--data-dir", tmp_path / "data", "--auth-tokens", place]
    with serving(*map(str, options)) as (_, url):
        ann = Peer(url, token)
        said = []
        for _ in range(2):
            said += [
                ann.call("read_file", path=str(place)),
                ann.call("write_pdf", content="x", path=str(place), overwrite=True),
                ann.call("edit_file", new="x", path=str(place), all=True),
                ann.call(
                    "terminal", command=f"cd {place.parent}; cat tokens; echo x > tokens; mv tokens {tmp_path}/work"
                ),
            ]
            place.with_name("new").write_bytes(before)
            place.with_name("new").chmod(0o600)
            place.with_name("new").rename(place)
        assert reply_of(ann.call("directory_tree")[0])["preview"].endswith("/  empty")
        ann.http.close()
    assert [is_error for _, is_error in said] == [True, True, True, False] * 2
    assert before.partition(b":")[2].decode().strip() not in str(said)
    assert place.read_bytes() == before
