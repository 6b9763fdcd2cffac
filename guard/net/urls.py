"""A web address, taken apart once and in one way, so that what was judged is what is dialled."""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

from ...errors import BursarError

_MAX_CHARACTERS = 8192
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(?!\.)[a-z0-9_.-]{1,254}", re.ASCII)
_CONTROLS = re.compile(r"[\x00-\x20\x7f-\x9f]")
_SAFE = "%/:?#[]@!$&'()*+,;=-._~"


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute http or https address without user name, password or fragment.

    Attributes:
        host: lower-case ASCII name, or an IPv6 address without brackets.
        target: path and query, percent-encoded.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host, and the port unless it is the scheme's own; what the `Host` header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.own_port is None else f"{host}:{self.port}"

    @property
    def own_port(self) -> int | None:
        """The port, unless it is the scheme's own."""
        return None if self.port == _DEFAULT_PORTS[self.scheme] else self.port

    @property
    def origin(self) -> str:
        """Scheme and authority: what credentials belong to."""
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return self.origin + self.target


def parse(text: str, base: Url | None = None) -> Url:
    """Read an address, relative to `base` if there is one, as browsers do where that is safe.

    Raises:
        BursarError: `bad_url`, or `bad_scheme` for anything but http and https.
    """
    # Browsers drop line breaks and tabs, and read a backslash before the query as a slash.
    text = re.sub(r"[\t\r\n]", "", text).strip(" ")
    before, mark, after = text.partition("?")
    text = before.replace("\\", "/") + mark + after
    if len(text) > _MAX_CHARACTERS:
        raise _bad("the address is longer than 8,192 characters", "Give a shorter one")
    try:
        parts = urlsplit(urljoin(str(base), text) if base else text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _bad(f"{_shown(text)} is not an address", "Give a full one such as https://example.com/page") from None
    if not base and not parts.scheme:
        raise _bad(f"{_shown(text)} has no scheme", f"Write it out: https://{_shown(text)}")
    if parts.scheme not in _DEFAULT_PORTS:
        raise BursarError(
            "bad_scheme", f"{_shown(parts.scheme)}: is not fetched, only http and https are", "Give a web address"
        )
    if "@" in parts.netloc:
        raise _bad("the address holds a user name or password", "Leave out what stands before the @")
    if not host or port == 0:
        raise _bad(f"{_shown(text)} names no host", "Give a full address such as https://example.com/page")
    host = _ipv6(host) if parts.netloc.startswith("[") else _name(host)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Url(
        parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme], quote(target.encode("utf-8", "replace"), safe=_SAFE)
    )


def _ipv6(host: str) -> str:
    try:
        if "%" in host:
            raise _bad("an address with a zone is never public", "Give a public one")
        return str(IPv6Address(host))
    except AddressValueError:
        raise _bad(f"{_shown(host)} is not an IPv6 address", "Give a correct one") from None


def _name(host: str) -> str:
    """Write a name as the resolver will get it: percent signs decoded, international names and full stops as ASCII."""
    if "%" in host:
        host = unquote_to_bytes(host).decode("utf-8", "replace")
    host = host.lower()
    if not host.isascii() and len(host) <= 253:
        # 20 ms that few addresses need.
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            raise _bad(f"{_shown(host)} is not a name that can exist", "Check its spelling") from None
    if not _HOST.fullmatch(host):
        raise _bad(f"{_shown(host)} is not a name that can exist", "Check its spelling")
    return host


def _bad(message: str, fix: str) -> BursarError:
    return BursarError("bad_url", message, fix)


def _shown(text: str) -> str:
    return _CONTROLS.sub("", text)[:100]
