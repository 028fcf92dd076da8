"""Where a web address leads, and whether a model may be led there.

A page, or a file of a repository, can tell a model to fetch from the machine itself or from its network, where services
trust whoever reaches them (a cloud's metadata among them). So only public addresses are fetched from, unless the person
who starts the agent names others in BRIDLE_WEB_PRIVATE_HOSTS: hosts with commas between them, or * for all.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import quote, urlsplit

PRIVATE_HOSTS_VARIABLE = "BRIDLE_WEB_PRIVATE_HOSTS"
# What browsers and proxies take without complaint; longer ones carry data and not an address.
URL_LIMIT_CHARACTERS = 2000
# Name servers answer in a fraction of a second; the resolver asks each of them more than once.
RESOLVE_SECONDS = 15.0
_PORTS = {"http": 80, "https": 443}


class FetchError(Exception):
    """Why a page is not fetched, in words for the model."""


@dataclass(frozen=True)
class WebAddress:
    """An address of the web, taken apart."""

    scheme: str
    host: str
    """In small letters and ASCII; an IPv6 address without brackets."""
    port: int
    target: str
    """Path and query as they are sent."""

    @property
    def url(self) -> str:
        """The address as it is fetched."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


def parse_url(url: str) -> WebAddress:
    """Take an address apart; only http and https, and no credentials in it."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except (ValueError, UnicodeError) as error:
        raise FetchError("Invalid URL") from error
    unsuitable = len(url) > URL_LIMIT_CHARACTERS or "@" in parts.netloc or not host or " " in host
    if parts.scheme not in _PORTS or unsuitable:
        raise FetchError("Invalid URL")
    # What is quoted already stays as it is.
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
    return WebAddress(parts.scheme, host, port or _PORTS[parts.scheme], target)


def is_same_site(one: WebAddress, other: WebAddress) -> bool:
    """Whether a redirection stays where it was: the same host but for a www, on the same or the safer port."""
    if one.host.removeprefix("www.") != other.host.removeprefix("www."):
        return False
    if (one.scheme, one.port) == (other.scheme, other.port):
        return True
    return (one.scheme, one.port, other.scheme, other.port) == ("http", 80, "https", 443)


def is_private_allowed(host: str, environment: Mapping[str, str]) -> bool:
    """Whether the person who started the agent has named the host."""
    named = [name.strip().lower() for name in environment.get(PRIVATE_HOSTS_VARIABLE, "").split(",")]
    return "*" in named or host in named


async def public_addresses(place: WebAddress, environment: Mapping[str, str]) -> list[str]:
    """The addresses of a host, all of which must be public; NotFetched otherwise.

    The connection is made to one of these, so that a name cannot mean something else a moment later.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        raise FetchError(f"getaddrinfo ENOTFOUND {place.host}") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not is_private_allowed(place.host, environment) and not all(map(is_public, addresses)):
        raise FetchError(_refusal(place.host))
    return addresses


def require_public_name(place: WebAddress, environment: Mapping[str, str]) -> None:
    """For a host that a proxy will look up: its name alone must not mean a place in this network."""
    if is_private_allowed(place.host, environment):
        return
    is_local = "." not in place.host or place.host.endswith((".localhost", ".local", ".internal", ".lan"))
    if is_public(place.host) if _is_address(place.host) else not is_local:
        return
    raise FetchError(_refusal(place.host))


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet, seen through the ways of writing IPv4 in IPv6."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if inner is None and found in ip_network("64:ff9b::/96"):
            return is_public(str(ip_address(int(found) & 0xFFFFFFFF)))
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _refusal(host: str) -> str:
    return (
        f"{host} is an address of this machine or its network, which is not fetched from. Whoever starts the agent can "
        f"allow it with {PRIVATE_HOSTS_VARIABLE}={host}."
    )
