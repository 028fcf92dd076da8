"""The limits of MCP servers come from the environment; a value that is no positive number is ignored."""

from __future__ import annotations

import pytest

from bridle.agent.mcp.limits import McpLimits, limits_from_environment


def test_the_variables_set_the_limits() -> None:
    variables = {"MCP_TIMEOUT": "1500", "BRIDLE_MCP_START_TIMEOUT": "2000", "MCP_TOOL_TIMEOUT": "250"}
    found = limits_from_environment({**variables, "MAX_MCP_OUTPUT_TOKENS": "9"})
    assert found == McpLimits(connect_seconds=1.5, start_seconds=2, call_seconds=0.25, output_tokens=9)


@pytest.mark.parametrize("value", ["", "0", "-1", "soon", "1e3", "²"])
def test_another_value_is_ignored(value: str) -> None:
    names = ("MCP_TIMEOUT", "BRIDLE_MCP_START_TIMEOUT", "MCP_TOOL_TIMEOUT", "MAX_MCP_OUTPUT_TOKENS")
    assert limits_from_environment(dict.fromkeys(names, value)) == McpLimits()
