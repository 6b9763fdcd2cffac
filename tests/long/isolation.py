"""Who reaches whose artifacts: every way of naming another's session, artifact or file, over every transport.

python tests/long/isolation.py [MEANS that keep commands in, such as "Landlock alone"]
"""

import contextlib
import json
import os
import platform
import re
import secrets
import shlex
import shutil
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from means import MISSING, without
from peers import HANDSHAKE, Peer, serving, token_file, told
from replies import reply_of
from wire import Client, module

TRANSPORTS = ("stdio", "handshake HTTP", "modern HTTP", "stateless HTTP")
PRINCIPALS = ("one", "two")
"""Whether everybody is the same to the server, as without tokens and on standard input, or there are two tokens."""

ALL = (*TRANSPORTS,)
HTTP = TRANSPORTS[1:]


@dataclass(frozen=True)
class Aim:
    """What an attacker knows of his victim: all of it, or as much that never existed.

    Attributes:
        handle: of the session.
        id: of the artifact in it.
        path: of the artifact's file.
        transport_session: id of the victim's transport session.
    """

    handle: str
    id: str
    path: str
    transport_session: str

    @property
    def directory(self):
        return os.path.dirname(self.path)

    def hidden(self, text):
        """Return an answer without what makes it this aim's, and without what differs from call to call."""
        for value, name in (
            (self.path, "PATH"),
            (quote(self.path), "PATH"),
            (self.directory, "DIRECTORY"),
            (os.path.basename(self.directory), "NAME"),
            (os.path.basename(self.path), "FILE"),
            (self.handle, "HANDLE"),
            (self.transport_session, "TRANSPORT"),
        ):
            text = re.sub(re.escape(value), name, text, flags=re.IGNORECASE)
        text = re.sub(r"/bursar/(?:[a-z2-7]{12}\b|[a-z2-7]{1,12}(?= …))", "/bursar/SESSION", text)
        text = re.sub(r"ses_\w{22}/a\d+|ses_\w{22}", "SESSION", text)
        text = re.sub(r"\\?\"?(id|took_s|took_ms|requestId)\\?\"?: ?[\"\w.-]+", "", text)
        return re.sub(r"-\w{6,}|\.tmp-\w+|\d+", "0", text)


class StdioPeer:
    """A server process of its own, and the only one who talks to it."""

    def __init__(self, options, session="", before=()):
        words = ["--session", session] if session else []
        self.wire = Client([*before, *module(*options, *words)])
        self.wire.handshake()

    def call(self, tool, meta=None, **arguments):
        params = {"name": tool, "arguments": arguments} | ({"_meta": meta} if meta else {})
        return self._said("tools/call", params)

    def request(self, method, params=None):
        return self._said(method, params)

    def _said(self, method, params):
        return json.dumps(self.wire.request(method, params or {}), ensure_ascii=False)


class HttpPeer:
    """Somebody who talks to the one server over HTTP; one who stays names the same session in each modern call."""

    def __init__(self, transport, url, token, *, stays):
        self.peer = Peer(url, token)
        self.transport = transport
        self.own = ""
        if transport == "handshake HTTP":
            self.peer.handshake()
        elif transport == "modern HTTP" and stays:
            self.own = reply_of(self.peer.call("directory_tree")[0])["artifact"].partition("/")[0]

    def call(self, tool, meta=None, **arguments):
        if self.own and not meta:
            arguments.setdefault("session", self.own)
        params = {"name": tool, "arguments": arguments} | ({"_meta": meta} if meta else {})
        return self.request("tools/call", params)

    def request(self, method, params=None, headers=None):
        said = self.raw(method, params, headers)
        if self.transport == "stateless HTTP":
            # The same in the other era, of which nobody has opened a session.
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
            for version in (HANDSHAKE, "2024-11-05", ""):
                said += self.peer.post(body, {"mcp-protocol-version": version} | (headers or {})).text
        return said

    def raw(self, method, params=None, headers=None):
        send = self.peer.old if self.transport == "handshake HTTP" else self.peer.modern
        return json.dumps(told(send(method, params, headers)), ensure_ascii=False)


