"""Bedrock and Vertex, through the official client's own classes; it is imported only when one of them is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from bridle.agent.model.endpoint import Endpoint
from bridle.errors import UsageError

_CLOUDS = {"bedrock": "CLAUDE_CODE_USE_BEDROCK", "vertex": "CLAUDE_CODE_USE_VERTEX"}


def chosen(environment: Mapping[str, str]) -> str | None:
    """Which cloud the environment asks for; None: none."""
    return next((cloud for cloud, name in _CLOUDS.items() if _is_on(environment.get(name))), None)


def endpoint(cloud: str, environment: Mapping[str, str]) -> Endpoint:
    """The endpoint of a cloud."""
    raise UsageError(f"{cloud} cannot be used yet", payload=dict(environment))


def _is_on(text: str | None) -> bool:
    return (text or "").lower() in ("1", "true", "yes", "on")
