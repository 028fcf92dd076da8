"""Decides which web addresses may be fetched.

A page or a file can trick a model into fetching from this machine or its network, where services trust every client
(the metadata service of a cloud, for example). So only public addresses are allowed, unless the user names hosts in
BRIDLE_WEB_PRIVATE_HOSTS: separated by commas, or * for all.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import quote, urlsplit

from msgspec import Struct

PRIVATE_HOSTS_VARIABLE = "BRIDLE_WEB_PRIVATE_HOSTS"
# Browsers and proxies accept this length; a longer URL carries data.
URL_LIMIT_CHARACTERS = 2000
# Name servers answer in a fraction of a second; the resolver asks each of them several times.
RESOLVE_SECONDS = 15.0
_PORTS = {"http": 80, "https": 443}


class FetchError(Exception):
    """The page was not fetched; the message is for the model."""


class WebAddress(Struct, frozen=True):
    """A parsed URL."""

    scheme: str
    host: str
    """Lowercase ASCII; an IPv6 address without brackets."""
    port: int
    target: str
    """Path and query, as sent."""

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


def parse_url(url: str) -> WebAddress:
    """Parse an http or https URL without credentials; raise FetchError for any other."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except (ValueError, UnicodeError) as error:
        raise FetchError("Invalid URL") from error
    is_invalid = len(url) > URL_LIMIT_CHARACTERS or "@" in parts.netloc or not host or " " in host
    if parts.scheme not in _PORTS or is_invalid:
        raise FetchError("Invalid URL")
    # Percent-encoded characters stay as they are.
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
    return WebAddress(parts.scheme, host, port or _PORTS[parts.scheme], target)


def is_same_site(first: WebAddress, other: WebAddress) -> bool:
    """Return whether a redirect stays on the host (but for www.) and port, or changes from http to https."""
    if first.host.removeprefix("www.") != other.host.removeprefix("www."):
        return False
    if (first.scheme, first.port) == (other.scheme, other.port):
        return True
    return (first.scheme, first.port, other.scheme, other.port) == ("http", 80, "https", 443)


def is_private_allowed(host: str, environment: Mapping[str, str]) -> bool:
    """Return whether the user allows this private host."""
    allowed = [name.strip().lower() for name in environment.get(PRIVATE_HOSTS_VARIABLE, "").split(",")]
    return "*" in allowed or host in allowed


async def public_addresses(address: WebAddress, environment: Mapping[str, str]) -> list[str]:
    """Resolve a host; raise FetchError unless all its addresses are public.

    The connection is made to one of these, so that the name cannot resolve differently afterwards.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            entries = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        raise FetchError(f"getaddrinfo ENOTFOUND {address.host}") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    if not is_private_allowed(address.host, environment) and not all(map(is_public, addresses)):
        raise FetchError(_refusal(address.host))
    return addresses


def require_public_name(address: WebAddress, environment: Mapping[str, str]) -> None:
    """Raise FetchError if a host that a proxy resolves is local by its name."""
    if is_private_allowed(address.host, environment):
        return
    host = address.host.removesuffix(".")
    number = _as_number(host)
    is_local = "." not in host or host.endswith((".localhost", ".local", ".internal", ".lan"))
    if is_public(number) if number is not None else not is_local:
        return
    raise FetchError(_refusal(address.host))


def is_public(address: str) -> bool:
    """Return whether an IP address is public, including IPv4 addresses embedded in IPv6."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if inner is None and parsed in ip_network("64:ff9b::/96"):
            return is_public(str(ip_address(int(parsed) & 0xFFFFFFFF)))
        if inner is not None:
            return is_public(str(inner))
        if parsed.is_site_local or parsed in ip_network("::/96"):
            return False
    return parsed.is_global and not parsed.is_multicast


def _as_number(host: str) -> str | None:
    """Return the IP address that a resolver takes a host for, short forms such as `127.1` included."""
    if ":" in host:
        return host
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def _refusal(host: str) -> str:
    return (
        f"{host} is an address of this machine or its network and is not allowed. The user can allow it with "
        f"{PRIVATE_HOSTS_VARIABLE}={host}."
    )