class Scene:
    """A victim and an attacker.

    Attributes:
        marker: stands in the victim's artifact and nowhere else.
        real, none: what the attacker aims at, and its like that never existed.
    """

    def __init__(self, base, ann, bob, options, two, means):
        self.base, self.ann, self.bob, self.options, self.two, self.means = base, ann, bob, options, two, means
        self.work = base / "work"
        self.marker = secrets.token_hex(16)
        (self.work / "secret.txt").write_text(self.marker + "\n")
        said = ann.call("read_file", path="secret.txt")
        (self.work / "secret.txt").unlink()
        handle = re.search(r"(ses_\w{22})/a1", said)[1]
        stored = base.glob("data/bursar/*/a1-*")
        path = next(place for place in stored if place.read_bytes().startswith(self.marker.encode()))
        transport = getattr(getattr(ann, "peer", None), "transport_session", "") or secrets.token_hex(16)
        self.real = Aim(handle, "a1", str(path), transport)
        directory = path.parent.parent / "".join(secrets.choice("abcdefgh234567") for _ in range(12))
        self.none = Aim("ses_" + secrets.token_hex(11), "a1", str(directory / path.name), secrets.token_hex(16))
        self.spellings = slice(None)
        (self.work / "link").mkdir()

    def links(self, aim):
        """Plant links in the workspace, as a command could."""
        for name, target in {"file": aim.path, "directory": aim.directory, "store": f"{aim.directory}/.."}.items():
            place = self.work / "link" / name
            with contextlib.suppress(FileNotFoundError):
                place.unlink()
            place.symlink_to(target)

    def held(self):
        """Tell whether the victim still has what he had."""
        return self.marker in self.ann.call("read_artifact", artifact=f"{self.real.handle}/a1")


def _paths(aim):
    """Return spellings of a file's path."""
    path, name = aim.path, os.path.basename(aim.path)
    up = "../" * 12
    return [
        path,
        f"{up}{path[1:]}",
        f"/{path}",
        f"{aim.directory}/./{name}",
        f"{aim.directory}/../{os.path.basename(aim.directory)}/{name}",
        path + "/",
        path + "\0",
        path.upper(),
        path.replace("data", "ｄａｔａ"),
        path.replace("data", "d\u200data"),
        path.replace("/", "\uff0f"),
        quote(path),
        quote(path, safe=""),
        f"file://{path}",
        f"artifact://{path}",
        f"~/../{path}",
        f"/proc/self/root{path}",
        f"/proc/thread-self/root{path}",
        f"/proc/1/root{path}",
        f"/proc/self/cwd/../data/bursar/{path.partition('/bursar/')[2]}",
        f"/dev/fd/5/{name}",
        "link/file",
        f"link/directory/{name}",
        f"link/store/{os.path.basename(aim.directory)}/{name}",
        f"link/directory/../{os.path.basename(aim.directory)}/{name}",
        f"{aim.directory}/owner.json",
        f"{aim.directory}/{aim.id}.json",
        f"{aim.directory}/lock",
    ]


def _references(aim):
    """Return spellings of a reference to an artifact."""
    whole = f"{aim.handle}/{aim.id}"
    return [
        whole,
        f"artifact://{whole}",
        f" {whole} ",
        f"artifact://{aim.handle}%2F{aim.id}",
        f"ARTIFACT://{whole}",
        f"artifact:{whole}",
        f"artifact:///{whole}",
        f"artifact://x@{whole}",
        f"artifact://./{whole}",
        f"artifact://{whole}/../{aim.id}",
        f"artifact://{whole}?lines=1-9",
        f"{aim.handle}//{aim.id}",
        f"{aim.handle}\\{aim.id}",
        f"../{os.path.basename(aim.directory)}/{aim.id}",
        f"{os.path.basename(aim.directory)}/{aim.id}",
        f"{aim.handle.swapcase()}/{aim.id}",
        f"{aim.handle}\u200b/{aim.id}",
        f"{aim.handle}/{aim.id}\0",
        f"{aim.handle}/*",
        f"{aim.handle}/",
    ]


def handle_as_argument(scene, aim):
    for tool, more in {
        "read_artifact": {},
        "read_file": {"path": "note.md"},
        "directory_tree": {},
        "terminal": {"command": f"cat {aim.path} {aim.directory}/* | head -c 300"},
        "write_pdf": {"artifact": aim.id},
        "edit_file": {"path": aim.path, "old": "a"},
    }.items():
        yield scene.bob.call(tool, session=aim.handle, **more)
    yield scene.bob.call("read_artifact", session=aim.handle, artifact=aim.id)
    yield scene.bob.call("read_artifact", session=f"artifact://{aim.handle}/{aim.id}")


