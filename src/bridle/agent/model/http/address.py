"""The address of an endpoint or a proxy, taken apart once."""

from __future__ import annotations

from msgspec import Struct

from bridle.errors import UsageError

_PORTS = {"http": 80, "https": 443}


class Address(Struct, frozen=True):
    """An http or https address."""

    scheme: str
    host: str
    """A name or a bare IP address; IPv6 without brackets."""
    port: int
    path: str
    """Without a slash at its end."""
    credentials: str = ""
    """`user:password`, decoded."""

    @property
    def is_secure(self) -> bool:
        """Whether TLS is spoken there."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and port as CONNECT names them."""
        return f"{self._host}:{self.port}"

    @property
    def netloc(self) -> str:
        """Host, and the port unless it is the scheme's own: what `Host` says."""
        return self._host if self.port == _PORTS[self.scheme] else self.authority

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def parse_address(url: str) -> Address:
    """Take an address apart; UsageError says what is wrong with it."""
    scheme, separator, rest = url.strip().partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _PORTS:
        raise UsageError(f"{url!r} is not an http or https address")
    rest = rest.partition("#")[0].partition("?")[0]
    place, _, path = rest.partition("/")
    credentials, _, place = place.rpartition("@")
    host, port = _host_and_port(place, url)
    if not host or any(letter.isspace() or not letter.isprintable() for letter in url.strip()):
        raise UsageError(f"{url!r} is not an http or https address")
    path = f"/{path}".rstrip("/")
    return Address(scheme, host, port or _PORTS[scheme], path, _decoded(credentials))


def _host_and_port(place: str, url: str) -> tuple[str, int | None]:
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = place.partition(":")
    if not port:
        return host, None
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"{url!r} has no port between 1 and 65535")
    return host, int(port)


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)
