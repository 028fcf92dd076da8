"""The message log: one message, the same in history, transcript and standard output."""

from __future__ import annotations

from pathlib import Path

from bridle.agent.conversation.message_log import REJECTED, REJECTED_DETAIL, rejected
from bridle.agent.tools.contract.tool import ToolResult
from bridle.agent.tools.toolbox import FinishedCall
from bridle.errors import ModelFailure
from tests.agent.fixtures.message_sinks import Sinks, answer_with, call


def test_a_tool_result_is_the_same_message_in_all_three_sinks(tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)
    sinks.log.prompt("go", [], permission_mode="default", uuid=None)
    answer = answer_with(sinks.log, call("a"), call("b"))
    for name, follow_up in (("b", ()), ("a", ("more",))):
        result = ToolResult(f"result {name}", detail={"of": name}, follow_up=follow_up)
        assert sinks.log.tool_result(FinishedCall(call(name), result)) == 1 + len(follow_up)
    sinks.log.add_results(answer)
    blocks = [{"tool_use_id": name, "type": "tool_result", "content": f"result {name}"} for name in ("b", "a")]
    assert sinks.log.messages[-1] == {"role": "user", "content": [*blocks, {"type": "text", "text": "more"}]}
    assert sinks.resumed()[-1] == sinks.log.messages[-1]
    lines = [line for line in sinks.lines() if line["type"] == "user"][1:]
    events = [event for event in sinks.events() if event["type"] == "user"]
    same = ("uuid", "timestamp", "message")
    assert [[line[name] for name in same] for line in lines] == [[event[name] for name in same] for event in events]
    assert [line.get("toolUseResult") for line in lines] == [event.get("tool_use_result") for event in events]
    assert [event.get("isSynthetic", False) for event in events] == [False, False, True]


def test_a_resumed_session_has_what_follows_the_results_of_parallel_calls(tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)
    sinks.log.prompt("go", [], permission_mode="default", uuid=None)
    answer = answer_with(sinks.log, call("a"), call("b"))
    for name in ("a", "b"):
        result = ToolResult(f"result {name}", follow_up=(f"text of {name}",))
        sinks.log.tool_result(FinishedCall(call(name), result))
    sinks.log.add_results(answer)
    texts = [block.get("text") for block in sinks.log.messages[-1]["content"] if isinstance(block, dict)]
    assert texts == [None, None, "text of a", "text of b"]
    assert sinks.resumed() == sinks.log.messages


def test_a_block_has_one_id_in_transcript_and_output_and_the_final_usage_in_the_transcript(tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)
    answer_with(sinks.log, call("a"))
    [line] = sinks.lines()
    [event] = sinks.events()
    assert (line["uuid"], line["message"]["content"]) == (event["uuid"], event["message"]["content"])
    assert (event["message"]["usage"], event["message"]["stop_reason"]) == ({"input_tokens": 1}, None)
    assert (line["message"]["usage"]["output_tokens"], line["message"]["stop_reason"]) == (2, "tool_use")
    assert sinks.log.messages == [{"role": "assistant", "content": [call("a").block]}]


def test_a_call_without_a_result_is_marked_as_interrupted(tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)
    answer = answer_with(sinks.log, call("a"), call("b"))
    sinks.log.tool_result(rejected(call("a")))
    sinks.log.add_results(answer)
    assert [block["content"] for block in sinks.log.messages[-1]["content"] if isinstance(block, dict)] == [
        REJECTED
    ] * 2
    assert [event.get("tool_use_result") for event in sinks.events()][2:] == [REJECTED_DETAIL]


def test_an_api_error_is_shown_to_the_user_and_never_sent_to_the_model(tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)
    sinks.log.prompt("go", [], permission_mode="default", uuid=None)
    before = list(sinks.log.messages)
    sinks.log.api_error(ModelFailure("no", error="server_error", status=500), stop_reason="stop_sequence")
    line = sinks.lines()[-1]
    [event] = sinks.events()
    assert (line["uuid"], line["message"]) == (event["uuid"], event["message"])
    assert (line["isApiErrorMessage"], event["error"]) == (True, "server_error")
    assert sinks.log.messages == before
    assert sinks.resumed() == before
