"""How an agent ended is in the lines of `bridle run` and in the receipt, also where the checks decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_replays,
    receipt_of,
    verdicts,
)

NO_CHECKS = "# One\n\n## One\nDo it.\n"
DEGRADED = "the agent's output ended without a result, so its last text counts (degraded)"
SAYS = """show(type="assistant", parent_tool_use_id=None, message={"id": "m", "role": "assistant",
     "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "I begin."}],
     "usage": {"input_tokens": 1000, "output_tokens": 100}})
"""


def run(here: Project, code: int, *options: str) -> tuple[dict[str, Any], str, str]:
    """Run the plan; return its receipt, the lines of the run, and the receipt as `status` prints it."""
    done = here.bridle("run", "PLAN.md", "--json", *options)
    document = receipt_of(done, code)
    assert_replays(here)
    return document, done.stderr, here.bridle("status").stdout


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("end(subtype='error_max_turns', structured_output=answer)", "error_max_turns"),
        ("end(subtype='error_max_budget_usd', result=None)", "error_max_budget_usd"),
        ("end(subtype='error_during_execution', is_error=True, result=None, errors=['kaboom words'])", "kaboom words"),
        ("end(is_error=True, result='prompt is too long')", "prompt is too long"),
    ],
)
def test_the_error_of_an_agent_that_changed_nothing(tmp_path: Path, end: str, words: str) -> None:
    document, lines, shown = run(make_project(tmp_path, ONE_TASK, end), 1, "--tries", "1")
    assert f"agent failed: {words} (0.0100 USD" in lines
    assert "reports done" not in lines
    assert "finished" not in lines
    (task,) = document["tasks"]
    reason = f"failed after its only try: the agent changed nothing; the agent failed: {words}"
    assert task["reason"] == reason
    assert reason in " ".join(shown.split())


def test_the_error_of_an_agent_whose_work_passes_or_fails_its_checks(tmp_path: Path) -> None:
    body = "open('one' if task == 'One' else 'wrong', 'w').close()\nend(subtype='error_max_turns')"
    document, _, shown = run(make_project(tmp_path, TWO_TASKS, body), 1, "--tries", "1")
    assert verdicts(document) == {"One": "done", "Two": "failed"}
    reasons = [task["reason"] for task in document["tasks"]]
    assert reasons[0] == "its checks passed; the agent failed: error_max_turns"
    assert "checks failed: test -f two; the agent failed: error_max_turns; its work is kept as " in reasons[1]
    assert reasons[0] in shown


def test_an_agent_that_failed_has_not_done_a_task_without_checks(tmp_path: Path) -> None:
    here = make_project(tmp_path, NO_CHECKS, "end(subtype='error_max_turns', structured_output=answer)")
    document, _, _ = run(here, 1, "--tries", "1")
    assert verdicts(document) == {"One": "failed"}


def test_an_agent_whose_output_was_cut_off(tmp_path: Path) -> None:
    cut = f'{SAYS}{MAKES_FILE}\nprint(\'{{"type":"result","subt\', end=\'\')\nsys.exit(0)'
    document, lines, shown = run(make_project(tmp_path, ONE_TASK, cut), 0)
    assert f"note: {DEGRADED}" in lines
    assert document["tasks"][0]["reason"] == f"its checks passed; {DEGRADED}"
    assert DEGRADED in " ".join(shown.split())


def test_an_exit_code_after_the_result(tmp_path: Path) -> None:
    body = f"{MAKES_FILE}\ntry: end(structured_output=answer)\nexcept SystemExit: sys.exit(3)"
    document, lines, _ = run(make_project(tmp_path, ONE_TASK, body), 0)
    assert "exit code 3" in lines
    assert "exit code 3" in document["tasks"][0]["reason"]


def test_an_exit_code_after_a_result_without_structured_output(tmp_path: Path) -> None:
    body = f"{MAKES_FILE}\ntry: end()\nexcept SystemExit: sys.exit(1)"
    document, lines, _ = run(make_project(tmp_path, ONE_TASK, body), 0)
    for text in (document["tasks"][0]["reason"], lines):
        assert "no structured output" in text
        assert "the agent ended with exit code 1 after its result" in text


def test_a_denied_call_of_an_agent_that_did_nothing(tmp_path: Path) -> None:
    body = """
    show(type="result", subtype="success", is_error=False, result="no", num_turns=1, duration_ms=1,
         total_cost_usd=0.01, permission_denials=["Bash"], structured_output=answer | {"done": False})
    sys.exit(0)
    """
    document, lines, _ = run(make_project(tmp_path, ONE_TASK, body), 1, "--tries", "1")
    assert "denied: Bash" in lines
    assert document["tasks"][0]["reason"].endswith("the agent changed nothing; denied: Bash")


def test_a_first_crash_is_the_reason_while_the_task_is_open(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "print('last words', file=sys.stderr)\nsys.exit(7)")
    document, _, shown = run(here, 3, "--max-iterations", "1")
    (task,) = document["tasks"]
    assert (task["verdict"], task["reason"]) == ("pending", "the agent crashed: last words")
    assert task["reason"] in shown


def test_what_earlier_attempts_cost_is_said_apart(tmp_path: Path) -> None:
    body = f"if number == 1:\n    {SAYS.replace(chr(10), ' ')}\n    sys.exit(7)\n{MAKES_FILE}"
    _, lines, _ = run(make_project(tmp_path, ONE_TASK, body), 0)
    assert "reports done: I did One (0.0145 USD, 0.0045 USD of it for earlier attempts, " in lines


def test_the_time_limit_is_the_reason_in_status(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "time.sleep(600)")
    receipt_of(here.bridle("run", "PLAN.md", "--json", "--max-time", "2"), 3)
    assert "(the time limit is reached." in here.bridle("status").stdout
    assert "the time limit is reached" in receipt_of(here.bridle("status", "--json"), 0)["stopped"]


def model_of(argv: list[str]) -> str:
    (model,) = [word.removeprefix("--model=") for word in argv if word.startswith("--model=")]
    return model


def no_model(after: int) -> str:
    """Return an agent that answers as Claude Code does for an unknown model, until so many starts."""
    words = "There's an issue with the selected model (sonet). It may not exist or you may not have access to it."
    return f"if number <= {after}: end('success', True, {words!r}, api_error_status=404)\n{MAKES_FILE}"


def test_an_unknown_model_pauses_the_run_and_another_one_is_chosen_by_resume(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, no_model(1))
    document, _, status = run(here, 5, "--model", "sonet")
    (task,) = document["tasks"]
    assert (task["verdict"], task["tries"]) == ("pending", 0)
    assert "the model is not available" in status
    assert "bridle resume --model NAME" in status
    done = here.bridle("resume", "--model", "opus", "--reasoning", "high", "--json")
    assert verdicts(receipt_of(done, 0)) == {"One": "done"}
    assert [model_of(call["argv"]) for call in here.calls()] == ["sonet", "opus"]
    assert_replays(here)
    events = json.loads(here.bridle("run:events", document["run"], "--json").stdout)["events"]
    (sent,) = [event for event in events if event["type"] == "BRIDLE_LOOP_AGENT"]
    assert sent["data"] == {"model": "opus", "reasoning": "high"}


def test_resume_takes_another_agent_and_refuses_one_that_is_not_there(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, no_model(100))
    name = run(here, 5)[0]["run"]
    other = here.agent_folder / "other"
    other.write_text((here.agent_folder / "claude").read_text().replace("if number <= 100:", "if False:"))
    other.chmod(0o755)
    before = here.bridle("run:events", name, "--json").stdout
    assert before
    missing = here.bridle("resume", "--agent", "bridle-agent", BRIDLE_BRIDLE_AGENT="/nowhere")
    assert (missing.returncode, "CLI not found" in missing.stderr) == (5, True)
    assert here.bridle("resume", "--agent", "cloud").returncode == 2
    assert here.bridle("resume", "--auth", "key", ANTHROPIC_API_KEY="").returncode == 2
    assert here.bridle("run:events", name, "--json").stdout == before  # a refused command changes nothing
    done = here.bridle("resume", "--agent", "bridle-agent", "--json", BRIDLE_BRIDLE_AGENT=str(other))
    assert verdicts(receipt_of(done, 0)) == {"One": "done"}
    assert "iteration 2 (bridle-agent)" in done.stderr
    assert_replays(here)


def test_a_run_that_was_interrupted_continues_with_the_agent_of_resume(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, f"if number == 1: kill_bridle(); time.sleep(600)\n{MAKES_FILE}")
    here.bridle("run", "PLAN.md")
    done = here.bridle("resume", "--model", "opus", "--json")
    assert verdicts(receipt_of(done, 0)) == {"One": "done"}
    assert [model_of(call["argv"]) for call in here.calls()] == ["sonnet", "opus"]
    assert_replays(here)
