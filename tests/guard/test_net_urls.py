"""How addresses are read."""

import pytest
from bursar.errors import BursarError
from bursar.guard.net.urls import parse
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("http://Example.COM", "http://example.com/"),
        ("HTTPS://example.com:443/a", "https://example.com/a"),
        ("https://example.com:80/a", "https://example.com:80/a"),
        ("  https://example.com/a\n", "https://example.com/a"),
        ("https://example.com/a b?c d#e", "https://example.com/a%20b?c%20d"),
        ("https://example.com/ü?ü", "https://example.com/%C3%BC?%C3%BC"),
        ("https://example.com/%C3%BC%zz", "https://example.com/%C3%BC%zz"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://例え.テスト/", "https://xn--r8jz45g.xn--zckzah/"),
        ("https://faß.de", "https://xn--fa-hia.de/"),
        ("http:\\\\example.com\\a", "http://example.com/a"),
        ("http://example.com\\@evil.test/", "http://example.com/@evil.test/"),
        ("http://[::FFFF:1.2.3.4]:8080/", "http://[::ffff:1.2.3.4]:8080/"),
        ("http://a_b.example.com/", "http://a_b.example.com/"),
        ("https://example.com?q", "https://example.com/?q"),
    ],
)
def test_addresses_are_read_as_browsers_read_them(text, read):
    # How an embedded IPv4 address is written depends on the version of Python.
    assert str(parse(text)).replace("[::ffff:102:304]", "[::ffff:1.2.3.4]") == read


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad_url"),
        ("example.com/a", "bad_url"),
        ("//example.com/a", "bad_url"),
        ("http://", "bad_url"),
        ("http:///a", "bad_url"),
        ("http://:80/", "bad_url"),
        ("http://user@example.com/", "bad_url"),
        ("http://user:pass@example.com/", "bad_url"),
        ("http://example.com%40evil.test/", "bad_url"),
        ("http://exa mple.com/", "bad_url"),
        ("http://example.com:0/", "bad_url"),
        ("http://example.com:99999/", "bad_url"),
        ("http://example.com:8o/", "bad_url"),
        ("http://[::1/", "bad_url"),
        ("http://[fe80::1%25eth0]/", "bad_url"),
        ("http://.example.com/", "bad_url"),
        ("http://a℀b.com/", "bad_url"),
        ("http://a\x00b.com/", "bad_url"),
        ("https://example.com/" + "a" * 9000, "bad_url"),
        ("ftp://example.com/", "bad_scheme"),
        ("file:///etc/passwd", "bad_scheme"),
        ("javascript:alert(1)", "bad_scheme"),
    ],
)
def test_what_cannot_be_fetched_is_an_error(text, code):
    with pytest.raises(BursarError) as raised:
        parse(text)
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("location", "onward"),
    [
        ("/x", "https://a.test/x"),
        ("x?y", "https://a.test/b/x?y"),
        ("../x", "https://a.test/x"),
        ("?y", "https://a.test/b/c?y"),
        ("//b.test/x", "https://b.test/x"),
        ("http://b.test", "http://b.test/"),
        ("", "https://a.test/b/c?d"),
        ("\\\\b.test\\x", "https://b.test/x"),
    ],
)
def test_relative_addresses_start_where_the_page_is(location, onward):
    assert str(parse(location, parse("https://a.test/b/c?d"))) == onward


@given(st.text(max_size=80) | st.text(max_size=60).map("http://{}".format))
def test_any_text_is_read_the_same_way_twice_or_refused(text):
    try:
        read = parse(text)
    except BursarError:
        return
    assert parse(str(read)) == read
    assert str(read).isascii()
    assert not set(str(read)) & set(" \r\n\t\x00")
