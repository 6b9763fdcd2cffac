"""web_fetch keeps the bytes, gives the readable text, says what it found, and never fails without a word."""

# ruff: noqa: E501 - pages are easier to read in one piece

import gzip
import json
import re
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from bursar.artifacts import Artifact, Limits, Store
from bursar.budget.cut import Allowance
from bursar.errors import BursarError
from bursar.guard.net import Limits as FetchLimits
from bursar.server.render import view_of
from bursar.tools.base import Done, Reading
from bursar.tools.download_image import DownloadImage, DownloadImageArgs
from bursar.tools.web_fetch import WebFetch, WebFetchArgs
from harness import call_of
from loopback import net_for, page, redirect, site, then_close, without_end
from pydantic import ValidationError

pytestmark = pytest.mark.anyio
PAGES = Path(__file__).parents[1] / "content" / "pages"
ARTICLE = (PAGES / "article.html").read_bytes()
FEED = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour notes</title><link>http://e.example/</link>
<item><title>First</title><link>http://e.example/1</link><pubDate>Mon, 05 Jan 2026 08:00:00 GMT</pubDate>
<description>&lt;p&gt;About &lt;b&gt;tides&lt;/b&gt;&lt;/p&gt;</description></item>
<item><title>Second</title><link>http://e.example/2</link></item></channel></rss>"""


