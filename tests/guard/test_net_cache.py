"""A page is fetched once; asked again, the server is asked at most whether it still holds."""

import json

import pytest
from bursar.guard.net.cache import Cache, Entry, fresh_for_s
from hypothesis import given
from hypothesis import strategies as st
from loopback import Sink, net_for, page, redirect, site

pytestmark = pytest.mark.anyio


class Clock:
    now = 1_000_000_000.0

    def __call__(self):
        return self.now


async def fetched(net, cache, url, **options):
    response = await net.fetch(url, sink := Sink(), cache=cache, **options)
    if response.entry is not None:
        cache.keep(response.entry, "ses_x/a1")
    return response, bytes(sink.data)


async def test_a_page_is_fetched_once():
    async with site({"/": page(b"page", Content_Type="text/plain; charset=utf-8")}) as there:
        net, cache = net_for(there), Cache()
        first, _ = await fetched(net, cache, there.url())
        again, body = await fetched(net, cache, there.url("/#part"))
    assert len(there.asked) == 1
    assert (first.source, again.source, again.artifact, body) == ("network", "cache", "ses_x/a1", b"")
    assert (again.status, again.content_type, again.charset) == (200, "text/plain", "utf-8")


async def test_both_ends_of_a_redirect_are_known_afterwards():
    async with site({"/old": redirect("/new"), "/new": page(b"page")}) as there:
        net, cache = net_for(there), Cache()
        await fetched(net, cache, there.url("/old"))
        for path in ("/old", "/new"):
            again, _ = await fetched(net, cache, there.url(path))
            assert (again.source, again.final_url) == ("cache", there.url("/new"))


async def test_a_stale_page_is_confirmed_without_being_sent_again():
    validators = {"ETag": '"v1"', "Last_Modified": "Sat, 21 Nov 2026 10:00:00 GMT", "Cache_Control": "max-age=0"}
    async with site({"/": page(b"page", **validators)}) as there:
        net, cache = net_for(there), Cache()
        await fetched(net, cache, there.url())
        there.answers["/"] = b"HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\n\r\n"
        second, body = await fetched(net, cache, there.url())
        third, _ = await fetched(net, cache, there.url())
    assert there.asked[1].headers["if-none-match"] == '"v1"'
    assert there.asked[1].headers["if-modified-since"] == "Sat, 21 Nov 2026 10:00:00 GMT"
    assert (second.source, second.artifact, second.status, body) == ("revalidated", "ses_x/a1", 200, b"")
    assert (third.source, len(there.asked)) == ("cache", 2)


async def test_a_changed_page_replaces_the_old_one():
    async with site({"/": page(b"old", ETag='"1"', Cache_Control="no-cache")}) as there:
        net, cache = net_for(there), Cache()
        await fetched(net, cache, there.url())
        there.answers["/"] = page(b"new", ETag='"2"')
        response, body = await fetched(net, cache, there.url())
    assert (response.source, body) == ("network", b"new")
    assert cache.get(there.url()).etag == '"2"'


@pytest.mark.parametrize("answer", [page(b"no", 404), page(b"half", 200, length=9), page(b"x", 500)])
async def test_failures_are_not_remembered(answer):
    async with site({"/": answer}) as there:
        net, cache = net_for(there), Cache()
        response, _ = await fetched(net, cache, there.url())
    assert response.entry is None
    assert cache.get(there.url()) is None


async def test_the_caller_can_insist():
    async with site({"/": page(b"page", ETag='"1"')}) as there:
        net, cache = net_for(there), Cache()
        await fetched(net, cache, there.url())
        response, body = await fetched(net, cache, there.url(), reuse="never")
    assert (response.source, body) == ("network", b"page")
    assert [asked.headers.get("if-none-match") for asked in there.asked] == [None, None]


async def test_an_unasked_304_is_no_page():
    async with site({"/": b"HTTP/1.1 304 Not Modified\r\n\r\n"}) as there:
        response, _ = await fetched(net_for(there), Cache(), there.url())
    assert (response.source, response.entry) == ("network", None)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 300),
        ({"cache-control": "public, max-age=60"}, 60),
        ({"cache-control": 'MAX-AGE="60"', "age": "20"}, 40),
        ({"cache-control": "max-age=60", "age": "90"}, 0),
        ({"cache-control": "no-store, max-age=60"}, 0),
        ({"cache-control": "no-cache"}, 0),
        ({"cache-control": "max-age=999999999"}, 86400),
        ({"expires": "Sat, 21 Nov 2026 10:01:00 GMT", "date": "Sat, 21 Nov 2026 10:00:00 GMT"}, 60),
        ({"expires": "0"}, 0),
        ({"expires": "Mon, 99 Foo 0000"}, 0),
    ],
)
def test_freshness_is_what_the_server_says(headers, seconds):
    assert fresh_for_s(headers) == seconds


def test_a_clock_that_jumps_back_makes_nothing_fresh():
    clock = Clock()
    cache = Cache(clock=clock)
    entry = Entry("http://a.test/", "http://a.test/", fetched_at=clock.now, fresh_until=clock.now + 60)
    assert cache.is_fresh(entry)
    clock.now -= 3600
    assert not cache.is_fresh(entry)
    clock.now += 7200
    assert not cache.is_fresh(entry)


def test_the_least_used_entry_goes_first():
    cache = Cache()
    for number in range(1000):
        cache.keep(Entry(f"http://a.test/{number}", f"http://a.test/{number}"), f"a{number}")
    cache.get("http://a.test/0")
    cache.keep(Entry("http://a.test/new", "http://a.test/new"), "a1000")
    assert cache.get("http://a.test/0") is not None
    assert cache.get("http://a.test/1") is None


texts = st.text(max_size=20)
times = st.floats(0, 1e10)


@given(st.builds(Entry, texts, texts, texts, texts, texts, texts, texts, times, times))
def test_an_entry_survives_a_record(entry):
    assert Entry.of(json.loads(json.dumps(entry.facts()))) == entry


@given(st.dictionaries(st.sampled_from([*Entry.__dataclass_fields__]), st.none() | texts | times | st.booleans()))
def test_any_record_is_read_or_refused(facts):
    entry = Entry.of(facts)
    assert entry is None or isinstance(entry.url, str)


async def test_what_a_confirmation_leaves_out_still_holds():
    async with site({"/": page(b"page", ETag='"1"', Cache_Control="no-cache")}) as there:
        net, cache = net_for(there), Cache()
        await fetched(net, cache, there.url())
        there.answers["/"] = b'HTTP/1.1 304 Not Modified\r\nETag: "2"\r\n\r\n'
        for _ in range(2):
            response, _ = await fetched(net, cache, there.url())
            assert response.source == "revalidated"
    assert [asked.headers.get("if-none-match") for asked in there.asked] == [None, '"1"', '"2"']


async def test_the_type_is_told_ahead_of_the_body():
    heard = []

    class Listening(Sink):
        def write(self, data):
            heard.append(data)

    async with site({"/": redirect("/new"), "/new": page(b"a,b", Content_Type="Text/CSV; charset=x")}) as there:
        await net_for(there).fetch(there.url(), Listening(), told=heard.append)
    assert heard == ["text/csv", b"a,b"]
