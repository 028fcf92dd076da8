"""Answers and messages that the API would refuse in a history do not end a session; the stage refuses the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.fixtures.agent_on_stage import agent_on_stage, calls, says
from tests.agent.fixtures.raw_host import raw_host

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
UNSIGNED = {"type": "raw", "block": {"type": "thinking", "thinking": "hm"}}


def bash(command: str, name: str | None = None) -> dict[str, Any]:
    block = {"type": "tool_use", "name": "Bash", "input": {"command": command}}
    return block if name is None else {**block, "id": name}


@pytest.mark.parametrize(
    "answer",
    [
        {"blocks": [" ", bash("echo 1")]},
        {"blocks": ["", bash("echo 1")]},
        {"blocks": [bash("echo 1"), "\n"]},
        {"blocks": [THOUGHT]},
        {"blocks": [THOUGHT], "stop_reason": "max_tokens"},
        {"blocks": ["half", THOUGHT], "stop_reason": "max_tokens"},
        {"blocks": [UNSIGNED, bash("echo 1")]},
        {"blocks": [UNSIGNED, "said"], "stop_reason": "max_tokens"},
        {"blocks": [" "]},
        {"blocks": []},
        {"blocks": [bash("echo 1", "toolu_x"), bash("echo 2", "toolu_x")]},
        {"blocks": [bash("echo 1", "not an id!")]},
    ],
)
def test_the_turn_after_an_odd_answer_succeeds(tmp_path: Path, answer: dict[str, Any]) -> None:
    with agent_on_stage(tmp_path, answer, says("fine"), says("fine")) as place:
        done = place.ask("go")
        again = place.ask("more", "--continue")
    assert (done.exit_code, done.result["result"]) == (0, "fine")
    assert (again.exit_code, again.result["result"]) == (0, "fine")


def test_both_of_two_calls_with_one_id_run_and_the_model_reads_both_results(tmp_path: Path) -> None:
    twice = {"blocks": [bash("echo one", "toolu_x"), bash("echo two", "toolu_x")]}
    with agent_on_stage(tmp_path, twice, calls("Bash", command="echo three") | {"id": "m3"}, says("fine")) as place:
        done = place.ask("go")
        results = [block["content"] for block in place.blocks() if block["type"] == "tool_result"]
    assert done.tool_results() == ["one", "two", "three"] == results


@pytest.mark.parametrize("content", [" ", "", [], [{"type": "text", "text": ""}]])
def test_a_blank_message_of_the_host_does_not_end_the_session(tmp_path: Path, content: Any) -> None:
    with agent_on_stage(tmp_path, otherwise=says("fine")) as place:
        first = place.converse(content)
        later = place.run("-p", "and?", "--continue", "--output-format", "stream-json", "--verbose")
    assert (first.exit_code, first.result["result"], first.stderr) == (0, "fine", "")
    assert (later.exit_code, later.result["result"]) == (0, "fine")


def test_a_blank_message_after_an_answer_does_not_end_the_session(tmp_path: Path) -> None:
    with agent_on_stage(tmp_path, otherwise=says("fine")) as place:
        place.ask("one")
        done = place.run("--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--continue",
                         given='{"type":"user","message":{"role":"user","content":" "}}\n')  # fmt: skip
    assert (done.exit_code, done.result["result"]) == (0, "fine")


def test_a_tool_use_stop_without_a_call_is_asked_for_again(tmp_path: Path) -> None:
    with agent_on_stage(tmp_path, says("I will look", stop_reason="tool_use"), says("done")) as place:
        done = place.ask("go")
    assert (done.result["result"], done.result["num_turns"]) == ("done", 2)
    [note] = done.of("user")
    assert note["isSynthetic"] is True


def test_a_model_that_never_makes_its_call_ends_in_an_error(tmp_path: Path) -> None:
    with agent_on_stage(tmp_path, otherwise=says("I will look", stop_reason="tool_use")) as place:
        done = place.ask("go")
    assert (done.exit_code, done.result["subtype"]) == (1, "error_during_execution")
    assert done.result["errors"] == ["The model announced a tool call and made none"]


def test_the_turns_of_three_parallel_calls_are_counted_as_claude_code_does(tmp_path: Path) -> None:
    three = {"blocks": [bash(f"echo {number}") for number in range(3)]}
    with agent_on_stage(tmp_path, three, says("fine"), three, three) as place:
        finished, stopped = place.ask("go", "--max-turns", "3"), place.ask("go", "--max-turns", "1")
    assert (finished.result["subtype"], finished.result["num_turns"]) == ("success", 4)
    assert (stopped.result["subtype"], stopped.result["num_turns"]) == ("error_max_turns", 2)


@pytest.mark.parametrize(("text", "printed"), [("fine", "fine\n"), ("fine\n", "fine\n"), ("fine\n\n", "fine\n\n")])
def test_text_output_ends_with_the_line_end_of_the_answer_or_one(tmp_path: Path, text: str, printed: str) -> None:
    with agent_on_stage(tmp_path, says(text)) as place:
        assert place.run("-p", "go").stdout == printed


@pytest.mark.parametrize("command", ["${", "'", '"', "echo (", "if true; then", "cat <<EOF", "case x in"])
def test_a_shell_error_shows_nothing_of_our_own_script(tmp_path: Path, command: str) -> None:
    with agent_on_stage(tmp_path, calls("Bash", command=command), says("fine")) as place:
        [result] = place.ask("go").tool_results()
    assert "pwd" not in result
    assert "$?" not in result


def test_a_first_message_without_a_block_costs_neither_the_instructions_nor_the_answer(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("First answer."), says("Second answer.")) as host:
        host.send({"type": "user", "message": {"role": "user", "content": []}})
        host.result()
        host.prompt("two")
        host.result()
        first, *_, last = (body["messages"] for body in host.bodies())
        assert "system-reminder" in str(first[0])
        assert last[0]["content"][0]["text"] == first[0]["content"][0]["text"]
        assert "First answer." in str(last)