def handle_in_meta(scene, aim):
    yield scene.bob.call("read_artifact", meta={"bursar/session": aim.handle})
    yield scene.bob.call("read_artifact", meta={"bursar/session": aim.handle}, artifact=aim.id)


def handle_at_the_start(scene, aim):
    other = StdioPeer(scene.options, aim.handle, without(MISSING[scene.means]))
    try:
        yield other.call("read_artifact")
        yield other.call("read_artifact", artifact=aim.id)
    finally:
        other.wire.kill()


def references(scene, aim):
    for reference in _references(aim):
        yield scene.bob.call("read_artifact", artifact=reference)
    for reference in _references(aim)[:2]:
        yield scene.bob.call("write_pdf", artifact=reference)
        yield scene.bob.call("terminal", artifact=reference, stop=True)
        yield scene.bob.call("read_file", path=reference)
        yield scene.bob.call("write_pdf", content=f"![]({reference})")


def queries(scene, aim):
    """A query in SQL over an own file that names another's, by path or as a table."""
    scene.links(aim)
    scene.bob.call("read_file", path="note.md")  # what is stored by the first query is told by that alone
    places = (aim.path, f"/proc/self/root{aim.path}", "link/file", f"{aim.directory}/*", f"{aim.directory}/../*/*")
    ways = ("read_text('{}')", "read_csv('{}')", "glob('{}')", "'{}'")
    asked = [f"SELECT * FROM {way.format(place)}" for place in places for way in ways]
    asked += [f"ATTACH '{aim.path}' AS v", f"COPY t TO '{aim.path}'"]
    for sql in asked[scene.spellings]:
        yield scene.bob.call("read_file", path="note.md", sql=sql)
        yield scene.bob.call("edit_file", path="answer.csv", artifact="", sql=sql)


def queries_by_reference(scene, aim):
    """A query of, and a file made from, what a reference names."""
    for reference in _references(aim)[:4][scene.spellings] or _references(aim)[:1]:
        yield scene.bob.call("read_artifact", artifact=reference, sql="SELECT line FROM t")
        for more in ({}, {"sql": "FROM t"}, {"grep": "."}, {"lines": "1-9"}):
            yield scene.bob.call("edit_file", path="answer.txt", artifact=reference, **more)
            (scene.work / "answer.txt").unlink(missing_ok=True)


def ids(scene, aim):
    del aim
    for number in ("a1", "a2", "a01", "A1", "a1 ", "a" + "9" * 40):
        said = scene.bob.call("read_artifact", artifact=number)
        yield said if scene.marker in said else "own or none"


def resources(scene, aim):
    own = [reference for reference in _references(aim) if reference.lower().startswith("artifact:")]
    for uri in (
        *own,
        f"file://{aim.path}",
        f"artifact://{aim.handle}",
        f"artifact://{aim.id}",
        f"artifact://{aim.path}",
    ):
        yield scene.bob.request("resources/read", {"uri": uri})
    yield scene.bob.request("resources/list")
    yield scene.bob.request("resources/subscribe", {"uri": f"artifact://{aim.handle}/{aim.id}"})


def completions(scene, aim):
    template = {"type": "ref/resource", "uri": "artifact://{session}/{id}"}
    for name, value in (("id", ""), ("id", "a"), ("session", ""), ("session", aim.handle[:8])):
        for context in ({}, {"context": {"arguments": {"session": aim.handle}}}):
            asked = {"ref": template, "argument": {"name": name, "value": value}} | context
            said = scene.bob.request("completion/complete", asked)
            # His own are told to everybody.
            yield said if context or aim.handle in said else "own or none"


def deletion(scene, aim):
    answer = scene.bob.peer.http.delete(f"{scene.bob.peer.base}/session", headers={"bursar-session": aim.handle})
    yield f"{answer.status_code} {answer.text}"


