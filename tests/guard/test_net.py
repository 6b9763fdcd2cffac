"""What a fetch says and does, on real servers that answer as told, well or badly."""

import asyncio
import gzip
import zlib
from dataclasses import replace
from functools import partial

import anyio
import brotli
import pytest
from bursar.errors import BursarError
from bursar.guard.net import Limits, Net, NetSettings
from loopback import Asked, Sink, net_for, page, redirect, site, then_close, without_end

pytestmark = pytest.mark.anyio

QUICK = Limits(
    connect_s=1, between_s=0.3, total_s=0.8, wire_bytes=1 << 20, body_bytes=4 << 20, ratio_from_bytes=1 << 20
)
OK = b"HTTP/1.1 200 OK\r\n"


def zstd(data: bytes) -> bytes:
    import sys

    if sys.version_info >= (3, 14):
        from compression import zstd as library
    else:
        from backports import zstd as library
    return library.compress(data)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": partial(brotli.compress, quality=5),
    "zstd": zstd,
}


async def test_a_page_arrives_with_its_facts():
    async with site({"/a": page(b"<p>hi", Content_Type='Text/HTML; Charset="UTF-8"')}) as there:
        response = await net_for(there).fetch(there.url("/a?b=c d#part"), sink := Sink())
    assert sink.data == b"<p>hi"
    assert response.failure is None
    assert (response.status, response.content_type, response.charset) == (200, "text/html", "UTF-8")
    assert response.final_url == there.url("/a?b=c%20d")
    assert (response.wire_bytes, response.body_bytes) == (5, 5)


async def test_the_server_sees_the_name_and_a_clear_user_agent():
    async with site({"/": page(b"x")}) as there:
        await net_for(there).fetch(there.url(), Sink())
    seen = there.asked[0].headers
    assert seen["host"] == f"site.test:{there.port}"
    assert seen["user-agent"].startswith("bursar/")
    assert "cookie" not in seen


@pytest.mark.parametrize("encoding", [*PACKED, "raw deflate"])
async def test_every_encoding_is_undone(encoding):
    text = b"".join(b"line %d of some text\n" % number for number in range(20_000))
    packed = raw_deflate(text) if encoding == "raw deflate" else PACKED[encoding](text)
    header = encoding.removeprefix("raw ")
    async with site({"/": page(packed, Content_Encoding=header)}) as there:
        response = await net_for(there).fetch(there.url(), sink := Sink())
    assert response.failure is None
    assert sink.size == response.body_bytes == len(text)
    assert sink.data == text[: len(sink.data)]


async def test_members_one_after_the_other_are_all_undone():
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + b"\x00\x00garbage"
    async with site({"/": page(packed, Content_Encoding="gzip")}) as there:
        response = await net_for(there).fetch(there.url(), sink := Sink())
    assert (response.failure, sink.data) == (None, b"one two")


@pytest.mark.parametrize(
    ("encoding", "failure"),
    [
        # Deflate packs no better than 1:1032, which is no bomb yet: the limit of any content ends it.
        ("gzip", ("size", "too_large")),
        ("deflate", ("size", "too_large")),
        ("br", ("decode", "decompression_bomb")),
        ("zstd", ("decode", "decompression_bomb")),
    ],
)
async def test_a_bomb_is_stopped_and_its_beginning_kept(encoding, failure):
    packed = PACKED[encoding](bytes(24 << 20))
    assert len(packed) < 32_000
    async with site({"/": page(packed, Content_Encoding=encoding)}) as there:
        net = net_for(there, limits=replace(QUICK, total_s=5))
        response = await net.fetch(there.url(), sink := Sink())
    assert (response.failure.stage, response.failure.code) == failure
    assert 0 < sink.size <= QUICK.body_bytes


