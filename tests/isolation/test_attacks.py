"""No command reaches another's session, the server or its helpers; everything that could be thought of is tried."""

import json
import sys

import attacks
import pytest
from peers import Peer, serving, token_file

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