def paths(scene, aim):
    scene.links(aim)
    for path in _paths(aim)[scene.spellings]:
        yield scene.bob.call("read_file", path=path)
        yield scene.bob.call("directory_tree", path=os.path.dirname(path) or path)
        yield scene.bob.call("read_artifact", artifact=path)
    for behind in ("/", "/in/it", "//", "/.."):  # as in an archive
        yield scene.bob.call("read_file", path=aim.path + behind)
        yield scene.bob.call("read_file", path=f"link/file{behind}")
    for number in range(40)[scene.spellings]:
        # What the server holds open just then has nothing to do with what is asked for.
        said = scene.bob.call("read_file", path=f"/proc/self/fd/{number}")
        yield said if scene.marker in said or '"isError": true' not in said else "refused"
    for place in (aim.directory, f"{aim.directory}/..", "link/directory", "link/store", "link", ".."):
        yield scene.bob.call("directory_tree", path=place, depth=3, all=True)
        yield scene.bob.call("terminal", command="true", cwd=place)


def paths_in_commands(scene, aim):
    """What a command prints that was told a path: the reply around it is the server's, that is the kernel's."""
    scene.links(aim)
    spelled = [path for path in _paths(aim)[scene.spellings] if "\0" not in path]
    for program in ("cat", "stat -c %s", "ls -la", "cd", "test -e"):
        words = " ".join(shlex.quote(path) for path in spelled)
        yield scene.bob.call("terminal", command=f"for path in {words}; do {program} $path 2>&1; echo $?; done")
    yield scene.bob.call("terminal", command="ls; cat *", cwd="link")
    yield scene.bob.call("terminal", command=f"cat {aim.path} link/file link/directory/*")


def written_paths(scene, aim):
    scene.links(aim)
    for place in (aim.directory, "link/directory", f"link/store/{os.path.basename(aim.directory)}"):
        yield scene.bob.call("write_pdf", content="x", path=f"{place}/planted.pdf")
        yield scene.bob.call("write_pdf", content="x", path=f"{place}/{os.path.basename(aim.path)}", overwrite=True)
        yield scene.bob.call("edit_file", new="x", path=f"{place}/planted.txt")
        yield scene.bob.call("edit_file", new="x", path=f"{place}/{os.path.basename(aim.path)}", all=True)
        yield scene.bob.call("edit_file", old="a", new="b", path=f"{place}/{os.path.basename(aim.path)}")


def pictures_and_addresses(scene, aim):
    scene.links(aim)
    for place in (aim.path, "link/file", f"link/directory/{os.path.basename(aim.path)}", f"file://{aim.path}"):
        yield scene.bob.call("write_pdf", content=f'![]({place})\n\n<img src="{place}">')
    for url in (f"file://{aim.path}", f"file://localhost{aim.path}", aim.path):
        yield scene.bob.call("web_fetch", url=url)
        yield scene.bob.call("download_image", url=url)


def pictures_by_reference(scene, aim):
    for place in (f"artifact://{aim.handle}/{aim.id}", f"{aim.handle}/{aim.id}"):
        yield scene.bob.call("write_pdf", content=f"![]({place})")
        for tool in ("web_fetch", "download_image"):
            yield scene.bob.call(tool, url=place)


def hard_links(scene, aim):
    """A hard link that somebody made outside the walls."""
    place = scene.work / "hard.txt"
    if os.path.exists(aim.path):
        os.link(aim.path, place)
    else:
        return
    try:
        yield scene.bob.call("read_file", path="hard.txt")
        yield scene.bob.call("write_pdf", content="![](hard.txt)")
    finally:
        place.unlink()


def _in_both_eras(scene, identity):
    call = {"name": "read_artifact", "arguments": {"artifact": "a1"}}
    peer = scene.bob.peer
    for method, params in (("tools/call", call), ("tools/call", {"name": "read_artifact", "arguments": {}})):
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        for version in (HANDSHAKE, "2024-11-05", ""):
            answer = peer.post(body, {"mcp-session-id": identity, "mcp-protocol-version": version})
            yield f"{answer.status_code} {answer.text}"


def stolen_transport_session(scene, aim):
    """In the era that has such sessions, with and without the header of the version."""
    yield from _in_both_eras(scene, aim.transport_session)
    peer = scene.bob.peer
    for headers in ({}, {"last-event-id": "0"}):
        sent = {"mcp-session-id": aim.transport_session, "accept": "text/event-stream"} | headers
        with peer.http.stream("GET", peer.url, headers=sent, timeout=2) as answer:
            if answer.status_code != 200:
                yield f"{answer.status_code} {answer.read().decode()}"
            else:
                yield "a stream" if scene.two else "200"


