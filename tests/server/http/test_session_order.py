"""Which session a call works in: the same for the same words, on standard input and output and over HTTP."""

import pytest
from replies import reply_of
from wire import server

NOBODYS = "ses_" + "A" * 22
META = "bursar/session"


class Caller:
    """A connection with a session of its own, beside two earlier ones of the same owner: A and B."""

    def __init__(self, call, other, root, data):
        self._call, self._other, self._root, self._data = call, other, root, data
        self.handles = {"A": self._made(other, "A"), "B": self._made(other, "B"), "own": self._made(call, "own")}

    def call(self, tool, arguments, meta=None):
        """Call a tool with handles filled in; return its reply, or the code of its refusal."""
        return self._told(self._call(tool, self._filled(arguments), self._filled(meta or {})))

    def afresh(self, tool, arguments):
        """Call a tool over a connection that was not used before."""
        return self._told(self._other(tool, self._filled(arguments), {}))

    def sessions(self):
        """Return the directories of all sessions."""
        return {place for place in (self._data / "bursar").iterdir() if not place.name.startswith(".")}

    def whose(self, reply):
        """Name the session that a reply comes from."""
        if "/" not in reply.get("artifact", "/"):
            return "own"  # whose handle the connection was told before
        handle = reply.get("session") or reply["artifact"].partition("/")[0]
        return next((name for name, known in self.handles.items() if known == handle), "new")

    def _filled(self, values):
        return {name: value.format(**self.handles) if type(value) is str else value for name, value in values.items()}

    def _made(self, call, name):
        (self._root / f"{name}.txt").write_text(f"of {name}\n")
        return self._told(call("read_file", {"path": f"{name}.txt"}, {}))["artifact"].partition("/")[0]

    @staticmethod
    def _told(result):
        text = result["content"][0]["text"]
        return text.partition(":")[0] if result.get("isError") else reply_of(text)


@pytest.fixture(scope="module")
def stdio(root, tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    options = ["--root", str(root), "--data-dir", str(data)]

    def through(client):
        def call(tool, arguments, meta):
            params = {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}
            return client.request("tools/call", params)["result"]

        return call

    def other(tool, arguments, meta):
        with server(*options) as client:
            return through(client)(tool, arguments, meta)

    with server(*options) as client:
        yield Caller(through(client), other, root, data)


@pytest.fixture(scope="module")
def http(open_server, root):
    def through(user):
        def call(tool, arguments, meta):
            text, is_error = user.call(tool, meta=meta, **arguments)
            return {"content": [{"text": text}], "isError": is_error}

        return call

    def other(tool, arguments, meta):
        return through(open_server.user().handshake())(tool, arguments, meta)

    return Caller(through(open_server.user().handshake()), other, root, open_server.data)


@pytest.fixture(params=["stdio", "http"])
def caller(request):
    return request.getfixturevalue(request.param)


ANY_SPELLING = ["{%s}", " {%s} ", "{%s}/a1", "artifact://{%s}/a1", "{%s}/a999"]
SESSIONS = {
    **{spelling % "B": "B" for spelling in ANY_SPELLING},
    **dict.fromkeys([NOBODYS, "{B}x", "{B}/", "{B}/a0", "ses_", "a1", "own", "../{B}"], "unknown_session"),
    **dict.fromkeys(["", " ", None], "own"),
}
NO_TEXT = [42, 0, False, ["x"], [], {}, {"handle": "{B}"}, 1.5]


@pytest.mark.parametrize("place", ["argument", "meta"])
@pytest.mark.parametrize("named", SESSIONS)
def test_a_session_that_is_named_is_the_one(caller, place, named):
    given = {"arguments": {"session": named}} if place == "argument" else {"arguments": {}, "meta": {META: named}}
    reply = caller.call("read_artifact", **given)
    assert (reply if isinstance(reply, str) else caller.whose(reply)) == SESSIONS[named]


@pytest.mark.parametrize("place", ["argument", "meta"])
@pytest.mark.parametrize("named", NO_TEXT, ids=repr)
def test_what_is_no_text_names_no_session_and_is_not_passed_over(caller, place, named):
    given = {"arguments": {"session": named}} if place == "argument" else {"arguments": {}, "meta": {META: named}}
    assert caller.call("read_artifact", **given) == "bad_argument"


ORDER = [
    # session, artifact, meta: where a new artifact goes, or why nothing was done
    (None, "{A}/a1", None, "A"),
    (None, "artifact://{A}/a1", None, "A"),
    (None, "{A}/a1", "{B}", "A"),
    (None, "{A}/a1", 42, "A"),
    ("{B}", "{A}/a1", None, "B"),
    ("{B}/a1", "artifact://{A}/a1", "{A}", "B"),
    ("{B}", "a1", "{A}", "B"),
    ("{B}", None, "{A}", "B"),
    (None, "a1", "{B}", "B"),
    (None, "a1", None, "own"),
    (None, None, "{A}", "A"),
    (None, None, None, "own"),
    (NOBODYS, "{A}/a1", "{A}", "unknown_session"),
    ("{B}", NOBODYS + "/a1", "{A}", "unknown_artifact"),
    (None, NOBODYS + "/a1", "{A}", "unknown_artifact"),
    (None, "{A}/a999", None, "unknown_artifact"),
    (None, "{A}x/a1", None, "unknown_artifact"),
    (None, "a1", NOBODYS, "unknown_session"),
    (42, "{A}/a1", "{A}", "bad_argument"),
]


@pytest.mark.parametrize(("session", "artifact", "meta", "expected"), ORDER)
def test_an_argument_comes_before_a_reference_that_before_meta_that_before_the_connection(
    caller, session, artifact, meta, expected
):
    source = {"content": "# Title"} if artifact is None else {"artifact": artifact}
    reply = caller.call("write_pdf", {"session": session, **source}, {META: meta})
    assert (reply if isinstance(reply, str) else caller.whose(reply)) == expected


def test_the_artifact_is_the_one_of_the_reference_wherever_the_call_works(caller):
    for artifact, content in (("{A}/a1", "of A\n"), ("a1", "of B\n")):
        assert caller.call("read_artifact", {"session": "{B}", "artifact": artifact})["preview"] == content


def test_an_artifact_of_no_session_makes_none(caller):
    made = caller.sessions()
    assert caller.afresh("read_artifact", {"artifact": "a1"}) == "unknown_artifact"
    assert caller.sessions() == made
