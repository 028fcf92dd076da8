"""Finds the proxy of a host in the usual variables, and opens tunnels through it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping

import h11
from msgspec import Struct

from bridle.agent.model.http.address import Address, parse_address
from bridle.agent.model.http.http_connection import HEAD_BYTES
from bridle.agent.model.http.socket import Connection
from bridle.errors import NetworkError, UsageError


class Proxy(Struct, frozen=True):
    """A proxy and its credentials."""

    address: Address
    authorization: str | None


def proxy_for(target: Address, environment: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for an address; None for a direct connection."""
    variable = "HTTPS_PROXY" if target.is_secure else "HTTP_PROXY"
    url = _either(variable, environment) or _either("ALL_PROXY", environment)
    if not url or _is_excepted(target, _either("NO_PROXY", environment)):
        return None
    try:
        address = parse_address(url if "://" in url else f"http://{url}")
    except UsageError as error:
        raise UsageError(
            f"{variable} is not a usable proxy: {error.message}", remedy="Correct the variable, or unset it."
        ) from error
    return Proxy(address, _authorization(address))


async def tunnel(connection: Connection, target: Address, authorization: str | None, seconds: float) -> None:
    """Open a tunnel through a proxy."""
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
    headers = [("host", target.authority)]
    if authorization is not None:
        headers.append(("proxy-authorization", authorization))
    await connection.write(http.send(h11.Request(method="CONNECT", target=target.authority, headers=headers)), seconds)
    try:
        while not isinstance(event := http.next_event(), h11.Response):
            if event is h11.NEED_DATA:
                http.receive_data(await connection.read(seconds))
            elif not isinstance(event, h11.InformationalResponse):
                raise NetworkError("the proxy closed the connection", kind="proxy")
    except h11.RemoteProtocolError as error:
        raise NetworkError(f"the proxy did not answer with HTTP: {error}", kind="proxy") from error
    if event.status_code // 100 != 2:
        raise NetworkError(f"the proxy refused to connect to {target.authority}: {event.status_code}", kind="proxy")


def _either(name: str, environment: Mapping[str, str]) -> str:
    # The lowercase names are older and take precedence.
    return environment.get(name.lower()) or environment.get(name) or ""


def _authorization(address: Address) -> str | None:
    if not address.credentials:
        return None
    return "Basic " + b64encode(address.credentials.encode()).decode()


def _is_excepted(target: Address, exceptions: str) -> bool:
    entries = [entry.strip().lower() for entry in exceptions.replace(",", " ").split()]
    return any(entry == "*" or _covers(entry, target) for entry in entries)


def _covers(entry: str, target: Address) -> bool:
    """Return whether an entry of NO_PROXY (name, domain, address or network, with or without port) covers the host."""
    host = target.host.lower()
    if "/" in entry:
        return _is_within(host, entry)
    name, port = _without_port(entry)
    if port and port != str(target.port):
        return False
    name = name.removeprefix("*").removeprefix(".")
    return host == name or host.endswith(f".{name}")


def _without_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    if entry.count(":") > 1:
        return entry, ""
    name, _, port = entry.partition(":")
    return name, port


def _is_within(host: str, network: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
