"""Servers inside the host, and the control requests with which it sees and changes the servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.fixtures.mcp_runs import RAW, config, init, program, results, statuses
from tests.agent.fixtures.raw_host import Line, RawHost, calls, raw_host, says

CALL = calls(("mcp__calc__add", {"a": 1, "b": 2}))
ALLOW = ("--allowedTools", "mcp__calc")


def serve(host: RawHost) -> Line:
    """Answer the messages to the server in the host, until the call of its tool, which is returned."""
    while True:
        asked = host.asked("mcp_message")
        message = asked["message"]
        match message["method"]:
            case "initialize":
                info = {"name": "calc", "version": "1"}
                result: Any = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                result = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                result = {"content": [{"type": "text", "text": "3"}]}
            case _:
                result = {}
        answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": result}
        host.respond(asked["request_id"], {"mcp_response": answer})
        if message["method"] == "tools/call":
            return asked


@pytest.mark.parametrize("named_by", ["flag", "initialize"])
def test_tools_of_a_server_in_the_host_are_called_there(named_by: str, tmp_path: Path) -> None:
    flags = (*ALLOW, *(config(calc={"type": "sdk", "name": "calc"}) if named_by == "flag" else ()))
    with raw_host(tmp_path, CALL, says("Done."), flags=flags) as host:
        host.request("i", subtype="initialize", **({} if named_by == "flag" else {"sdkMcpServers": ["calc"]}))
        host.prompt("go")
        asked = serve(host)
        assert asked["server_name"] == "calc"
        assert asked["message"]["params"]["arguments"] == {"a": 1, "b": 2}
        assert "claudecode/toolUseId" in asked["message"]["params"]["_meta"]
        host.result()
        assert statuses(host) == {"calc": "connected"}
        assert results(host)[0]["content"] == [{"type": "text", "text": "3"}]
        assert host.end() == 0


def test_a_call_fails_once_when_the_host_is_gone(tmp_path: Path) -> None:
    flags = (*ALLOW, *config(calc={"type": "sdk", "name": "calc"}))
    with raw_host(tmp_path, CALL, says("Done."), flags=flags) as host:
        host.prompt("go")
        while (asked := host.asked("mcp_message"))["message"]["method"] != "tools/call":
            number, method = asked["message"].get("id"), asked["message"]["method"]
            result: Any = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
            if method == "initialize":
                result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            host.respond(asked["request_id"], {"mcp_response": {"jsonrpc": "2.0", "id": number, "result": result}})
        host.close_input()
        host.result()
        [found] = results(host)
        assert found["is_error"]
        assert "stream closed" in found["content"]


def test_the_host_sees_and_changes_the_servers(tmp_path: Path) -> None:
    answers = [says("One."), says("Two."), says("Three.")]
    with raw_host(tmp_path, *answers, flags=config(raw=program(RAW), bad={"command": "/no/such"})) as host:
        host.prompt("one")
        host.result()
        [raw, bad] = status(host)
        assert (raw["status"], raw["scope"], raw["serverInfo"]) == (
            "connected",
            "dynamic",
            {"name": "raw", "version": "1"},
        )
        assert raw["tools"] == [{"name": "do", "annotations": {}}, {"name": "see", "annotations": {"readOnly": True}}]
        assert (bad["status"], bad["config"]["command"]) == ("failed", "/no/such")
        assert "error" in bad

        assert asks(host, subtype="mcp_toggle", serverName="raw", enabled=False)["subtype"] == "success"
        host.prompt("two")
        host.result()
        assert statuses(host) == {"raw": "disabled", "bad": "failed"}
        assert "mcp__raw__do" not in init(host)["tools"]
        assert "mcp__raw__do" not in {tool["name"] for tool in host.bodies()[1]["tools"]}

        assert asks(host, subtype="mcp_toggle", serverName="raw", enabled=True)["subtype"] == "success"
        wanted = {"more": program(RAW), "worse": {"command": "/no/such"}}
        changed = asks(host, subtype="mcp_set_servers", servers=wanted)["response"]
        assert (changed["added"], changed["removed"], list(changed["errors"])) == (["more", "worse"], [], ["worse"])
        host.prompt("three")
        host.result()
        assert {"mcp__raw__do", "mcp__more__do"} <= set(init(host)["tools"])
        changed = asks(host, subtype="mcp_set_servers", servers={})["response"]
        assert changed == {"added": [], "removed": ["more", "worse"], "errors": {}}
        assert [server["name"] for server in status(host)] == ["raw", "bad"]


def test_the_host_reconnects_a_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with raw_host(
        tmp_path, says("never"), flags=config(raw=program(RAW, RAW_MCP_LOG=str(log)), bad={"command": "/no/such"})
    ) as host:
        assert asks(host, subtype="mcp_reconnect", serverName="raw")["subtype"] == "success"
        before = log.read_text().count('"initialize"')
        assert asks(host, subtype="mcp_reconnect", serverName="raw")["subtype"] == "success"
        assert log.read_text().count('"initialize"') == before + 1
        assert "No such file" in asks(host, subtype="mcp_reconnect", serverName="bad")["error"]
        assert asks(host, subtype="mcp_reconnect", serverName="other")["error"] == "Server not found: other"
        assert asks(host, subtype="mcp_toggle", serverName="other", enabled=False)["error"] == "Server not found: other"
        assert "must be an object" in asks(host, subtype="mcp_set_servers", servers=[])["error"]


def status(host: RawHost) -> list[Line]:
    found: list[Line] = asks(host, subtype="mcp_status")["response"]["mcpServers"]
    return found


def asks(host: RawHost, **request: Any) -> Line:
    """Send a control request and return its response."""
    request_id = f"r{len(host.lines)}"
    host.request(request_id, **request)
    return host.response(request_id)
