"""Which addresses are dialled, and that no spelling, redirect or changing name leads to another."""

import socket
import threading
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv6Address, IPv6Network

import pytest
from bursar.errors import BursarError
from bursar.guard.net import Limits, Net, NetSettings
from bursar.guard.net.addresses import AllowNet, is_own, judge
from hypothesis import given
from hypothesis import strategies as st
from loopback import Sink, net_for, page, redirect, resolver, site

pytestmark = pytest.mark.anyio


NAT64 = IPv6Network("64:ff9b::/96")
GLOBAL_UNICAST = IPv6Network("2000::/3")
PUBLIC = ["8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808"]
NOT_PUBLIC = """
    0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.1.1
    169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1
    198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16
    100.100.100.200 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1
    64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::808:808 100::1 2001::1 2001:db8::1 2002:7f00:1:: 2002:808:808::
    3fff::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 2606:4700::5efe:7f00:1
    2606:4700::200:5efe:a00:1 5f00::1 4000::1 nonsense
""".split()


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_dialled(address):
    assert judge(address, 80) is None


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_other_addresses_are_refused_with_a_reason(address):
    assert judge(address, 80)


@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_judged_as_the_one_inside(address: IPv4Address):
    inside = judge(address, 80)
    assert judge(IPv6Address(f"::ffff:{address}"), 80) == inside
    assert bool(judge(IPv6Address(f"64:ff9b::{address}"), 80)) == bool(inside)


@given(st.ip_addresses(v=4))
def test_what_is_dialled_is_public_by_the_registry_too(address: IPv4Address):
    assert judge(address, 80) or (address.is_global and not address.is_multicast)


@given(st.ip_addresses(v=6, network="2000::/3") | st.ip_addresses(v=6))
def test_only_global_unicast_and_translations_of_public_addresses_are_dialled(address: IPv6Address):
    carries = address.ipv4_mapped or (IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else None)
    if judge(address, 443) is None:
        assert address in GLOBAL_UNICAST or (carries and judge(carries, 443) is None)


def test_an_opening_covers_its_port_only():
    allow = AllowNet.parse(["127.0.0.1:3000", "[::1]:8080", "10.0.0.0/8:80", "192.168.1.5"])
    assert judge("127.0.0.1", 3000, allow) is None
    assert judge("127.0.0.1", 3001, allow)
    assert judge("127.0.0.2", 3000, allow)
    assert judge("::1", 8080, allow) is None
    assert judge("::1", 3000, allow)
    assert judge("10.9.8.7", 80, allow) is None
    assert judge("10.9.8.7", 443, allow)
    assert judge("192.168.1.5", 12345, allow) is None


def test_localhost_opens_both_families():
    allow = AllowNet.parse(["localhost:3000"])
    assert judge("127.0.0.1", 3000, allow) is None
    assert judge("::1", 3000, allow) is None


def test_metadata_services_are_opened_only_by_their_own_address():
    assert judge("169.254.169.254", 80, AllowNet.parse(["169.254.0.0/16", "0.0.0.0/0"]))
    assert judge("169.254.169.254", 80, AllowNet.parse(["169.254.169.254:80"])) is None
    assert judge("169.254.1.1", 80, AllowNet.parse(["169.254.0.0/16"])) is None


def test_a_translated_private_address_is_not_opened_by_opening_the_private_one():
    assert judge("64:ff9b::7f00:1", 80, AllowNet.parse(["127.0.0.1"]))


