"""An answer in a form: one child, one stdin, up to three corrections, then a clear failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridle.errors import UsageError
from bridle.run.structured import CORRECTIONS
from bridle.wire.record.error_category import Category
from tests.fixtures import sandbox
from tests.run.fixtures.agent_runs import SCHEMA, limits, run_agent
from tests.run.fixtures.fake_agent import Script, init, line, result

GOOD = {"summary": "it works"}
WRONG = {"summary": 7}


def conversation(*outputs: object) -> Script:
    """An agent that answers each message with the next of these structured outputs."""
    script = Script()
    for output in outputs:
        fields: dict[str, Any] = {} if output is None else {"structured_output": output}
        script.listen().out(init(), result("said", **fields))
    return script.listen()


def texts(heard: list[Any]) -> list[str]:
    return [message["message"]["content"][0]["text"] for message in heard if message is not None]


def test_a_good_answer_needs_no_correction_and_ends_the_input(tmp_path: Path) -> None:
    agent = conversation(GOOD).install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, prompt="do it", json_schema=SCHEMA)
    assert done.finished.outcome.succeeded_cleanly
    assert (done.finished.record.structured_output, done.finished.corrections) == (GOOD, 0)
    assert agent.stdin_lines == [
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "do it"}]},
            "parent_tool_use_id": None,
        },
        None,
    ]


@pytest.mark.parametrize("count", range(1, CORRECTIONS + 1))
def test_wrong_answers_are_corrected_in_the_same_conversation(tmp_path: Path, count: int) -> None:
    bad = ([None, WRONG, "not an object"] * CORRECTIONS)[:count]
    agent = conversation(*bad, GOOD).install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, json_schema=SCHEMA)
    assert done.finished.outcome.succeeded_cleanly
    assert (done.finished.corrections, done.finished.attempts, len(agent.starts)) == (count, 1, 1)
    first, *corrections = texts(agent.stdin_lines)
    assert (first, len(corrections)) == ("hello", count)
    assert "no structured output" in corrections[0]
    assert all("StructuredOutput" in text and '"required": ["summary"]' in text for text in corrections)
    assert agent.stdin_lines[-1] is None
    assert done.meta["corrections"] == count


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ([None] * 4, "there was no structured output, after 3 corrections"),
        ([WRONG] * 4, "the structured output does not fit the schema at summary:"),
    ],
)
def test_after_three_corrections_it_is_a_clear_failure(tmp_path: Path, outputs: list[object], words: str) -> None:
    agent = conversation(*outputs).install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, json_schema=SCHEMA)
    outcome = done.finished.outcome
    assert (outcome.failed, outcome.category) == (True, Category.PARSE)
    assert (outcome.error or "").startswith(words)
    assert (done.finished.corrections, len(agent.starts)) == (3, 1)
    assert len(texts(agent.stdin_lines)) == 4
    assert (done.meta["fault"], done.meta["fault_category"]) == (outcome.error, "parse")


def test_an_error_is_not_corrected(tmp_path: Path) -> None:
    agent = Script().listen().out(init(), result("overloaded", is_error=True)).listen().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, json_schema=SCHEMA)
    assert (done.finished.corrections, done.finished.outcome.category) == (0, Category.API)
    assert agent.stdin_lines[-1] is None


def test_an_agent_that_closes_its_input_after_a_wrong_answer_fails_for_the_answer(tmp_path: Path) -> None:
    agent = Script().listen().close(0).out(init(), result()).sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, json_schema=SCHEMA, limits=limits(after_result=0.3))
    assert done.finished.outcome.category is Category.PARSE
    assert "no structured output" in (done.finished.outcome.error or "")


@pytest.mark.parametrize("ends", [Script().exit(1), Script().kill("SIGTERM")], ids=["exit code", "signal"])
def test_an_agent_that_exits_with_an_error_after_a_wrong_answer_fails_for_both(tmp_path: Path, ends: Script) -> None:
    agent = Script([*Script().listen().out(init(), result()).listen().steps, *ends.steps]).install(tmp_path / "bin")
    outcome = run_agent(agent, tmp_path, json_schema=SCHEMA).finished.outcome
    by_signal = 143 if sandbox.is_on() else -15  # bwrap does not tell it from an exit code
    code = 1 if ends.steps[0][0] == "exit" else by_signal
    assert outcome.error == (
        f"there was no structured output, after 1 correction; the agent ended with exit code {code} after its result"
    )
    assert (outcome.category, outcome.exit_code) == (Category.PARSE, code)


@pytest.mark.parametrize("schema", [{"type": "nothing"}, {"properties": 7}, {"pattern": "("}, {"$ref": "#/x"}])
def test_a_schema_that_is_invalid_is_a_usage_error_and_nothing_is_started(tmp_path: Path, schema: Any) -> None:
    agent = conversation(GOOD).install(tmp_path / "bin")
    with pytest.raises(UsageError, match="schema"):
        run_agent(agent, tmp_path, json_schema=schema)
    assert not agent.starts


def test_a_question_of_the_agent_is_refused_and_the_conversation_goes_on(tmp_path: Path) -> None:
    asked = line({"type": "control_request", "request_id": "r-1", "request": {"subtype": "can_use_tool"}})
    script = Script().listen().out(init(), asked).listen().out(result(structured_output=GOOD)).listen()
    agent = script.install(tmp_path / "bin")
    assert run_agent(agent, tmp_path, json_schema=SCHEMA).finished.outcome.succeeded_cleanly
    answer = agent.stdin_lines[1]["response"]
    assert (answer["subtype"], answer["request_id"]) == ("error", "r-1")
    assert "can_use_tool" in answer["error"]


def test_a_long_prompt_goes_through_stdin_whole(tmp_path: Path) -> None:
    prompt = "é" * 300_000
    agent = Script().listen().out(init(), result()).listen().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, prompt=prompt)
    assert done.finished.outcome.succeeded_cleanly
    assert texts(agent.stdin_lines) == [prompt]
    assert all(prompt not in argument for argument in agent.starts[0]["argv"])


def test_an_agent_that_never_reads_its_long_prompt_meets_its_limit(tmp_path: Path) -> None:
    agent = Script().out(init()).sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, prompt="x" * 1_000_000, limits=limits(run=3))
    assert (done.finished.outcome.error, done.finished.outcome.category) == ("timeout", Category.TIMEOUT)
    assert done.log.read_text() == init()


def test_an_agent_that_answers_without_reading_its_long_prompt_has_answered(tmp_path: Path) -> None:
    agent = Script().out(init(), result()).sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, prompt="x" * 1_000_000, limits=limits(after_result=0.5))
    assert done.finished.outcome.succeeded_cleanly
    assert done.finished.killed_after_result


def test_an_agent_that_closes_its_input_unread_and_stays_is_a_fault(tmp_path: Path) -> None:
    agent = Script().close(0).out(init()).sleep().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, prompt="x" * 1_000_000)
    assert done.finished.outcome.category is Category.PROCESS
    assert "does not read its input" in (done.finished.outcome.error or "")
    assert done.log.read_text() == init()


def test_an_agent_that_prints_a_lot_before_it_reads_its_prompt_is_recorded(tmp_path: Path) -> None:
    lines = 100_000  # about three megabytes, more than all the pipes and buffers between us hold
    agent = Script().out(init()).numbered(lines).listen().out(result()).install(tmp_path / "bin")
    done = run_agent(agent, tmp_path, prompt="x" * 1_000_000)
    assert done.finished.outcome.succeeded_cleanly
    assert done.finished.record.unknown_events == lines
