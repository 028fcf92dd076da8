"""The stage refuses a conversation that the Messages API refuses, with the API's wording."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.stage.history import history_fault
from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.stage.fixtures.raw_client import ask

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SAID = {"type": "text", "text": "said"}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def answer(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def called(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {}}


def result(name: str, content: Any = "done") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


ASKED = {"role": "user", "content": "go"}
INVALID = [
    ([answer(SAID)], 'messages: first message must use the "user" role'),
    ([user()], "messages.0: all messages must have non-empty content"),
    ([ASKED, answer(), ASKED], "messages.1: all messages must have non-empty content"),
    ([user({"type": "text", "text": ""})], "text content blocks must be non-empty"),
    ([user({"type": "text", "text": " \n"})], "text content blocks must contain non-whitespace text"),
    ([{"role": "user", "content": " "}], "text content blocks must contain non-whitespace text"),
    (
        [ASKED, answer(called("a")), user(result("a", [{"type": "text", "text": ""}]))],
        "text content blocks must be non-empty",
    ),
    ([ASKED, answer(THOUGHT), ASKED], "messages.1.content.0: The final block in an assistant message cannot be"),
    ([ASKED, answer(SAID, THOUGHT), ASKED], "messages.1.content.1: The final block in an assistant message cannot be"),
    ([ASKED, answer({"type": "thinking", "thinking": "hm"}, SAID), ASKED], "thinking.signature: Field required"),
    (
        [ASKED, answer({"type": "thinking", "thinking": "", "signature": ""}, SAID), ASKED],
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    ([ASKED, answer(called("a"))], "messages.1: `tool_use` ids were found without `tool_result` blocks"),
    ([ASKED, answer(called("a")), ASKED], "immediately after: a."),
    ([ASKED, answer(called("a")), user(SAID, result("a"))], "immediately after: a."),
    ([ASKED, answer(called("a"), called("b")), user(result("b"))], "immediately after: a."),
    ([user(result("a"))], "messages.0: unexpected `tool_use_id` found in `tool_result` blocks: a."),
    ([ASKED, answer(called("a"), called("a")), user(result("a"))], "messages: `tool_use` ids must be unique"),
    (
        [ASKED, answer(called("a")), user(result("a")), answer(called("a")), user(result("a"))],
        "messages: `tool_use` ids must be unique",
    ),
    ([ASKED, answer(called("a")), user(result("a"), result("a"))], "each tool_use must have a single result"),
]


@pytest.mark.parametrize(("messages", "fault"), INVALID)
def test_a_conversation_that_breaks_a_rule_is_refused(messages: list[Any], fault: str) -> None:
    assert fault in (history_fault(messages) or "")


@pytest.mark.parametrize(
    "messages",
    [
        [ASKED],
        [ASKED, answer(SAID)],
        [ASKED, answer()],
        [ASKED, {"role": "system", "content": "a list of skills"}, answer(SAID), ASKED],
        [ASKED, answer(THOUGHT, called("a"), called("b")), user(result("b"), result("a"), SAID), answer(SAID), ASKED],
        [ASKED, answer(called("a")), {"role": "system", "content": "note"}, user(result("a"))],
        [ASKED, ASKED],
    ],
)
def test_a_conversation_that_keeps_the_rules_is_accepted(messages: list[Any]) -> None:
    assert history_fault(messages) is None


def test_the_refusal_is_a_400_that_uses_up_no_answer() -> None:
    with running(load_script({"answers": [{"blocks": ["first"]}]})) as stage:
        refused = ask(stage.port, "go", answer(called("a")), "and then?")
        accepted = ask(stage.port, "go")
    assert (refused.status, refused.json()["error"]["type"]) == (400, "invalid_request_error")
    assert "`tool_use` ids were found without `tool_result` blocks" in refused.json()["error"]["message"]
    assert accepted.json()["content"][0]["text"] == "first"
