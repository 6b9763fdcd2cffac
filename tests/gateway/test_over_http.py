"""Servers that are elsewhere are used like those that run here."""

import asyncio
import sys
from pathlib import Path

import pytest
from behind import content
from loopback import page, redirect, site
from serving import serving

pytestmark = pytest.mark.anyio

STUB = Path(__file__).parent.parent / "support" / "http_stub.py"


@pytest.mark.parametrize("sent", ["sse", "json"])
async def test_a_server_over_http_is_called(behind, sent):
    with serving([sys.executable, STUB, sent]) as address:
        async with behind({"far": {"url": f"{address}/"}}) as servers:
            assert (await servers.call("far.say", {"text": "hellö"}))["preview"] == "hellö"
            assert [(await servers.call("far.count"))["preview"] for _ in range(2)] == ["1", "2"]
            found = await servers.call("far.big", {"text": "", "bytes": 3_000_000})
            assert content(found["path"]) == b"a line of text\n" * 200_000
            assert "upstream_error" in await servers.refused("far.fault")


async def test_what_a_request_asks_for_stands_in_its_headers_too(behind):
    """The protocol's own library refuses requests whose headers and bodies differ."""
    with serving([sys.executable, STUB]) as address:
        async with behind({"far": {"url": f"{address}/"}}) as servers:
            for text in ("plain", " blanks ", "größe\n", "=?base64?eA==?="):
                assert (await servers.call("far.say", {"text": text}))["preview"].strip() == text.strip()
            assert (await servers.call("far.größe", {"text": "a"}))["preview"] == "a"
            found = await servers.call("far.read_resource", {"uri": "x://größe"})
            assert found["resource_is"].startswith("uri x://größe")
            child = next(iter(servers.gateway.children._running.values()))
            assert child._peer.modern


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (redirect("http://127.0.0.1:9/mcp"), "far answers with a redirect (302). Name the address that it leads to"),
        (
            page(b"<p>log in</p>", Content_Type="text/html"),
            "far answers with text/html, which is no message: <p>log in</p>. See that its url",
        ),
        (page(b'{"no":1}', 500, Content_Type="application/json"), 'far answers 500: {"no":1}. Try again later'),
        (page(b"slower", 429, Content_Type="text/plain"), "far answers 429: slower. Try again later"),
        (page(b"{}", Content_Type="application/json"), "far ended its answer before it was whole: {}. Call again"),
        (
            page(b"{}", Content_Type="application/json", Content_Encoding="br"),
            "far answers with application/json in br, which is no message",
        ),
    ],
)
async def test_an_answer_that_is_none_is_told_with_what_it_says(behind, answer, told):
    async with site({"/mcp": answer}) as far:
        address = far.url("/mcp", "127.0.0.1")
        async with behind({"far": {"url": address}}) as servers:
            assert told in await servers.refused("far.say", {"text": "a"})


async def test_a_call_over_http_is_cancelled(behind):
    with serving([sys.executable, STUB]) as address:
        async with behind({"far": {"url": f"{address}/"}}) as servers:
            await servers.call("far.say", {"text": "up"})
            work = asyncio.create_task(servers.answer("call_tool", tool="far.wait"))
            await asyncio.sleep(0.3)
            work.cancel()
            await asyncio.wait([work])
            assert (await servers.call("far.say", {"text": "still there"}))["preview"] == "still there"


async def test_a_token_goes_with_each_request_and_is_shown_to_nobody(behind, monkeypatch):
    monkeypatch.setenv("FAR_TOKEN", "tok-0123456789")
    headers = {"Authorization": "Bearer ${FAR_TOKEN}"}
    with serving([sys.executable, STUB, "sse", "tok-0123456789"]) as address:
        async with behind({"far": {"url": f"{address}/", "headers": headers}}) as servers:
            assert (await servers.call("far.say", {"text": "a"}))["preview"] == "a"
    with serving([sys.executable, STUB, "sse", "another"]) as address:
        async with behind({"far": {"url": f"{address}/", "headers": headers}}) as servers:
            told = await servers.refused("far.say", {"text": "a"})
            assert told.startswith("upstream_auth: far answers 401: no: ***.")
            assert "tok-0123456789" not in told


async def test_a_name_does_not_lead_to_addresses_that_are_not_public(behind, monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("10.0.0.7", 80))])
    async with behind({"far": {"url": "http://intranet.example/mcp"}}) as servers:
        told = await servers.refused("far.say")
        assert "address_refused: intranet.example (10.0.0.7) is private" in told
        assert "--allow-net 10.0.0.7:80" in told


async def test_bursar_itself_over_http_is_used_in_the_new_way(behind, tmp_path):
    command = [
        sys.executable,
        "-m",
        "bursar",
        "serve",
        "--http",
        "127.0.0.1:0",
        "--no-auth",
        "--data-dir",
        tmp_path / "far",
    ]
    with serving(command) as address:
        async with behind({"far": {"url": address}}, mcp_tokens=1) as servers:
            found = await servers.call("far.terminal", {"command": "echo far away"})
            assert "far away" in found["preview"]
            child = next(iter(servers.gateway.children._running.values()))
            assert child._peer.modern
