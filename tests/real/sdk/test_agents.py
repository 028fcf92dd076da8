"""Sub-agents that a client defines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.real.fixtures.claude_on_stage import calls, offered, says
from tests.real.fixtures.sdk_session import Acts, inits, of_class, results, texts, tool_results

pytestmark = pytest.mark.real

REVIEWER: dict[str, Any] = {"description": "reviews code", "prompt": "You are a reviewer.", "tools": ["Read"]}
ASKS = calls("Agent", description="review", prompt="Look at it.", subagent_type="reviewer")


def test_an_agent_of_the_client_has_its_prompt_and_tools_and_its_report_reaches_the_model(acts: Acts) -> None:
    with acts(ASKS, says("All is fine."), says("done")) as drive:
        messages = drive.query("go", agents={"reviewer": REVIEWER})
        _first, inner, last = drive.bodies()
        assert "You are a reviewer." in json.dumps(inner["system"])
        assert offered(inner) == {"Read"}
        assert "All is fine." in json.dumps(last["messages"][-1])
        assert (texts(messages), results(messages)[0]["result"]) == (["done"], "done")


def test_an_agent_of_the_client_is_listed(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        messages = drive.client("go", agents={"reviewer": REVIEWER})
        assert "reviewer" in inits(messages)[0]["agents"]
        assert "reviewer" in [agent["name"] for agent in of_class(messages, "info")[0]["agents"]]


def test_what_an_agent_does_names_the_call_that_started_it(acts: Acts) -> None:
    reads = calls("Read", file_path="a.txt")
    with acts(ASKS, reads, says("All is fine."), says("done")) as drive:
        (drive.workspace / "a.txt").write_text("words\n")
        messages = drive.query("go", agents={"reviewer": REVIEWER})
        inner = [message for message in of_class(messages, "AssistantMessage") if message["parent_tool_use_id"]]
        assert [block["name"] for message in inner for block in message["content"] if "name" in block] == ["Read"]
        assert {message["parent_tool_use_id"] for message in inner} == {tool_results(messages)[-1]["tool_use_id"]}


def test_an_unknown_agent_is_named_with_the_known_ones(acts: Acts) -> None:
    unknown = calls("Agent", description="x", prompt="y", subagent_type="nobody")
    with acts(unknown, says("then not")) as drive:
        messages = drive.query("go", agents={"reviewer": REVIEWER})
        assert tool_results(messages)[0]["is_error"] is True
        assert all(name in drive.last_message() for name in ("nobody", "reviewer"))
