"""MCP servers: their tools, results, rules, failures and the requests of a host about them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.real.side_by_side.scenario import AwaitEvent, Scenario, calls, control, dialogue, message, prompt, says

RAW = Path(__file__).parents[3] / "agent" / "fixtures" / "raw_mcp_server.py"
RAW_SERVER: dict[str, Any] = {"command": sys.executable, "args": [str(RAW)]}
STRICT = "--strict-mcp-config"


def servers(**found: Any) -> tuple[str, str]:
    return ("--mcp-config", json.dumps({"mcpServers": found}))


def do(kind: str) -> dict[str, Any]:
    return calls("mcp__raw__do", kind=kind)


SCENARIOS = (
    Scenario(
        "results of an MCP server",
        (prompt("go", STRICT, *servers(raw=RAW_SERVER), "--allowedTools", "mcp__raw"),),
        (
            *map(do, ("two", "picture", "link", "embedded", "data", "nothing", "wrong", "error", "garbage")),
            says("Done."),
        ),
    ),
    Scenario(
        "odd answers of an MCP server",
        (prompt("go", STRICT, *servers(raw=RAW_SERVER), "--allowedTools", "mcp__raw"),),
        (*map(do, ("textid", "separator", "blank")), says("Done.")),
    ),
    Scenario(
        "an MCP server that dies",
        (prompt("go", STRICT, *servers(raw=RAW_SERVER), "--allowedTools", "mcp__raw__do"),),
        (do("die"), do("two"), says("Done.")),
    ),
    Scenario(
        "an MCP server that asks back",
        (prompt("go", STRICT, *servers(raw=RAW_SERVER), "--allowedTools", "mcp__raw__*"),),
        (do("back"), says("Done.")),
    ),
    Scenario(
        "an MCP call that does not end",
        (prompt("go", STRICT, *servers(raw=RAW_SERVER), "--allowedTools", "mcp__raw", MCP_TOOL_TIMEOUT="1500"),),
        (do("hang"), do("two"), says("Done.")),
    ),
    Scenario(
        "MCP tools that nothing allows",
        (prompt("go", STRICT, *servers(raw=RAW_SERVER)),),
        (do("two"), calls("mcp__raw__none"), says("Done.")),
    ),
    Scenario(
        "rules for MCP tools",
        (
            prompt(
                "go",
                STRICT,
                *servers(raw=RAW_SERVER),
                "--settings",
                json.dumps({"permissions": {"allow": ["mcp__raw"], "deny": ["mcp__raw__see"]}}),
            ),
        ),
        (calls("mcp__raw__see", kind="two"), do("two"), says("Done.")),
    ),
    Scenario(
        "MCP servers that fail",
        (prompt("go", STRICT, *servers(missing={"command": "/no/such"}, ends={"command": "true"}, raw=RAW_SERVER)),),
        (says("Done."),),
    ),
    Scenario(
        "an MCP configuration that is not there",
        (prompt("go", "--mcp-config", "nofile.json"),),
    ),
    Scenario(
        "a host brings MCP servers and takes them away",
        (
            dialogue(
                message("one"),
                AwaitEvent("result"),
                control("a", subtype="mcp_set_servers", servers={"raw": RAW_SERVER}),
                AwaitEvent("control_response"),
                message("two"),
                AwaitEvent("result", 2),
                control("b", subtype="mcp_set_servers", servers={}),
                AwaitEvent("control_response", 2),
                message("three"),
                more=(STRICT, "--allowedTools", "mcp__raw"),
            ),
        ),
        (says("One."), do("two"), says("Two."), do("two"), says("Three.")),
    ),
    Scenario(
        "a host disables, enables and connects an MCP server again",
        (
            dialogue(
                message("one"),
                AwaitEvent("result"),
                control("a", subtype="mcp_toggle", serverName="raw", enabled=False),
                AwaitEvent("control_response"),
                message("two"),
                AwaitEvent("result", 2),
                control("b", subtype="mcp_toggle", serverName="raw", enabled=True),
                AwaitEvent("control_response", 2),
                message("three"),
                AwaitEvent("result", 3),
                control("c", subtype="mcp_reconnect", serverName="raw"),
                AwaitEvent("control_response", 3),
                message("four"),
                more=(STRICT, "--allowedTools", "mcp__raw", *servers(raw=RAW_SERVER)),
            ),
        ),
        (says("One."), says("Two."), do("two"), says("Three."), do("two"), says("Four.")),
    ),
    Scenario(
        "a host disables an MCP server",
        (
            dialogue(
                message("one"),
                AwaitEvent("result"),
                control("a", subtype="mcp_toggle", serverName="raw", enabled=False),
                AwaitEvent("control_response"),
                message("two"),
                AwaitEvent("result", 2),
                control("b", subtype="mcp_reconnect", serverName="none"),
                AwaitEvent("control_response", 2),
                more=(STRICT, *servers(raw=RAW_SERVER)),
            ),
        ),
        (says("One."), says("Two.")),
    ),
)
