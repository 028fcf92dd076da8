from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.model.api.models import resolve_model
from bridle.agent.model.api.question import Message, Question
from bridle.agent.model.api.request_body import beta_names, build_body, build_headers, custom_headers
from bridle.errors import UsageError

MARK = {"cache_control": {"type": "ephemeral"}}


def made(ask: Question, model: str = "opus", *, stream: bool = True, **environment: str) -> dict[str, Any]:
    return build_body(ask, resolve_model(model, environment), environment, stream=stream)


def ask(*messages: Any, **fields: Any) -> Question:
    sent: list[Message] = [{"role": "user", "content": text} if isinstance(text, str) else text for text in messages]
    return Question(resolve_model("opus", {}), tuple(sent), **fields)


def marks(document: Any) -> int:
    return json.dumps(document).count('"cache_control"')


def texts_of(message: dict[str, Any]) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [block["text"] for block in content]


def test_a_task_budget_and_the_display_of_thoughts_are_requested() -> None:
    asked = ask("x", task_budget=5000, thinking_display="omitted")
    body = build_body(asked, resolve_model("sonnet", {}), {}, stream=True)
    assert body["output_config"] == {"effort": "high", "task_budget": {"type": "tokens", "total": 5000}}
    assert body["thinking"] == {"type": "adaptive", "display": "omitted"}
    assert "task-budgets-2026-03-13" in beta_names(asked, resolve_model("sonnet", {}), (), {})
    off = made(ask("x", thinking_display="omitted", thinking_tokens=0))
    assert off["thinking"] == {"type": "disabled"}


def test_a_small_request_has_what_it_needs_and_nothing_more() -> None:
    assert made(ask("hello")) == {
        "model": "claude-opus-4-8",
        "max_tokens": 64_000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello", **MARK}]}],
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
        "stream": True,
    }


def test_a_whole_answer_is_asked_for_without_a_stream() -> None:
    assert "stream" not in made(ask("hello"), stream=False)


def test_the_system_prompt_and_the_two_newest_messages_of_the_user_are_marked() -> None:
    system = ({"type": "text", "text": "a"}, {"type": "text", "text": "b"})
    tools = ({"name": "X", "input_schema": {}},)
    answered = {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}
    request = made(ask("one", answered, "two", answered, "three", system=system, tools=tools))
    assert request["system"] == [system[0], {**system[1], **MARK}]
    assert request["tools"] == list(tools)
    assert [marks(message) for message in request["messages"]] == [0, 0, 1, 0, 1]
    assert marks(request) == 3


def test_without_a_system_prompt_the_last_tool_is_marked() -> None:
    tools = ({"name": "X", "input_schema": {}}, {"name": "Y", "input_schema": {}})
    assert made(ask("x", tools=tools))["tools"] == [tools[0], {**tools[1], **MARK}]


def test_the_last_block_that_takes_a_mark_gets_it() -> None:
    content = [
        {"type": "tool_result", "tool_use_id": "t", "content": "x"},
        {"type": "text", "text": ""},
        {"type": "thinking", "thinking": "x", "signature": "s"},
    ]
    [message] = made(ask({"role": "user", "content": content}))["messages"]
    assert [marks(block) for block in message["content"]] == [1, 0, 0]
    assert marks(made(ask({"role": "user", "content": ""}, {"role": "user", "content": content[1:]}))) == 0


def test_what_was_asked_is_not_changed() -> None:
    said = {"role": "user", "content": [{"type": "text", "text": "x"}]}
    system = ({"type": "text", "text": "a"},)
    made(ask(said, system=system))
    assert marks([said, system]) == 0


def test_marks_can_be_turned_off() -> None:
    question = ask("x", system=({"type": "text", "text": "a"},), tools=({"name": "X", "input_schema": {}},))
    assert marks(made(question, DISABLE_PROMPT_CACHING="1")) == 0


