"""The body and the headers of a chat request."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.agent.model.chat.chat_request import NAME_LIMIT, build_chat_body, build_chat_headers, sent_names
from tests.agent.fixtures.loopback_server import question

TOOL: dict[str, Any] = {
    "name": "Bash",
    "description": "Runs a command.",
    "input_schema": {"$schema": "x", "type": "object", "properties": {"command": {"type": "string"}}},
}
LONG: dict[str, Any] = {**TOOL, "name": "mcp__" + "a_long_server_name" * 4 + "__find"}


def body(environment: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    how = {name: fields.pop(name) for name in ("max_tokens", "host") if name in fields}
    return build_chat_body(question(**fields), "m", environment or {}, stream=True, **how)


def test_a_request_asks_for_a_stream_with_its_usage_and_sets_nothing_that_the_user_did_not() -> None:
    assert body() == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert "stream" not in build_chat_body(question(), "m", {}, stream=False)


def test_tools_are_functions() -> None:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    function = {"name": "Bash", "description": "Runs a command.", "parameters": schema}
    assert body(tools=(TOOL, {"type": "web_search_20250305", "name": "web_search"}))["tools"] == [
        {"type": "function", "function": function}
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ({"type": "auto"}, {"tool_choice": "auto"}),
        ({"type": "any"}, {"tool_choice": "required"}),
        ({"type": "none"}, {"tool_choice": "none"}),
        ({"type": "tool", "name": "Bash"}, {"tool_choice": {"type": "function", "function": {"name": "Bash"}}}),
        (
            {"type": "auto", "disable_parallel_tool_use": True},
            {"tool_choice": "auto", "parallel_tool_calls": False},
        ),
    ],
)
def test_the_choice_of_a_tool_is_translated(choice: dict[str, Any], sent: dict[str, Any]) -> None:
    found = body(tools=(TOOL,), tool_choice=choice)
    assert {key: found[key] for key in ("tool_choice", "parallel_tool_calls") if key in found} == sent
    assert "tool_choice" not in body(tool_choice=choice)


def test_long_names_of_tools_are_shortened_everywhere_and_stay_distinct() -> None:
    other = {**LONG, "name": LONG["name"] + "_other"}
    names = sent_names((TOOL, LONG, other))
    assert set(names) == {LONG["name"], other["name"]}
    assert len(set(names.values())) == 2
    assert {len(name) for name in names.values()} == {NAME_LIMIT}
    called = {"type": "tool_use", "id": "a", "name": LONG["name"], "input": {}}
    found = body(tools=(LONG,), messages=({"role": "assistant", "content": [called]},))
    sent = found["tools"][0]["function"]["name"]
    assert sent == found["messages"][0]["tool_calls"][0]["function"]["name"] == names[LONG["name"]]


def test_limits_and_effort_are_sent_only_where_the_user_sets_them() -> None:
    assert body({"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "900"})["max_tokens"] == 900
    assert body({"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "900"}, max_tokens=50)["max_tokens"] == 50
    assert body(max_tokens=50, host="api.openai.com")["max_completion_tokens"] == 50
    assert body(effort="max")["reasoning_effort"] == "high"
    assert body({"CLAUDE_CODE_EFFORT_LEVEL": "low"})["reasoning_effort"] == "low"


def test_headers_name_the_key_and_the_account() -> None:
    environment = {"OPENAI_ORG_ID": "org", "OPENAI_PROJECT_ID": " "}
    headers = build_chat_headers((("authorization", "Bearer k"),), environment)
    assert (headers["authorization"], headers["openai-organization"]) == ("Bearer k", "org")
    assert "openai-project" not in headers
    assert "anthropic-version" not in headers