def transport_session_in_the_modern_era(scene, aim):
    for arguments in ({"artifact": "a1"}, {}):
        call = {"name": "read_artifact", "arguments": arguments}
        answer = scene.bob.peer.modern("tools/call", call, {"mcp-session-id": aim.transport_session})
        yield json.dumps(told(answer))
    answer = scene.bob.peer.modern(
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "artifact://{session}/{id}"}, "argument": {"name": "id", "value": ""}},
        {"mcp-session-id": aim.transport_session},
    )
    yield json.dumps(told(answer))


def forged_transport_session(scene, aim):
    del aim
    for identity in ("0" * 32, secrets.token_hex(16), "../x", "x", scene.real.handle, "%00"):
        for said in _in_both_eras(scene, identity):
            yield said if scene.marker in said or said.startswith("200") else "refused"


def end_of_the_transport_session(scene, aim):
    answer = scene.bob.peer.http.delete(scene.bob.peer.url, headers={"mcp-session-id": aim.transport_session})
    yield "refused" if answer.is_error else "ended"


def cancellation(scene, aim):
    """Cancel and listen to a call of the victim whose number is known, while it runs."""
    del aim
    heard = {}

    def work():
        params = {"name": "terminal", "arguments": {"command": "sleep 1.2; echo done"}, "_meta": {"progressToken": 77}}
        peer = getattr(scene.ann, "peer", None)
        if peer is None:
            heard["said"] = scene.ann.request("tools/call", params)
        else:
            send = peer.old if peer.transport_session else peer.modern
            heard["said"] = json.dumps(told(send("tools/call", params, number=4321)))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.4)
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4321}}
    if hasattr(scene.bob, "peer"):
        peer = scene.bob.peer
        for headers in (
            {"mcp-protocol-version": "2026-07-28", "mcp-method": "notifications/cancelled"},
            peer.routing(),
        ):
            peer.post(body, headers)
            peer.post(
                body | {"method": "notifications/progress", "params": {"progressToken": 77, "progress": 1}}, headers
            )
    else:
        for number in range(20):
            scene.bob.wire.send("notifications/cancelled", {"requestId": number}, notify=True)
    thread.join()
    yield "it went on" if "done" in heard["said"] else f"LOST {heard['said'][:200]}"


IN_COMMANDS = "a path, in 29 spellings, in commands"
"""Tells under Landlock alone whether something exists, which is not promised there; and nowhere what is in it."""

ATTACKS = {
    "a handle, in the argument `session`": (handle_as_argument, ALL, True),
    "a handle, in `_meta`": (handle_in_meta, ALL, True),
    "a handle, in `--session`": (handle_at_the_start, ("stdio",), True),
    "a reference, in 20 spellings": (references, ALL, True),
    "an artifact's id alone": (ids, ALL, False),
    "a path, in queries": (queries, ALL, False),
    "a reference, asked in SQL and saved": (queries_by_reference, ALL, True),
    "a resource's address": (resources, ALL, True),
    "completion": (completions, ALL, True),
    "deleting the session": (deletion, HTTP, True),
    "a path, in 30 spellings, through every tool": (paths, ALL, False),
    IN_COMMANDS: (paths_in_commands, ALL, False),
    "a path to write to": (written_paths, ALL, False),
    "pictures of PDFs, addresses to fetch": (pictures_and_addresses, ALL, False),
    "pictures named by reference": (pictures_by_reference, ALL, True),
    "a hard link": (hard_links, ALL, False),
    "a transport session's id": (stolen_transport_session, ("handshake HTTP",), True),
    "a transport session's id in the modern era": (transport_session_in_the_modern_era, HTTP, False),
    "a forged id of a transport session": (forged_transport_session, HTTP, False),
    "cancelling or hearing another's call": (cancellation, ALL, False),
    "ending the transport session": (end_of_the_transport_session, ("handshake HTTP",), True),
}
"""By name: the attack, where it makes sense, and whether what it takes is the key wherever all are one principal."""


