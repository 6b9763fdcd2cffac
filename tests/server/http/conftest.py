import pytest
from over_http import served


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A workspace with a file in it."""
    place = tmp_path_factory.mktemp("workspace")
    (place / "note.txt").write_text("the note\n")
    return place


@pytest.fixture(scope="session")
def open_server(root, tmp_path_factory):
    """A server that asks for no token."""
    with served("--no-auth", root=root, data=tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture(scope="session")
def two(root, tmp_path_factory):
    """A server and two users of it, each with a token of their own."""
    from bursar.server.http.tokens import fresh_token

    place = tmp_path_factory.mktemp("tokens") / "tokens"
    (ann, of_ann), (bob, of_bob) = fresh_token("ann"), fresh_token("bob")
    place.write_text(f"# who may come in\n{of_ann}\n\n{of_bob}\n")
    place.chmod(0o600)
    with served("--auth-tokens", str(place), root=root, data=tmp_path_factory.mktemp("data")) as running:
        yield running, ann, bob
