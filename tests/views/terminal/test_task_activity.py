"""What is shown of the effect that is running for a task."""

from __future__ import annotations

from typing import Any

from bridle.loop import effects
from bridle.loop.progress_events import AgentPrinted
from bridle.views.terminal.run_lines import AgentLines
from bridle.views.terminal.task_activity import TaskActivity
from bridle.wire.mask import Mask
from tests.loop.fixtures.progress import started
from tests.views.fixtures.agent_lines import FOLDER, answer, assistant, printed, text, tool_call


def activity(kind: str = effects.WORK, **arguments: Any) -> TaskActivity:
    effect = started(kind, {"task": "Rebates", **arguments})
    return TaskActivity(effect, 100.0, AgentLines(FOLDER, mask=Mask()), lambda record, _agent: record.tool_uses * 0.5)


def shown(running: TaskActivity, *lines: dict[str, Any]) -> list[str]:
    for progress in printed(*lines):
        assert isinstance(progress, AgentPrinted)
        running.add_event(progress.event)
    return [line for line, _ in running.lines(107.0)]


def test_an_agent_that_has_printed_nothing_is_thinking() -> None:
    assert shown(activity(iteration=2, agent="claude")) == ["claude, iteration 2, 0:07", "thinking"]


def test_the_newest_unfinished_call_is_shown_with_the_cost_so_far() -> None:
    running = activity(iteration=1, agent="claude")
    lines = [assistant("m", text("I look."), tool_call("Read", file_path=f"{FOLDER}/a.py"))]
    assert shown(running, *lines) == ["claude, iteration 1, 0:07, about 0.5000 USD", "> Read a.py"]
    assert shown(running, answer("t-Read", "x", is_error=False))[-1] == "I look."


def test_the_text_of_a_sub_agent_is_not_the_agent_s() -> None:
    lines = shown(activity(iteration=1, agent="claude"), {**assistant("m", text("inner")), "parent_tool_use_id": "t"})
    assert lines[-1] == "thinking"


def test_another_effect_has_its_name() -> None:
    assert activity(effects.COMMIT).name == "committing"
    assert shown(activity(effects.COMMIT)) == ["committing, 0:07"]
