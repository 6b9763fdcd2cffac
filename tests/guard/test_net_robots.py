"""robots.txt by RFC 9309, and when it is asked for."""

import asyncio

import pytest
from bursar.guard.net import Limits
from bursar.guard.net.cache import Cache
from bursar.guard.net.robots import MAX_BYTES, Rules, parse
from cpu_bound import ends_within
from hypothesis import given
from hypothesis import strategies as st
from loopback import Asked, Sink, net_for, page, redirect, site

pytestmark = pytest.mark.anyio


ROBOTS = b"""
# a comment
User-agent: *
Disallow: /private
Allow: /private/open$
Disallow: /*.pdf$
Disallow: /search*q=

User-Agent: GoodBot
User-agent: bursar/1.0 # us too
Disallow: /only-us
"""


@pytest.mark.parametrize(
    ("agent", "target", "allowed"),
    [
        ("other", "/", True),
        ("other", "/private/x", False),
        ("other", "/privateer", False),
        ("other", "/private/open", True),
        ("other", "/private/open/x", False),
        ("other", "/%70rivate/x", False),
        ("other", "/a/b.pdf", False),
        ("other", "/a/b.pdf?x", True),
        ("other", "/search?a=b&q=c", False),
        ("other", "/only-us", True),
        ("bursar", "/only-us", False),
        ("bursar", "/private", True),
        ("goodbot", "/only-us/x", False),
        ("other", "/robots.txt", True),
    ],
)
def test_the_longest_fitting_rule_of_the_own_group_decides(agent, target, allowed):
    assert parse(ROBOTS, agent).allow(target) is allowed


def test_allow_wins_a_tie_and_an_empty_rule_forbids_nothing():
    assert parse(b"User-agent: *\nDisallow: /a\nAllow: /a\n").allow("/a")
    assert parse(b"User-agent: *\nDisallow:\n").allow("/a")


def test_patterns_made_to_be_slow_are_not():
    rules = Rules((("/" + "*a" * 2000 + "$", False),))
    assert rules.allow("/" + "a" * 1999 + "b" * 4000)


def test_a_file_that_names_as_many_agents_as_fit_is_read_quickly():
    names = (f"{number:05}".translate(str.maketrans("0123456789", "abcdefghij")) for number in range(36_000))
    content = "".join(f"User-agent:{name}\n" for name in names).encode()
    assert len(content) > MAX_BYTES
    assert ends_within(3, lambda: parse(content))


def test_a_pattern_longer_than_any_path_is_no_rule():
    assert parse(b"User-agent: *\nDisallow: /" + b"*" * 9000) == Rules()


@given(st.binary(max_size=300), st.text(max_size=50))
def test_any_file_can_be_read(content, path):
    parse(b"User-agent: *\n" + content).allow("/" + path)


async def test_a_forbidden_page_is_not_asked_for():
    async with site({"/robots.txt": page(b"User-agent: *\nDisallow: /no"), "/yes": page(b"yes")}) as there:
        net = net_for(there, obeys_robots=True)
        refused = await net.fetch(there.url("/no"), Sink())
        allowed = await net.fetch(there.url("/yes"), Sink())
    assert (refused.failure.stage, refused.failure.code) == ("robots", "robots_refused")
    assert "--ignore-robots" in refused.failure.fix
    assert refused.status is None
    assert allowed.failure is None
    assert "/no" not in there.paths()


async def test_the_user_can_ignore_it():
    async with site({"/robots.txt": page(b"User-agent: *\nDisallow: /"), "/": page(b"x")}) as there:
        response = await net_for(there, obeys_robots=False).fetch(there.url(), Sink())
    assert response.failure is None
    assert there.paths() == ["/"]


async def test_it_is_asked_once_in_a_session_and_on_the_same_connection():
    async with site({"/robots.txt": page(b""), "/a": page(b"a"), "/b": page(b"b")}) as there:
        net, cache = net_for(there, obeys_robots=True), Cache()
        for path in ("/a", "/b"):
            await net.fetch(there.url(path), Sink(), cache=cache)
        await net.fetch(there.url("/a"), Sink(), cache=Cache())
    assert there.paths() == ["/robots.txt", "/a", "/b", "/robots.txt", "/a"]
    assert there.connections == 3


async def test_a_redirect_to_a_forbidden_page_is_not_followed():
    async with site(
        {"/robots.txt": page(b"User-agent: *\nDisallow: /no"), "/": redirect("/no"), "/no": page(b"x")}
    ) as there:
        response = await net_for(there, obeys_robots=True).fetch(there.url(), Sink())
    assert response.failure.stage == "robots"
    assert "/no" not in there.paths()


@pytest.mark.parametrize(
    "answer",
    [
        page(b"", 404),
        page(b"", 503),
        b"nonsense\r\n\r\n",
        page(b"Disallow: /", length=99),
        redirect("http://10.0.0.1/"),
    ],
)
async def test_one_that_cannot_be_had_forbids_nothing(answer):
    async with site({"/robots.txt": answer, "/": page(b"page")}) as there:
        response = await net_for(there, obeys_robots=True).fetch(there.url(), sink := Sink())
    assert (response.failure, sink.data) == (None, b"page")


async def test_a_slow_one_leaves_time_for_the_page():
    async def slow(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async with site({"/robots.txt": slow, "/": page(b"page")}) as there:
        net = net_for(there, obeys_robots=True, limits=Limits(total_s=1))
        response = await net.fetch(there.url(), sink := Sink())
    assert (response.failure, sink.data) == (None, b"page")