def pdf(*pages: str) -> bytes:
    """A PDF of one line a page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode()]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, text in enumerate(pages):
        content = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * number} 0 R >>".encode()
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    start = len(out)
    size = len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n".encode() + table
    return out + f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF".encode()


def png() -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = zlib.compress((b"\0" + bytes(range(8)) * 3) * 6)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 6, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", rows)
        + chunk(b"IEND", b"")
    )


ANSWERS = {
    "/article": page(ARTICLE, Content_Type="text/html; charset=utf-8"),
    "/missing": page(ARTICLE.replace(b"Tide mills", b"Lost mills"), 404, Content_Type="text/html"),
    "/moved": redirect("/article"),
    "/gzip": page(gzip.compress(ARTICLE), Content_Type="text/html", Content_Encoding="gzip"),
    "/data.json": page(b'{"a": [1, 2, 3]}', Content_Type="application/json"),
    "/table.csv": page(b"a,b\n1,2\n", Content_Type="text/csv"),
    "/latin.txt": page("Füße, größer, Maße über alles und noch mehr Wörter".encode("cp1252"), Content_Type="text/plain"),
    "/feed": page(FEED, Content_Type="application/rss+xml"),
    "/paper.pdf": page(pdf("First page of the paper", "Second page"), Content_Type="application/pdf"),
    "/locked.pdf": page(b"%PDF-1.4 and then nothing", Content_Type="application/pdf"),
    "/dot.png": page(png(), Content_Type="image/png"),
    "/blob": page(bytes(range(256)) * 40, Content_Type="application/octet-stream"),
    "/empty": page(b"", Content_Type="text/html"),
    "/cut": then_close(page(ARTICLE[:2800], length=len(ARTICLE), Content_Type="text/html")),
    "/no-type": page(ARTICLE),
    "/app": page(b'<title>App</title><div id=root></div><script src=/x.js></script>', Content_Type="text/html"),
    "/changing": page(ARTICLE, Content_Type="text/html; charset=utf-8", Cache_Control="no-store"),
    "/silent": without_end(b"", b"", 0.1),
    "/photo.jpg": page(png(), Content_Type="image/png", ETag='"1"'),
    "/sjis": page(f"<html><body><main><p>{'日本語のページです。' * 30}</p></main>".encode("cp932"), Content_Type="text/html; charset=Shift_JIS"),
}  # fmt: skip


class Fetch:
    def __init__(self, session, workers, there) -> None:
        self.session, self.workers, self.there = session, workers, there
        self.reported: list[tuple[float, float | None, str]] = []
        self.patience_s = 60.0
        self.limits = FetchLimits(connect_s=2, between_s=0.5, total_s=2)

    async def __call__(self, url: str | list[str], **options) -> Done:
        where = [self.there.url(one) for one in url] if isinstance(url, list) else self.there.url(url)
        return await self.using(WebFetch(), WebFetchArgs(url=where, **options))

    async def using(self, tool, args) -> Done:
        async def progress(done, total=None, message="") -> None:
            self.reported.append((done, total, message))

        net = net_for(self.there, limits=self.limits)
        given = {"progress": progress, "patience_s": self.patience_s, "net": net, "workers": self.workers}
        return await tool.run(args, call_of(tool, args, self.session, **given))


@pytest.fixture
async def fetch(tmp_path, workers, anyio_backend):
    async with site(ANSWERS) as there:
        yield Fetch(Store(tmp_path / "state", Limits()).create("local:0"), workers, there)


def text(done: Done) -> str:
    assert isinstance(done.output, Artifact)
    return done.output.read(0, done.output.size).decode()


def received(fetch: Fetch, done: Done) -> Artifact:
    return fetch.session.open(done.output.facts["source"])


async def test_an_article_is_two_artifacts_and_its_facts(fetch) -> None:
    done = await fetch("/article")
    raw = received(fetch, done)
    assert raw.read(0, raw.size) == ARTICLE
    assert raw.path.endswith("html")
    assert "grinding flour" in text(done)
    assert "cookie" not in text(done)
    facts = dict(done.facts)
    assert raw.size == len(ARTICLE)
    assert facts == {
        "title": "Tide mills return to the estuary",
        "byline": "Ines Valdoro, Tom Achterberg",
        "date": "2026-03-14",
    }
    assert done.output.facts["words"] > 150
    assert done.output.facts["language"] == "en-GB"


async def test_a_page_that_does_not_fit_shows_outline_and_lead(fetch) -> None:
    done = await fetch("/article")
    shown = view_of(done.output, done.hint).part(Allowance(300, 1000))
    assert any("How it works" in entry for entry in shown.value["outline"])
    assert shown.value["head"].startswith("# Tide mills return to the estuary\n\nFor the first time")


async def test_redirects_lead_to_the_final_address(fetch) -> None:
    done = await fetch("/moved")
    assert done.facts["final_url"] == fetch.there.url("/article")


async def test_a_page_is_had_whole_without_being_fetched_again(fetch) -> None:
    main = await fetch("/article")
    whole = await fetch("/article", mode="whole")
    again = await fetch("/article")
    assert whole.facts["found"] == "whole page"
    assert whole.output.size > main.output.size
    assert again.output.id == main.output.id


async def test_raw_gives_the_bytes_decompressed_and_nothing_else(fetch) -> None:
    done = await fetch("/gzip", mode="raw")
    assert text(done).encode() == ARTICLE
    assert len(fetch.session.artifacts()) == 1


async def test_a_page_is_fetched_and_read_once(fetch) -> None:
    first = await fetch("/article")
    again = await fetch("/article")
    raw = await fetch("/article", mode="raw")
    assert fetch.there.paths() == ["/article"]
    assert again.output.ref == first.output.ref
    assert again.facts["title"] == first.facts["title"]
    assert raw.output.ref == f"{fetch.session.handle}/{first.output.facts['source']}"
    assert len(fetch.session.artifacts()) == 2


async def test_an_error_status_is_a_result_with_its_body_readable(fetch) -> None:
    done = await fetch("/missing")
    assert done.facts["status"] == 404
    assert done.facts["code"] == "http_404"
    assert done.facts["cause"]
    assert done.facts["fix"]
    assert "Lost mills" in done.facts["title"]
    assert "grinding flour" in text(done)


async def test_what_arrived_before_a_failure_is_kept_and_read(fetch) -> None:
    done = await fetch("/cut")
    assert done.facts["failed_at"]
    assert received(fetch, done).state == "partial"
    assert "grinding flour" in text(done)


async def test_a_server_that_is_not_there_is_told_in_words(fetch) -> None:
    done = await WebFetchAt(fetch, "http://nowhere.test/x")
    assert done.facts["status"] is None
    assert done.facts["failed_at"] == "name"
    assert done.facts["fix"]
    assert done.output is None


async def WebFetchAt(fetch: Fetch, url: str) -> Done:  # noqa: N802 - reads like a call of the tool
    fetch.there.url = lambda path: path  # type: ignore[method-assign]
    return await fetch(url)


async def test_several_addresses_keep_their_places(fetch) -> None:
    done = await fetch(["/article", "/absent", "/data.json"])
    assert [part.facts["url"].rpartition("/")[2] for part in done.parts] == ["article", "absent", "data.json"]
    assert [part.facts.get("status") for part in done.parts] == [None, 404, None]
    assert "grinding flour" in text(done.parts[0])
    assert [done for done, _, _ in fetch.reported] == [0, 1, 2, 3]


async def test_too_many_addresses_are_refused(fetch) -> None:
    with pytest.raises(BursarError, match="1 to 20"):
        await fetch([f"/{n}" for n in range(21)])
    with pytest.raises(BursarError, match="1 to 20"):
        await fetch([])


@pytest.mark.parametrize(
    ("path", "content", "suffix"),
    [("/data.json", '{"a": [1, 2, 3]}', ".json"), ("/table.csv", "a,b\n1,2\n", ".csv")],
)
async def test_data_is_kept_as_it_is(fetch, path, content, suffix) -> None:
    done = await fetch(path)
    assert text(done) == content
    assert done.hint.name.endswith(suffix)
    assert len(fetch.session.artifacts()) == 1


async def test_text_of_another_encoding_is_shown_as_utf8_and_kept_as_received(fetch) -> None:
    done = await fetch("/latin.txt")
    assert text(done).startswith("Füße, größer")
    assert done.facts["encoding"] == "cp1252"
    assert received(fetch, done).read(0, 2) == b"F\xfc"


async def test_a_page_in_another_encoding_is_read(fetch) -> None:
    done = await fetch("/sjis")
    assert "日本語のページです" in text(done)
    assert done.facts["encoding"] == "cp932"


async def test_a_feed_is_a_list_of_entries(fetch) -> None:
    done = await fetch("/feed")
    assert done.facts["title"] == "Harbour notes"
    assert done.facts["entries"] == 2
    assert "## First\n\nMon, 05 Jan 2026 08:00:00 GMT · http://e.example/1\n\nAbout **tides**" in text(done)


async def test_a_pdf_is_its_text_page_by_page(fetch) -> None:
    done = await fetch("/paper.pdf")
    assert done.facts["pages"] == 2
    assert text(done).split() == [
        "##",
        "Page",
        "1",
        "First",
        "page",
        "of",
        "the",
        "paper",
        "##",
        "Page",
        "2",
        "Second",
        "page",
    ]


async def test_a_pdf_that_cannot_be_read_says_so(fetch) -> None:
    done = await fetch("/locked.pdf")
    assert "damaged" in done.facts["unreadable"]
    assert text(done).startswith("%PDF")


async def test_an_image_is_described_and_points_to_the_right_tool(fetch) -> None:
    done = await fetch("/dot.png")
    assert (done.facts["format"], done.facts["width"], done.facts["height"]) == ("PNG", 8, 6)
    assert "download_image" in done.view.part(Allowance(100, 400)).value["next"]


async def test_other_bytes_are_kept_and_named_for_what_they_are(fetch) -> None:
    done = await fetch("/blob")
    assert done.facts["kind"] == "binary"
    assert done.facts["next"]
    assert done.output.size == 256 * 40


async def test_an_empty_answer_is_told(fetch) -> None:
    done = await fetch("/empty")
    assert done.facts["bytes"] == 0
    assert done.output is None


async def test_a_page_without_a_content_type_is_recognised(fetch) -> None:
    assert (await fetch("/no-type")).facts["title"] == "Tide mills return to the estuary"


def test_arguments_are_strict_and_small() -> None:
    assert WebFetchArgs(url="http://x", mode=None).mode == "readable"
    with pytest.raises(ValidationError):
        WebFetchArgs(url="http://x", depth=2)


def test_the_action_is_told_in_one_line() -> None:
    tool = WebFetch()
    assert tool.did(WebFetchArgs(url="http://x/")) == "GET http://x/"
    assert tool.did(WebFetchArgs(url=["http://x/", "http://y/"])) == "GET http://x/ and 1 more"


def test_it_is_annotated_truthfully() -> None:
    assert (WebFetch.read_only, WebFetch.open_world, WebFetch.destructive) == (True, True, False)


async def test_a_page_that_kills_its_reader_is_still_text(fetch, monkeypatch) -> None:
    monkeypatch.setattr("bursar.tools.web_fetch._READERS", {"html": "bursar.content.page.absent:run"})
    done = await fetch("/article")
    assert "could not be found" in done.facts["note"]
    assert done.facts["found"] == "whole page"
    assert "grinding flour" in text(done)
    json.dumps(dict(done.facts))


async def test_a_page_without_text_says_so_and_is_shown_as_received(fetch) -> None:
    done = await fetch("/app")
    assert "scripts" in done.facts["unreadable"]
    assert "<script src=/x.js>" in text(done)
    assert len(fetch.session.artifacts()) == 1


async def test_many_slow_addresses_are_answered_within_the_patience_of_the_client(fetch) -> None:
    fetch.patience_s = 1.2
    done = await fetch([f"/silent?{number}" for number in range(20)])
    codes = [part.facts["code"] for part in done.parts]
    assert set(codes[:6]) == {"stalled"}
    assert set(codes[6:]) == {"not_begun"}


DRIPPING = without_end(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b"x", 0.1)


async def test_when_the_patience_of_the_client_ends_a_fetch_the_advice_is_to_wait_longer(fetch) -> None:
    fetch.patience_s = 1.5
    fetch.there.answers["/drip"] = DRIPPING
    facts = (await fetch("/drip")).facts
    assert (facts["failed_at"], facts["code"]) == ("timeout", "too_slow")
    assert "--patience-s above 1.5" in facts["fix"]
    assert "later" not in facts["fix"]


async def test_when_the_limit_of_fetching_ends_it_the_source_is_to_blame(fetch) -> None:
    fetch.limits = replace(fetch.limits, total_s=1)
    fetch.there.answers["/drip"] = DRIPPING
    facts = (await fetch("/drip")).facts
    assert facts["code"] == "too_slow"
    assert "--patience-s" not in facts["fix"]


async def test_an_impatient_clients_time_goes_into_the_fetching(fetch) -> None:
    fetch.patience_s = 4
    fetch.limits = FetchLimits(total_s=30)
    fetch.there.answers["/drip"] = DRIPPING
    cause = (await fetch("/drip")).facts["cause"]
    assert float(re.match(r"not done after (\S+) s", cause)[1]) > 2.6


async def test_of_several_addresses_each_is_named_once(fetch) -> None:
    done = await fetch(["/article", "/moved"])
    assert "final_url" not in done.parts[0].facts
    assert done.parts[1].facts["final_url"] == done.parts[0].facts["url"]


async def test_what_is_received_is_named_by_the_type_that_the_server_tells(fetch) -> None:
    done = await fetch("/table.csv")
    assert done.output.path.endswith(".csv")
    fetch.there.answers["/export"] = page(b"a,b\n1,2\n", Content_Type="text/csv")
    assert (await fetch("/export")).output.path.endswith(".csv")


async def test_a_picture_without_its_metadata_is_not_what_was_received(fetch) -> None:
    address = fetch.there.url("/photo.jpg")
    await fetch.using(DownloadImage(), DownloadImageArgs(url=address, strip=True))
    done = await fetch("/photo.jpg", mode="raw")
    assert done.output.read(0, done.output.size) == png()


async def test_a_page_is_searched_in_the_call_that_fetches_it(fetch):
    found = await fetch("/article", grep="tide", count=True)
    assert isinstance(found, Reading)
    assert set(found.facts) == {"matches"}
    assert found.artifact is not None
    shown = await fetch("/article", grep="(?i)tide mills?", context="0-1")
    assert shown.artifact.id == found.artifact.id
    first = "".join(piece.text for piece in shown.page.pieces).splitlines()[0]
    number, _, line = first.partition(":")
    assert found.artifact.read(0, 1 << 20).decode().splitlines()[int(number) - 1] == line
    tail = await fetch("/article", lines="-1")
    assert found.artifact.read(0, 1 << 20).decode().endswith("".join(piece.text for piece in tail.page.pieces))
    assert len(fetch.session.artifacts()) == 2


async def test_what_is_wrong_with_a_page_is_said_with_what_was_found_in_it(fetch):
    found = await fetch("/missing", grep="mill", count=True)
    assert (found.facts["status"], found.facts["code"]) == (404, "http_404")
    assert found.facts["matches"] > 0
    unread = await fetch("/app", grep="script")
    assert "unreadable" in unread.facts
    assert unread.facts["matches"] == 1


async def test_without_a_body_there_is_nothing_to_search(fetch):
    done = await fetch("/silent", grep="x")
    assert isinstance(done, Done)
    assert done.output is None


async def test_several_pages_are_searched_in_one_call_each_in_its_place(fetch):
    done = await fetch(["/article", "/data.json", "/silent"], grep="(?i)tide", context="1")
    first, second, third = done.parts
    assert first.facts["matches"] > 0
    assert "tide" in first.view.whole(Allowance(10_000, 100_000)).lower()
    assert second.facts["matches"] == 0
    assert third.output is None
    assert done.afresh


async def test_a_range_that_one_of_several_pages_has_not_touches_no_other(fetch):
    done = await fetch(["/article", "/data.json"], lines="5-6")
    first, second = done.parts
    assert first.facts["lines"].startswith("5-6 of")
    assert second.facts["code"] == "beyond_the_end"
    assert "status" not in second.facts
    assert second.output is not None


async def test_what_cannot_be_searched_for_is_said_before_anything_is_fetched(fetch):
    with pytest.raises(BursarError, match="bad_argument"):
        await fetch("/article", grep="x", context="much")
    assert fetch.session.artifacts() == []


async def test_the_same_answer_received_again_is_one_artifact(fetch):
    for pattern in ("tide", "mill"):
        await fetch("/changing", grep=pattern)
    assert len(fetch.session.artifacts()) == 2
    texts = [await fetch("/latin.txt", grep=word) for word in ("Maße", "Füße")]
    assert texts[0].artifact.id == texts[1].artifact.id
    assert texts[0].facts == {"matches": 1}
    assert (await fetch("/latin.txt")).facts["encoding"]