def test_messages_of_the_program_become_reminders_where_the_model_does_not_take_them() -> None:
    said = (
        {"role": "system", "content": "first"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "X", "input": {}}]},
        {"role": "system", "content": [{"type": "text", "text": "news"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
    )
    roles = [message["role"] for message in made(ask(*said))["messages"]]
    assert roles == ["system", "user", "assistant", "system", "user"]
    sent = made(ask(*said), "haiku", DISABLE_PROMPT_CACHING="1")["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert [block["text"] for block in sent[0]["content"]] == ["<system-reminder>\nfirst\n</system-reminder>", "hello"]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "text"]
    assert sent[2]["content"][1]["text"] == "<system-reminder>\nnews\n</system-reminder>"


@given(st.lists(st.tuples(st.sampled_from(["user", "system", "assistant"]), st.text()), max_size=12))
def test_neighbours_of_the_users_are_joined_and_no_text_is_lost(said: list[tuple[str, str]]) -> None:
    messages = [{"role": role, "content": text} for role, text in said]
    request = made(ask(*messages), "haiku", DISABLE_PROMPT_CACHING="1")
    sent = [message["role"] for message in request["messages"]]
    assert "system" not in sent
    assert all(pair != ("user", "user") for pair in pairwise(sent))
    texts = [text for message in request["messages"] for text in texts_of(message)]
    wrapped = {"system": "<system-reminder>\n{}\n</system-reminder>"}
    assert texts == [wrapped.get(role, "{}").replace("{}", text) for role, text in said]


def test_a_forced_tool_goes_without_thinking() -> None:
    tools = ({"name": "X", "input_schema": {}},)
    request = made(ask("x", tools=tools, tool_choice={"type": "tool", "name": "X"}))
    assert (request["tool_choice"], "thinking" in request) == ({"type": "tool", "name": "X"}, False)
    assert "thinking" in made(ask("x", tools=tools, tool_choice={"type": "auto"}))
    assert "tool_choice" not in made(ask("x", tool_choice={"type": "auto"}))


def test_a_question_that_is_asked_once_has_no_marks() -> None:
    assert marks(made(ask("x", system=({"type": "text", "text": "a"},), is_cached=False))) == 0


def test_thinking_is_turned_off_for_a_forced_tool_of_the_endpoint() -> None:
    tool = {"type": "web_search_20250305", "name": "web_search"}
    choice = {"type": "tool", "name": "web_search"}
    assert made(ask("x", tools=(tool,), tool_choice=choice, thinking_tokens=0))["thinking"] == {"type": "disabled"}


def test_a_shorter_answer_has_room_for_less_thought() -> None:
    request = made(ask("x", max_tokens=500), "haiku")
    assert (request["max_tokens"], request["thinking"]["budget_tokens"]) == (500, 499)
    learned = build_body(ask("x", max_tokens=500), resolve_model("haiku", {}), {}, stream=True, max_tokens=200)
    assert (learned["max_tokens"], learned["thinking"]["budget_tokens"]) == (200, 199)


def test_betas_are_named_once_each_and_the_environment_can_add_some() -> None:
    model = resolve_model("haiku", {})
    assert beta_names(ask("x"), model, ("oauth-2025-04-20",), {"ANTHROPIC_BETAS": "a, b,,a"}) == (
        "interleaved-thinking-2025-05-14",
        "oauth-2025-04-20",
        "a",
        "b",
    )


def test_own_headers_win_over_ours() -> None:
    sent = build_headers((), (), None, {"ANTHROPIC_CUSTOM_HEADERS": "User-Agent: mine\r\nX-Url: http://a:1/b"})
    assert (sent["user-agent"], sent["x-url"]) == ("mine", "http://a:1/b")
    assert "anthropic-beta" not in sent
    assert "x-claude-code-session-id" not in sent


@pytest.mark.parametrize("line", ["no colon here", ": no name", "good: yes\nbad"])
def test_a_header_line_that_is_invalid_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="ANTHROPIC_CUSTOM_HEADERS"):
        custom_headers({"ANTHROPIC_CUSTOM_HEADERS": line})
