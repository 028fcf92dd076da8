"""Tools that live in the process of the client: an MCP server over `mcp_message`."""

from __future__ import annotations

import json

import pytest

from tests.real.fixtures.claude_on_stage import calls, offered, says
from tests.real.fixtures.sdk_session import Acts, inits, of_class, requested, results, steps, tool_results

pytestmark = pytest.mark.real

ADD = "mcp__calc__add"


def test_a_tool_of_the_client_is_offered_called_and_its_result_reaches_the_model(acts: Acts) -> None:
    with acts(calls(ADD, a=3, b=4), says("seven")) as drive:
        messages = drive.client("add", adds=True, allowed_tools=[ADD])
        assert ADD in offered(drive.bodies()[0])
        (called,) = of_class(messages, "tool")
        assert (called["input"]["a"], called["input"]["b"]) == (3, 4)
        assert "sum 7" in drive.last_message()
        assert results(messages)[0]["permission_denials"] in ([], None)


def test_a_tool_of_the_client_that_fails_is_an_error_for_the_model(acts: Acts) -> None:
    with acts(calls(ADD, a=-3, b=4), says("then not")) as drive:
        messages = drive.client("add", adds=True, allowed_tools=[ADD])
        assert tool_results(messages)[0]["is_error"] is True
        assert "no negative numbers" in drive.last_message()


def test_a_tool_of_the_client_needs_permission_too(acts: Acts) -> None:
    with acts(calls(ADD, a=3, b=4), says("then not")) as drive:
        messages = drive.client("add", adds=True, permissions=[{"behavior": "deny", "message": "no sums"}])
        assert [request["name"] for request in requested(messages)] == [ADD]
        assert of_class(messages, "tool") == []
        assert "no sums" in drive.last_message()


def test_a_server_that_is_switched_off_is_listed_without_tools(acts: Acts) -> None:
    off = [["toggle_mcp_server", "calc", False], ["get_mcp_status"]]
    with acts(says("one"), says("two")) as drive:
        messages = drive.client("one", {"prompt": "two", "before": off}, adds=True, allowed_tools=[ADD])
        assert steps(messages, "toggle_mcp_server")[0]["error"] is None
        answer = steps(messages, "get_mcp_status")[0]["answer"]
        [server] = answer["mcpServers"] if isinstance(answer, dict) else answer
        assert (server["name"], server.get("tools") or []) == ("calc", [])


def test_a_server_that_does_not_exist_cannot_be_connected_again(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        messages = drive.client({"prompt": "go", "after": [["reconnect_mcp_server", "nothing"]]}, adds=True)
        assert "nothing" in steps(messages, "reconnect_mcp_server")[0]["error"]


def test_the_server_of_the_client_is_listed_as_connected(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        messages = drive.client({"prompt": "go", "after": [["get_mcp_status"]]}, adds=True)
        assert [(server["name"], server["status"]) for server in inits(messages)[0]["mcp_servers"]] == [
            ("calc", "connected")
        ]
        assert ADD in inits(messages)[0]["tools"]
        answer = json.dumps(steps(messages, "get_mcp_status")[0]["answer"])
        assert '"connected"' in answer