async def test_content_packed_twice_is_kept_packed_and_said():
    twice = gzip.compress(gzip.compress(b"x" * 1000))
    async with site({"/": page(twice, Content_Encoding="gzip, gzip")}) as there:
        response = await net_for(there).fetch(there.url(), sink := Sink())
    assert (response.failure.stage, response.failure.code) == ("decode", "unknown_encoding")
    assert sink.data == twice


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_damaged_and_cut_packing_is_said_and_the_rest_kept(encoding):
    text = bytes(range(256)) * 2000
    packed = PACKED[encoding](text)
    cut, nonsense = packed[: len(packed) // 2], b"this is not packed at all"
    answers = {"/cut": page(cut, Content_Encoding=encoding), "/not": page(nonsense, Content_Encoding=encoding)}
    async with site(answers) as there:
        net = net_for(there)
        for path in answers:
            response = await net.fetch(there.url(path), sink := Sink())
            assert response.failure.stage == "decode", path
            assert text.startswith(bytes(sink.data))


async def test_an_encoding_that_is_none_is_no_failure():
    async with site({"/": page(b"plain", Content_Encoding="identity")}) as there:
        response = await net_for(there).fetch(there.url(), sink := Sink())
    assert (response.failure, sink.data) == (None, b"plain")


@pytest.mark.parametrize("status", [403, 404, 429, 500])
async def test_an_unwelcome_status_keeps_its_body(status):
    async with site({"/": page(b"sorry", status, Content_Type="text/plain", Retry_After="17")}) as there:
        response = await net_for(there).fetch(there.url(), sink := Sink())
    assert sink.data == b"sorry"
    assert response.status == status
    assert (response.failure.stage, response.failure.code) == ("http_status", f"http_{status}")
    assert ("17" in response.failure.fix) == (status == 429)


HOSTILE = {
    "endless body": (without_end(OK + b"\r\n", b"x" * 65536), "size", "too_large"),
    "endless chunks": (
        without_end(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"y" * 4096 + b"\r\n"),
        "size",
        "too_large",
    ),
    "slow body": (without_end(OK + b"Content-Length: 1000\r\n\r\nstart", b".", 0.1), "timeout", "too_slow"),
    "stalled body": (without_end(OK + b"Content-Length: 1000\r\n\r\nstart", b"", 0.1), "timeout", "stalled"),
    "slow headers": (without_end(OK, b"X", 0.1), "timeout", "too_slow"),
    "no answer": (without_end(b"", b"", 0.1), "timeout", "stalled"),
    "endless 103": (
        without_end(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 500),
        "size",
        "headers_too_large",
    ),
    "slow 100s": (without_end(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.1), "timeout", "too_slow"),
    "endless headers": (without_end(OK, b"X-A: b\r\n" * 100), "size", "headers_too_large"),
    "one endless header": (without_end(OK + b"X-A: ", b"b" * 5000), "size", "headers_too_large"),
    "endless trailers": (
        without_end(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"T: u\r\n" * 999),
        "size",
        "headers_too_large",
    ),
    "too short": (then_close(page(b"half", length=8)), "size", "cut_short"),
    "chunk cut": (then_close(OK + b"Transfer-Encoding: chunked\r\n\r\n10\r\nhalf"), "size", "cut_short"),
    "two lengths": (then_close(OK + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nhalf"), "http_status", "not_http"),
    "bad chunk": (then_close(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhalf"), "http_status", "not_http"),
    "no http": (then_close(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "http_status", "not_http"),
    "hang up": (then_close(b""), "connect", "hung_up"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_answer_ends_in_time_with_its_name(name):
    answer, stage, code = HOSTILE[name]
    async with site({"/": answer}) as there:
        net = net_for(there, limits=replace(QUICK, total_s=0.8 if code == "too_slow" else 5))
        with anyio.fail_after(10):
            response = await net.fetch(there.url(), sink := Sink())
    assert (response.failure.stage, response.failure.code) == (stage, code), response.failure
    assert sink.size <= QUICK.wire_bytes
    if "body" in name or name in ("too short", "chunk cut"):
        assert sink.data[:4] in (b"xxxx", b"star", b"half")


async def test_a_hundred_redirects_are_not_followed():
    async with site({f"/{number}": redirect(f"/{number + 1}") for number in range(100)}) as there:
        response = await net_for(there).fetch(there.url("/0"), Sink())
    assert (response.failure.stage, response.failure.code) == ("redirect", "too_many_redirects")
    assert len(there.asked) == 11
    assert len(response.redirects) == 11


async def test_ten_redirects_are_followed():
    answers = {f"/{number}": redirect(f"{number + 1}", 301 + number % 3) for number in range(10)}
    async with site({**answers, "/10": page(b"there")}) as there:
        response = await net_for(there).fetch(there.url("/0"), sink := Sink())
    assert (response.failure, sink.data, response.final_url) == (None, b"there", there.url("/10"))


async def test_a_circle_is_noticed():
    async with site({"/a": redirect("/b"), "/b": redirect("/a")}) as there:
        response = await net_for(there).fetch(there.url("/a"), Sink())
    assert response.failure.code == "redirect_circle"
    assert len(there.asked) == 2


async def test_the_body_of_a_redirect_is_not_the_page():
    async with site({"/a": page(b"moved", 302, Location="/b"), "/b": page(b"page")}) as there:
        await net_for(there).fetch(there.url("/a"), sink := Sink())
    assert sink.data == b"page"


async def test_no_cookie_is_kept_for_the_next_fetch():
    async with site({"/": page(b"x", Set_Cookie="session=1; Path=/")}) as there:
        net = net_for(there)
        for _ in range(2):
            await net.fetch(there.url(), Sink())
    assert all("cookie" not in asked.headers for asked in there.asked)


async def test_nobody_listening_is_a_refused_connection():
    async with site({}) as there:
        pass
    response = await net_for(there).fetch(there.url(), Sink())
    assert (response.failure.stage, response.failure.code) == ("connect", "connection_refused")


async def test_the_next_address_is_tried_when_one_does_not_answer():
    async with site({"/": page(b"second")}) as there:
        net = net_for(there, names={"two.test": ["127.0.0.9", "127.0.0.1"]}, allow=[f"127.0.0.9:{there.port}"])
        response = await net.fetch(there.url(host="two.test"), sink := Sink())
    assert (response.failure, sink.data) == (None, b"second")


async def test_a_kept_connection_that_the_server_closed_is_replaced():
    closing = then_close(page(b"", 404))
    async with site({"/robots.txt": closing, "/": page(b"page")}) as there:
        response = await net_for(there, obeys_robots=True).fetch(there.url(), sink := Sink())
    assert (response.failure, sink.data) == (None, b"page")


async def test_an_error_of_the_sink_is_not_a_failure_of_the_network():
    class Full:
        def write(self, data):
            raise BursarError("disk_full", "no room", "make room")

    async with site({"/": page(b"x")}) as there:
        with pytest.raises(BursarError, match="disk_full"):
            await net_for(there).fetch(there.url(), Full())


async def test_a_cancelled_fetch_lets_go_of_its_connection():
    closed = asyncio.Event()

    async def wait(asked: Asked, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(OK + b"Content-Length: 9999\r\n\r\nx")
            while True:
                await writer.drain()
                writer.write(b"x")
                await asyncio.sleep(0.01)
        finally:
            closed.set()

    async with site({"/": wait}) as there:
        net = net_for(there, limits=Limits())
        with anyio.move_on_after(0.2) as scope:
            await net.fetch(there.url(), Sink())
        assert scope.cancelled_caught
        with anyio.fail_after(5):
            await closed.wait()


async def test_many_fetches_run_at_the_same_time():
    async def later(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        writer.write(page(asked.target.encode()))

    async with site({f"/{number}": later for number in range(30)}) as there:
        net = net_for(there)
        sinks = [Sink() for _ in range(30)]
        with anyio.fail_after(3):
            async with anyio.create_task_group() as group:
                for number, sink in enumerate(sinks):
                    group.start_soon(net.fetch, there.url(f"/{number}"), sink)
    assert [sink.data for sink in sinks] == [b"/%d" % number for number in range(30)]


async def test_a_proxy_is_used_only_when_the_user_names_it_and_inner_numbers_stay_refused():
    async def forward(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"through " + asked.headers["proxy-authorization"].encode()))

    async with site({"http://far.example/": forward}) as proxy:
        net = Net(NetSettings(proxy=f"http://me:pass@127.0.0.1:{proxy.port}", obeys_robots=False))
        response = await net.fetch("http://far.example/", sink := Sink())
        assert response.failure is None
        assert sink.data.startswith(b"through Basic ")
        for host in ("127.0.0.1", "0x7f.1", "[::1]", "169.254.169.254", "localhost", "a.localhost"):
            response = await net.fetch(f"http://{host}/", Sink())
            assert response.failure.stage == "address_refused", host
    assert len(proxy.asked) == 1


def test_a_proxy_that_is_none_is_an_error_at_the_start():
    with pytest.raises(BursarError, match="bad_proxy"):
        Net(NetSettings(proxy="socks5://127.0.0.1:1080"))
