"""The limits of MCP servers, from the environment."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

# How long a server may take to connect, as in Claude Code.
CONNECT_SECONDS = 30.0
# How long a call may take: as in Claude Code, longer than any useful one.
CALL_SECONDS = 100_000.0
# How long the first turn waits for servers that are still connecting, as measured with Claude Code.
START_SECONDS = 5.0
# How many tokens of a result the model sees.
OUTPUT_TOKENS = 25_000


class McpLimits(msgspec.Struct, frozen=True):
    """The limits of one session."""

    connect_seconds: float = CONNECT_SECONDS
    start_seconds: float = START_SECONDS
    call_seconds: float = CALL_SECONDS
    output_tokens: int = OUTPUT_TOKENS


def limits_from_environment(environment: Mapping[str, str]) -> McpLimits:
    """Return the limits; a value that is not a positive number is ignored."""
    return McpLimits(
        connect_seconds=_number(environment, "MCP_TIMEOUT", CONNECT_SECONDS * 1000) / 1000,
        start_seconds=_number(environment, "BRIDLE_MCP_START_TIMEOUT", START_SECONDS * 1000) / 1000,
        call_seconds=_number(environment, "MCP_TOOL_TIMEOUT", CALL_SECONDS * 1000) / 1000,
        output_tokens=int(_number(environment, "MAX_MCP_OUTPUT_TOKENS", OUTPUT_TOKENS)),
    )


def _number(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name, "").strip()
    return float(text) if text.isascii() and text.isdigit() and int(text) > 0 else default