@pytest.mark.parametrize(
    "text", ["", "example.com", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", "[::1", "10.0.0.1/8"]
)
def test_an_opening_that_cannot_be_read_is_an_error(text):
    with pytest.raises(BursarError) as raised:
        AllowNet.parse([text])
    assert raised.value.code == "bad_allow_net"


@pytest.mark.parametrize(
    ("text", "address"), [("[fd00::/8]:80", "fd12::1"), ("[fd00::]/8:80", "fd12::1"), ("fd00::/8", "fd12::1")]
)
def test_ranges_of_both_families_can_be_opened(text, address):
    assert judge(address, 80, AllowNet.parse([text])) is None


def test_the_addresses_of_this_host_are_known_without_sending():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.99", 9))
        own = probe.getsockname()[0]
    assert is_own("127.0.0.1")
    assert is_own(own)
    assert not is_own("8.8.8.8")


# Every one of these means 127.0.0.1, or the other addresses of this machine, to somebody.
SPELLINGS = """
    127.0.0.1 127.0.0.1. 127.1 127.0.1 127.000.000.001 0177.0.0.1 0177.1 0x7f.0.0.1 0x7F.1 0x7f000001 0X7F000001
    2130706433 017700000001 0x7f.0x0.0x0.0x1 127.0.0.2 127.255.255.254 0 0.0.0.0 0x0 00 [::1] [::] [0:0:0:0:0:0:0:1]
    [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:0:127.0.0.1] [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::127.0.0.1]
    [2002:7f00:1::] [2001::1] [fe80::1] [fc00::1] [ff02::1] [fd00:ec2::254] %31%32%37.0.0.1 127%2e0%2e0%2e1
    127%E3%80%820%E3%80%820%E3%80%821 １２７.０.０.１ 127。0。0。1 127．0．0．1 127｡0｡0｡1 ①②⑦.⓪.⓪.① ⑫⑦.0.0.1
    ⓛⓞⓒⓐⓛⓗⓞⓢⓣ localhost LOCALHOST localhost. sub.localhost local%68ost ip6-localhost 10.0.0.1 10.1 192.168.0.1
    192.168.1 172.16.0.1 169.254.169.254 0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.43518 100.64.0.1 224.0.0.1
    255.255.255.255 168.63.129.16 100.100.100.200 192.0.0.192 rebound.test mixed.test [::ffff:169.254.169.254]
    [64:ff9b::a9fe:a9fe] [::%31] [fe80::1%25lo] [::1%25lo] 127.0.0.1%00.example.com evil.test@127.0.0.1 127.0.0.1%09
""".split()

NAMES = {
    "localhost": ["127.0.0.1", "::1"],
    "localhost.": ["127.0.0.1"],
    "sub.localhost": ["127.0.0.1"],
    "ip6-localhost": ["::1"],
    "rebound.test": ["127.0.0.1"],
    "mixed.test": ["8.8.8.8", "127.0.0.1"],
}


@contextmanager
def nobody_home():
    """Listen on all loopback addresses, accept nothing, and find out whether anybody knocked."""
    with socket.socket() as four, socket.socket(socket.AF_INET6) as six:
        four.bind(("0.0.0.0", 0))
        port = four.getsockname()[1]
        six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        six.bind(("::", port))
        for listening in (four, six):
            listening.setblocking(False)
            listening.listen()
        yield port
        for listening in (four, six):
            with pytest.raises(BlockingIOError):
                listening.accept()


async def test_no_spelling_of_an_inner_address_is_dialled():
    net = Net(NetSettings(resolve=resolver(NAMES), obeys_robots=False, limits=Limits(total_s=5)))
    with nobody_home() as port:
        for spelling in SPELLINGS:
            response = await net.fetch(f"http://{spelling}:{port}/", sink := Sink())
            assert response.failure is not None, spelling
            assert response.failure.stage in ("address_refused", "name", "url"), (spelling, response.failure)
            assert response.status is None
            assert sink.size == 0


async def test_what_resolves_is_refused_as_an_address_and_the_refusal_names_the_switch():
    net = Net(NetSettings(resolve=resolver(NAMES)))
    for host in ("127.0.0.1", "0x7f.1", "2130706433", "localhost", "127。0。0。1", "%31%32%37.1", "[::ffff:127.0.0.1]"):
        failure = (await net.fetch(f"http://{host}:3000/", Sink())).failure
        assert failure.stage == "address_refused", host
        assert "--allow-net 127.0.0.1:3000" in failure.fix


async def test_no_redirect_leads_to_an_inner_address():
    async with site({}) as outer:
        net = net_for(outer, names=NAMES)
        with nobody_home() as port:
            for number, spelling in enumerate(SPELLINGS):
                for form in (f"http://{spelling}:{port}/", f"//{spelling}:{port}/", f"http:\\\\{spelling}:{port}\\"):
                    outer.answers[f"/{number}"] = redirect(form)
                    response = await net.fetch(outer.url(f"/{number}"), Sink())
                    assert response.failure is not None, form
                    assert response.failure.stage in ("address_refused", "name", "redirect"), (form, response.failure)


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://a.test/", "gopher://a.test/", "javascript:alert(1)", "data:,x"]
)
async def test_other_schemes_are_neither_fetched_nor_followed(target):
    async with site({"/": redirect(target)}) as outer:
        net = net_for(outer)
        assert (await net.fetch(target, Sink())).failure.stage == "url"
        assert (await net.fetch(outer.url(), Sink())).failure.stage == "redirect"


async def test_a_name_that_changes_its_address_is_dialled_where_it_was_judged():
    answers = iter([["127.0.0.1"], ["10.0.0.1"], ["10.0.0.1"]])
    asked = []

    def rebinding(host, port):
        asked.append(host)
        return next(answers)

    async with site({"/": page(b"where it was judged")}) as there:
        settings = NetSettings(allow=AllowNet.parse([f"127.0.0.1:{there.port}"]), resolve=rebinding, obeys_robots=False)
        response = await Net(settings).fetch(there.url(host="rebinding.test"), sink := Sink())
    assert (response.failure, sink.data) == (None, b"where it was judged")
    assert asked == ["rebinding.test"]


async def test_a_name_that_turns_inward_on_the_second_hop_is_refused_there():
    async with site({}) as outer:
        turns = iter([["127.0.0.1"], ["10.0.0.1"]])
        net = net_for(outer)
        settings = NetSettings(
            allow=net.settings.allow,
            resolve=lambda host, port: next(turns),
            obeys_robots=False,
            limits=net.settings.limits,
        )
        outer.answers["/"] = b"HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"
        response = await Net(settings).fetch(outer.url(), Sink())
    assert response.failure.stage == "address_refused"
    assert "10.0.0.1" in response.failure.message


async def test_one_refused_address_among_several_refuses_the_name():
    net = Net(NetSettings(resolve=lambda host, port: ["8.8.8.8", "192.168.0.1"]))
    response = await net.fetch("http://mixed.test/", Sink())
    assert response.failure.stage == "address_refused"


async def test_an_address_of_this_machine_is_refused_even_if_it_is_public(monkeypatch):
    from bursar.guard.net import addresses

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.99", 9))
        own = probe.getsockname()[0]
    # The rule by ranges is set aside, as if this machine had a public address.
    monkeypatch.setattr(addresses, "judge", lambda address, port, allow=None: None)
    response = await Net(NetSettings(resolve=lambda host, port: [own])).fetch("http://own.test:9/", Sink())
    assert response.failure.stage == "address_refused"
    assert "this machine" in response.failure.message


async def test_the_environment_names_no_proxy(monkeypatch):
    with nobody_home() as port:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        async with site({"/": page(b"direct")}) as outer:
            await net_for(outer).fetch(outer.url(), sink := Sink())
        assert sink.data == b"direct"


async def test_a_slow_resolver_costs_its_time_and_not_more():
    release = threading.Event()

    def slow(host, port):
        release.wait(5)
        return ["127.0.0.1"]

    response = await Net(NetSettings(resolve=slow, limits=Limits(connect_s=0.1))).fetch("http://slow.test/", Sink())
    release.set()
    assert (response.failure.stage, response.failure.code) == ("name", "name_timeout")
