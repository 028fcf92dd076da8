"""A run under way, line by line: who works, what it does, what the checks say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bridle.loop import effect_results, effects
from bridle.loop.progress_events import AgentPrinted, EffectFinished, Progress
from bridle.views.format_amounts import format_time
from bridle.views.terminal.run_lines import RunPrinter
from bridle.wire.events.system import ApiRetry
from bridle.wire.mask import Mask
from tests.loop.fixtures.progress import finished, started
from tests.views.fixtures.agent_lines import FOLDER, SECRET, assistant, printed, text, tool_call

WORK = {"task": "Rebates", "iteration": 2, "agent": "claude"}


def printed_lines(*progress: Progress, shows_tools: bool = True, agents: Sequence[str] = ("claude",)) -> list[str]:
    lines: list[str] = []
    printer = RunPrinter(
        ("Prices", "Rebates"),
        FOLDER,
        agents=agents,
        mask=Mask((SECRET,)),
        write=lambda line: lines.append(line.plain),
        shows_tools=shows_tools,
    )
    for item in progress:
        printer.print(item)
    return lines


def worked(**value: Any) -> EffectFinished:
    known = {
        "ending": effect_results.OK,
        "summary": "",
        "done": False,
        "changed": True,
        "cost_usd": 0.05,
        "seconds": 3.0,
    }
    return finished(effects.WORK, WORK, known | value)


def result(command: str, of: str = "task", exit_code: int = 0) -> dict[str, Any]:
    return {"command": command, "of": of, "exit_code": exit_code, "seconds": 0.5}


def checked(*results: dict[str, Any], when: str = "after") -> EffectFinished:
    passed = all(item["exit_code"] == 0 for item in results)
    return finished(effects.CHECK, {"task": "Rebates", "when": when}, {"passed": passed, "results": list(results)})


def test_an_iteration_begins_with_its_place_in_the_plan_and_its_agent() -> None:
    assert printed_lines(started(effects.WORK, WORK)) == ["[2/2] Rebates: iteration 2 (claude)"]


def test_tool_calls_and_texts_are_lines_with_paths_relative_to_the_top() -> None:
    events = printed(
        assistant("m1", text("I look.\nAnd more."), tool_call("Read", file_path="/home/me/shop/till/rebate.py")),
        assistant("m2", tool_call("StructuredOutput", summary="never shown twice")),
    )
    assert printed_lines(*events) == ["      I look. …", "      > Read till/rebate.py"]
    assert printed_lines(*events, shows_tools=False) == []


def test_a_request_that_is_repeated_is_a_line() -> None:
    retry = ApiRetry(raw=b"", attempt=2, max_retries=10, retry_delay_ms=1000.0, error="unknown")
    assert printed_lines(AgentPrinted("One", retry)) == ["      request failed: attempt 2 of 10, waiting 1.0 s"]
    assert printed_lines(AgentPrinted("One", retry), shows_tools=False) == []


def test_an_agent_that_reports_done_is_shown_as_a_report() -> None:
    assert printed_lines(worked(done=True, summary="All of it.\nReally.")) == [
        "      reports done: All of it. Really. (0.0500 USD, 3.0 s)"
    ]


def test_an_agent_without_changes_is_shown() -> None:
    assert printed_lines(worked(changed=False)) == ["      finished: – (0.0500 USD, 3.0 s, no changes)"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"ending": effect_results.LIMIT, "resets_at": "2026-11-15T14:00:00Z"},
            f"limit reached, resets {format_time(1794751200)} (",
        ),
        ({"ending": effect_results.TRANSIENT, "said": "Overloaded"}, "temporary API error: Overloaded"),
        ({"ending": effect_results.CRASHED}, "agent crashed: it exited without a result"),
        ({"ending": effect_results.QUESTION, "question": "Which one?"}, "question: Which one?"),
        ({"ending": effect_results.QUESTION}, "question: the agent waits for an answer"),
        ({"denials": ["Bash: rm -rf /"]}, "denied: Bash: rm -rf /"),
    ],
)
def test_every_other_ending_has_its_line(value: dict[str, Any], expected: str) -> None:
    assert any(expected in line for line in printed_lines(worked(**value)))


def test_why_an_agent_is_unavailable_is_left_to_the_receipt_unless_another_agent_goes_on() -> None:
    event = worked(ending=effect_results.UNUSABLE, said="not logged in")
    assert printed_lines(event) == ["      claude is unavailable"]
    assert printed_lines(event, agents=("claude", "codex")) == ["      claude is unavailable: not logged in"]
    other = finished(effects.WORK, WORK | {"agent": "codex"}, {"ending": effect_results.UNUSABLE, "said": "no credit"})
    assert printed_lines(event, other, agents=("claude", "codex"))[-1] == "      codex is unavailable"


def test_own_checks_are_lines_and_passing_checks_of_other_tasks_one_line() -> None:
    own, guard = result("make rebates", exit_code=1), result("make lint", "guard")
    assert printed_lines(checked(own, guard, result("make a", "Prices"), result("make b", "Prices"))) == [
        "      check failed (1): make rebates (0.5 s)",
        "      check passed: make lint (0.5 s)",
        "      checks of other tasks passed: 2 (1.0 s)",
    ]


def test_a_check_of_another_task_that_fails_is_named_with_its_task() -> None:
    assert "      check of 'Prices' failed (2): make a (0.5 s)" in printed_lines(checked(result("make a", "Prices", 2)))


def test_checks_before_any_work_are_shown_only_if_they_pass() -> None:
    assert printed_lines(checked(result("make rebates", exit_code=1), when="before")) == []
    assert printed_lines(checked(result("make rebates"), when="before")) == [
        "      Rebates: checks already pass before any work"
    ]


def test_commits_restored_files_and_reverted_work_are_shown() -> None:
    undone = {"undone": [{"path": "tests/a.py", "what": "a check names it"}], "reported": []}
    lines = printed_lines(
        finished(effects.PROTECT, {}, undone),
        finished(effects.COMMIT, {}, {"commit": "1a2b3c4d5e6f7890", "folded": ["x", "y"]}),
        finished(effects.COMMIT, {}, {"refused": "no\nand never"}),
        finished(effects.ROLLBACK, {"why": "it broke 'Prices'"}, {"kept": "run-undone-1"}),
    )
    assert lines == [
        "      restored tests/a.py: a check names it",
        "      committed 1a2b3c4d5e",
        "      squashed 2 commits made while the agent worked: git log -2 x",
        "      commit rejected: no",
        "        and never",
        "      reverted: it broke 'Prices'",
        "      kept as refs/bridle/snapshots/run-undone-1",
    ]


def test_secrets_and_control_characters_of_an_agent_reach_no_line() -> None:
    evil = f"\x1b[2J{SECRET}\u202e"
    lines = printed_lines(
        *printed(assistant("m1", text(evil), tool_call("Bash", command=evil))),
        worked(done=True, summary=evil, denials=[evil]),
        checked(result(evil, exit_code=1)),
    )
    assert len(lines) == 5
    for line in lines:
        assert SECRET not in line
        assert line.isprintable()


def test_in_a_parallel_run_each_line_has_the_number_of_its_task() -> None:
    lines: list[str] = []
    inner = FOLDER / ".ralph/worktrees/01j-2"
    printer = RunPrinter(
        ("Prices", "Rebates"),
        FOLDER,
        inner,
        agents=("claude",),
        mask=Mask(()),
        write=lambda line: lines.append(line.plain),
        is_parallel=True,
    )
    conflict = {"conflicts": ["a.py"], "conflicts_with": ["Prices"]}
    for item in (
        started(effects.WORK, WORK),
        *printed(assistant("m1", tool_call("Read", file_path=f"{inner}/till/rebate.py"))),
        worked(done=True, summary="All."),
        finished(effects.MERGE, {"task": "Rebates", "worker": 2}, conflict),
        finished(effects.LAND, {"task": "Prices"}, {"commit": "0123456789abcdef", "branch": "bridle/01j"}),
    ):
        printer.print(item)
    assert lines == [
        "[2/2] Rebates: iteration 2 (claude)",
        "[2/2]   > Read till/rebate.py",
        "[2/2]   reports done: All. (0.0500 USD, 3.0 s)",
        "[2/2]   merge conflict with other tasks: a.py",
        "[1/2]   merged 0123456789 into bridle/01j",
    ]
