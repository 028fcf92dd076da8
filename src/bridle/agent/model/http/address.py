"""Parses the address of an endpoint or a proxy."""

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
    """Without a trailing slash."""
    credentials: str = ""
    """`user:password`, decoded."""

    @property
    def is_secure(self) -> bool:
        """Whether it uses TLS."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and port, as in CONNECT."""
        return f"{self._host}:{self.port}"

    @property
    def netloc(self) -> str:
        """Host and non-default port, as in the Host header."""
        return self._host if self.port == _PORTS[self.scheme] else self.authority

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def parse_address(url: str) -> Address:
    """Parse an address; raise UsageError if it is invalid."""
    scheme, separator, rest = url.strip().partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _PORTS:
        raise UsageError(f"the address must be an http or https URL, got {_without_credentials(url)!r}")
    rest = rest.partition("#")[0].partition("?")[0]
    netloc, _, path = rest.partition("/")
    credentials, _, netloc = netloc.rpartition("@")
    host, port = _host_and_port(netloc, url)
    if not host or any(letter.isspace() or not letter.isprintable() for letter in url.strip()):
        raise UsageError(f"the address must be an http or https URL, got {_without_credentials(url)!r}")
    path = f"/{path}".rstrip("/")
    return Address(scheme, host, port or _PORTS[scheme], path, _decode(credentials))


def _host_and_port(netloc: str, url: str) -> tuple[str, int | None]:
    if netloc.startswith("["):
        host, _, rest = netloc[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = netloc.partition(":")
    if not port:
        return host, None
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"the port must be between 1 and 65535, got {_without_credentials(url)!r}")
    return host, int(port)


def _without_credentials(url: str) -> str:
    """Return the URL for a message: a password must not get into logs."""
    before, sign, after = url.rpartition("@")
    return f"{before.partition('://')[0]}://…@{after}" if sign else url


def _decode(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)
