"""A long task as an agent works on it, through one real server: fetch, download, read, run, write."""

import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from bursar.budget import tokens
from PIL import Image
from replies import reply_of
from wire import server as running

WORDS = [
    "the",
    "keeper",
    "of",
    "a",
    "purse",
    "counts",
    "what",
    "came",
    "in",
    "and",
    "went",
    "out",
    "before",
    "anyone",
    "asks",
]


def prose(section):
    """Some sentences that are not those of another section."""
    order = [WORDS[(section * 7 + n * (section % 5 + 1)) % len(WORDS)] for n in range(150)]
    return f"Part {section} says that " + " ".join(order) + "."


ARTICLE = "".join(f"<h2>Section {n}</h2><p>{prose(n)}</p>" for n in range(60))
PAGE = f"""<!doctype html><html lang="en"><head><title>On purses</title></head><body><nav><a href="/">home</a></nav>
<article><h1>On purses</h1><p>A bursar keeps the purse.</p><img src="/purse.png" alt="a purse"><img src="/secret.png">
{ARTICLE}</article></body></html>"""


def picture():
    data = io.BytesIO()
    Image.new("RGB", (320, 200), "teal").save(data, "PNG")
    return data.getvalue()


class Site(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self):
        self.asked.append(self.path)
        status, kind, body = {
            "/": (200, "text/html; charset=utf-8", PAGE.encode()),
            "/purse.png": (200, "image/png", picture()),
            "/secret.png": (403, "text/html", b"<p>Members only</p>"),
        }.get(self.path, (404, "text/plain", b"nothing here"))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Keep the output of the tests clean."""


@pytest.fixture
def site():
    Site.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def call(options, site, folder):
    """Call a tool; returns its reply, which is small and valid."""
    with running(*options, "--allow-net", site.removeprefix("http://"), "--patience-s", "100") as client:

        def call(tool, **arguments):
            text, is_error, _ = client.call(tool, **arguments)
            assert not is_error, text
            assert len(text.encode()) <= 8192
            assert tokens.count(text) <= 2000
            return reply_of(text)

        yield call


def test_a_page_and_its_pictures_become_a_document(call, site, folder):
    page = call("web_fetch", url=f"{site}/")
    assert page["title"] == "On purses"
    assert "Section 7" in json.dumps(page["preview"])
    section = call("read_artifact", artifact=page["artifact"], grep="^## Section 41", context=2)
    assert "Part 41 says that" in section["preview"]
    assert Site.asked.count("/") == 1

    good = call("download_image", url=f"{site}/purse.png")
    bad = call("download_image", url=f"{site}/secret.png")
    assert (good["status"], good["width"], good["height"]) == ("ok", 320, 200)
    assert (bad["status"], bad["http_status"]) == ("failed", 403)
    assert bad["target_path"].startswith("/")

    report = f"# Report\n\nWhat was found: 中文 and é.\n\n![purse]({good['artifact']})\n\n![gone]({bad['artifact']})\n"
    written = call("write_pdf", content=report, path="report.pdf", title="Report")
    assert written["pages"] == 1
    assert written["images_embedded"] == 1
    assert len(written["images_missing"]) == 1
    assert (folder / "report.pdf").read_bytes().startswith(b"%PDF")


def test_twenty_big_calls_in_a_row_leave_the_conversation_small(call, site, folder):
    (folder / "app.log").write_text("".join(f"2026-11-21 10:00:00 INFO request {n} served\n" for n in range(100_000)))
    spent = 0
    for number in range(6):
        for tool, arguments in (
            ("terminal", {"command": f"seq {number} 400000"}),
            ("read_file", {"path": "app.log", "lines": f"{number * 9000 + 1}-"}),
            ("read_artifact", {"artifact": "a1", "grep": f"{number}7777$"}),
            ("web_fetch", {"url": f"{site}/"}),
        ):
            spent += tokens.count(json.dumps(call(tool, **arguments), ensure_ascii=False))
    assert spent <= 24 * 2000
    assert Site.asked.count("/") == 1
