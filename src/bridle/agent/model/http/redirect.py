"""Redirects of a request: 307 and 308 keep its method and body. Keys go to no other host."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

# Gateways redirect once, to a region or a path; a longer chain is a loop.
MAX_REDIRECTS = 5

_REDIRECTS = (307, 308)
# What another host may see. The user's own headers are not in the list: they may be keys.
_HARMLESS = frozenset(
    ("accept", "accept-encoding", "content-type", "user-agent", "anthropic-version", "anthropic-beta")
)


class Target(Struct, frozen=True):
    """Where a request goes."""

    origin: str
    """Scheme, host and port."""
    path: str
    """With the query."""


def target_of(base: str, location: str) -> Target | None:
    """Return the target of a location, which may be relative to a URL; None if it is not one of HTTP."""
    try:
        parts = urlsplit(urljoin(base, location))
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(f"{parts.scheme}://{parts.netloc.lower()}", path)


def redirected(status: int, headers: Mapping[str, str], at: Target) -> Target | None:
    """Return where a response sends the request; None if it does not."""
    location = headers.get("location", "")
    if status not in _REDIRECTS or not location:
        return None
    return target_of(at.origin + at.path, location)


def headers_for(target: Target, origin: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a redirected request; those of another origin have no key."""
    if target.origin == origin:
        return dict(headers)
    return {name: value for name, value in headers.items() if name in _HARMLESS}
