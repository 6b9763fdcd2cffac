"""TLS: the name is checked, the authority is checked, the time is checked."""

import asyncio
import datetime
import ssl

import pytest
import trustme
from bursar.guard.net import Limits
from loopback import Sink, Site, net_for, page, redirect, site

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def trusted(authority, tmp_path):
    """The file of a test authority."""
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def serving(certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


async def test_the_server_gets_the_name_in_tls_and_in_host(authority, trusted):
    tls = serving(authority.issue_cert("site.test"))
    told = []
    tls.sni_callback = lambda connection, name, context: told.append(name)
    async with site({"/": page(b"secret")}, tls) as there:
        response = await net_for(there, ca_file=trusted).fetch(there.url(), sink := Sink())
        dotted = await net_for(there, names={"site.test.": ["127.0.0.1"]}, ca_file=trusted).fetch(
            there.url(host="site.test."), Sink()
        )
    assert (response.failure, sink.data) == (None, b"secret")
    assert dotted.failure is None
    assert told == ["site.test", "site.test"]
    assert there.asked[0].headers["host"] == f"site.test:{there.port}"


async def test_a_certificate_for_the_number_is_good_for_the_number(authority, trusted):
    async with site({"/": page(b"x")}, serving(authority.issue_cert("127.0.0.1"))) as there:
        assert (await net_for(there, ca_file=trusted).fetch(there.url(host="127.0.0.1"), Sink())).failure is None


async def test_wrong_certificates_are_refused_by_name(authority, trusted):
    now = datetime.datetime.now(datetime.UTC)
    old = authority.issue_cert(
        "site.test", not_before=now - datetime.timedelta(9), not_after=now - datetime.timedelta(1)
    )
    cases = {
        "certificate_wrong_name": authority.issue_cert("other.test"),
        "certificate_expired": old,
        "certificate_untrusted": trustme.CA().issue_cert("site.test"),
    }
    for code, certificate in cases.items():
        async with site({"/": page(b"secret")}, serving(certificate)) as there:
            response = await net_for(there, ca_file=trusted).fetch(there.url(), sink := Sink())
        assert (response.failure.stage, response.failure.code) == ("tls", code), response.failure
        assert there.asked == []
        assert sink.size == 0


async def test_a_self_signed_certificate_is_refused_by_name(authority, trusted, tmp_path):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "site.test")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(1))
    names = x509.SubjectAlternativeName([x509.DNSName("site.test")])
    certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "own.pem").write_bytes(key.private_bytes(*form) + certificate.public_bytes(serialization.Encoding.PEM))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "own.pem")
    async with site({"/": page(b"secret")}, tls) as there:
        response = await net_for(there, ca_file=trusted).fetch(there.url(), Sink())
    assert (response.failure.stage, response.failure.code) == ("tls", "certificate_self_signed")


async def test_a_server_that_answers_without_tls_is_a_tls_failure(trusted):
    async def speak_plainly(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(speak_plainly, "127.0.0.1", 0) as server:
        there = Site(server.sockets[0].getsockname()[1], {}, "https")
        response = await net_for(there, ca_file=trusted).fetch(there.url(), Sink())
    assert (response.failure.stage, response.failure.code) == ("tls", "tls_failed")


async def test_a_server_that_waits_for_plain_words_has_stalled(trusted):
    async with site({"/": page(b"x")}) as there:
        net = net_for(there, ca_file=trusted, limits=Limits(connect_s=0.3))
        response = await net.fetch(f"https://site.test:{there.port}/", Sink())
    assert (response.failure.stage, response.failure.code) == ("timeout", "stalled")
    assert there.asked == []


async def test_encryption_is_never_given_up_on_the_way(authority, trusted):
    async with site({"/": page(b"open")}) as plain:
        tls = serving(authority.issue_cert("site.test"))
        async with site({"/": redirect(plain.url("/", "other.test"))}, tls) as there:
            response = await net_for(there, plain, ca_file=trusted).fetch(there.url(), sink := Sink())
    assert (response.failure.stage, response.failure.code) == ("redirect", "redirect_to_http")
    assert plain.asked == []
    assert sink.size == 0


async def test_going_over_to_encryption_is_welcome(authority, trusted):
    tls = serving(authority.issue_cert("site.test"))
    async with site({"/": page(b"safe")}, tls) as safe, site({"/": redirect(safe.url())}) as there:
        response = await net_for(there, safe, ca_file=trusted).fetch(there.url(), sink := Sink())
    assert (response.failure, sink.data) == (None, b"safe")