def outcome(scene, name):
    """Return `held`, `opens` where what was used is the key, `seen` where it is only told to exist, or what leaked."""
    attack, _, is_key = ATTACKS[name]
    none = [scene.none.hidden(said) for said in attack(scene, scene.none)]
    real_said = list(attack(scene, scene.real))
    real = [scene.real.hidden(said) for said in real_said]
    leaks = [said[:200] for said in real_said if scene.marker in said]
    leaks += [said for said in real_said if said.startswith("LOST")]
    is_told = real != none
    if name == IN_COMMANDS and scene.means == "Landlock alone" and is_told and not leaks and scene.held():
        return f"seen in {len(real) + len(none)}"
    if len(real) == len(none):
        pairs = zip(real, none, strict=True)
        leaks += [f"{one[:300]} <> {other[:300]}" for one, other in pairs if one != other]
    leaks += [f"{place} holds it" for place in _copies(scene)]
    if not scene.held() and attack not in (deletion, end_of_the_transport_session):
        leaks.append("the victim has lost it")
    if leaks and is_key and not scene.two:
        return "opens"
    return f"LEAK {leaks[0]}" if leaks else f"held in {len(real) + len(none)}"


def _copies(scene):
    for place in scene.work.rglob("*"):
        if place.is_file() and not place.is_symlink() and scene.marker.encode() in place.read_bytes():
            yield place.name


@contextmanager
def scene_of(principals, transport, means):
    """Set up a server, or two of one user, with a victim and an attacker; these means keep commands in."""
    before = without(MISSING[means])
    with ExitStack() as stack:
        base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="bursar-isolation-"))
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        for place in ("work", "data", "secret"):
            (base / place).mkdir(mode=0o700)
        (base / "work" / "note.md").write_text("# a note\n")
        options = ["--root", str(base / "work"), "--data-dir", str(base / "data")]
        if transport == "stdio":
            ann, bob = StdioPeer(options, before=before), StdioPeer(options, before=before)
            for peer in (ann, bob):
                stack.callback(peer.wire.kill)
        else:
            tokens = ["", ""]
            more = ["--no-auth"]
            if principals == "two":
                tokens = token_file(base / "secret" / "tokens", "ann", "bob")
                more = ["--auth-tokens", str(base / "secret" / "tokens")]
            _, url = stack.enter_context(serving(*options, *more, before=before))
            ann, bob = HttpPeer(transport, url, tokens[0], stays=False), HttpPeer(transport, url, tokens[1], stays=True)
            for peer in (ann, bob):
                stack.callback(peer.peer.http.close)
        bob.call("directory_tree")  # the first reply alone has the handle
        yield Scene(base, ann, bob, options, principals == "two", means)


def columns():
    """Return each combination of principals and transport that there is: standard input has one principal only."""
    return [(who, transport) for who in PRINCIPALS for transport in TRANSPORTS if who == "one" or transport != "stdio"]


def run(principals, transport, chosen=None, spellings=slice(None), means="namespaces + Landlock"):
    """Try everything, of the spellings of a path only a slice; yield the name of each attack and what came of it."""
    with scene_of(principals, transport, means) as first:
        scene = first
        scene.spellings = spellings
        for name, (_, where, _) in ATTACKS.items():
            if transport in where and (chosen is None or name in chosen):
                found = outcome(scene, name)
                yield name, found
                if found == "opens" and name == "deleting the session":
                    scene = replaced(scene)
                    scene.spellings = spellings


def replaced(scene):
    """Give the victim a new artifact, after the old one was deleted."""
    shutil.rmtree(scene.work / "link")
    return Scene(scene.base, scene.ann, scene.bob, scene.options, scene.two, scene.means)


def main(means):
    print(f"{platform.platform()}, {os.cpu_count()} cores, {means}\n")
    table, answers = {}, 0
    for column in columns():
        for name, found in run(*column, means=means):
            table.setdefault(name, {})[column] = found
            answers += int(found.rpartition(" ")[2]) if found.startswith("held") else 0
            if found.startswith("LEAK"):
                print(f"!! {column}, {name}: {found}", flush=True)
    titles = [f"{transport}, {who}" for who, transport in columns()]
    print("| attack | " + " | ".join(titles) + " |\n|---|" + "---|" * len(titles))
    for name, row in table.items():
        print(f"| {name} | " + " | ".join(row.get(column, "–").partition(" ")[0] for column in columns()) + " |")
    leaks = sum(found.startswith("LEAK") for row in table.values() for found in row.values())
    print(f"\n{answers:,} answers in cells that held, {leaks} leaks")
    return leaks


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1] if len(sys.argv) > 1 else "namespaces + Landlock")))
