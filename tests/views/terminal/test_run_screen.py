"""The live view of a run: the task list, what is done now, what it has used, and what it waits for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bridle.loop import effects
from bridle.loop.process.receipt import Wait
from bridle.loop.progress_events import EffectStarted
from bridle.views.terminal.run_screen import RunScreen
from bridle.views.terminal.styled_lines import cell_width
from bridle.wire.mask import Mask
from tests.loop.fixtures.progress import finished, started
from tests.views.fixtures.agent_lines import FOLDER, SECRET, answer, assistant, printed, text, tool_call
from tests.views.fixtures.sample_receipts import receipt, task

BEGAN = 1_000_000.0


def screen(*tasks: dict[str, Any], wait: Wait | None = None, **more: Any) -> RunScreen:
    shown = RunScreen(FOLDER, mask=Mask((SECRET,)), began_seconds=BEGAN, price=lambda _record, _agent: 0.0371)
    shown.set_receipt(receipt(*tasks, verdict="pending", **more), wait)
    return shown


def drawn(shown: RunScreen, *, seconds: float = 67, width: int = 80, height: int = 40) -> list[str]:
    return [line.plain for line in shown.lines(now=BEGAN + seconds, width=width, height=height)]


def began(title: str = "Rebates") -> EffectStarted:
    return started(effects.WORK, {"task": title, "iteration": 2, "agent": "claude"})


def test_the_whole_screen_of_a_running_agent() -> None:
    shown = screen(
        task("Prices", cost_usd=0.0509),
        task("Rebates", "pending", iterations=2, tries=1),
        task("Slip", "pending", iterations=0, cost_usd=0.0),
        iterations=3,
    )
    shown.add_progress(began(), now=BEGAN + 60)
    for event in printed(assistant("m1", text("I look."), tool_call("Read", file_path=f"{FOLDER}/till/rebate.py"))):
        shown.add_progress(event, now=BEGAN + 61)
    assert drawn(shown) == [
        "",
        "PLAN.md  1 of 3 tasks, 1:07",
        "  ✓ Prices  done, 0.0509 USD",
        "  ⠦ Rebates  1 try failed",
        "      claude, iteration 2, 0:07, about 0.0371 USD",
        "      > Read till/rebate.py",
        "  · Slip",
        "",
        "  iteration 3 of 50 · 0.2500 USD of 20 · 1:07 of 8:00:00",
    ]


def test_after_a_tool_has_ended_the_last_text_is_shown() -> None:
    shown = screen(task("Rebates", "pending"))
    shown.add_progress(began(), now=BEGAN)
    events = printed(
        assistant("m1", text("I look."), tool_call("Read", file_path="a")), answer("t-Read", "x", is_error=False)
    )
    for event in events:
        shown.add_progress(event, now=BEGAN)
    lines = drawn(shown)
    assert "      I look." in lines
    assert not any("Read" in line for line in lines)


def test_checks_and_commits_are_shown_as_the_current_action() -> None:
    shown = screen(task("Rebates", "pending"))
    shown.add_progress(started(effects.CHECK, {"task": "Rebates"}), now=BEGAN + 60)
    assert "      running the checks, 0:07" in drawn(shown)
    shown.add_progress(finished(effects.CHECK, {"task": "Rebates"}, {}), now=BEGAN + 61)
    assert not any("running" in line for line in drawn(shown))


def test_between_two_effects_the_task_is_still_current() -> None:
    shown = screen(task("Rebates", "pending"))
    shown.add_progress(finished(effects.CHECK, {"task": "Rebates"}, {}), now=BEGAN)
    assert "  ⠦ Rebates" in drawn(shown)
    shown.set_receipt(receipt(task("Rebates")), None)
    assert "  ✓ Rebates  done, 0.0500 USD" in drawn(shown)


def test_a_wait_is_counted_down_and_the_key_is_named_where_there_is_one() -> None:
    shown = screen(
        task("Rebates", "pending"),
        wait=Wait(effect_id="01E", reason="usage limit: Rebates", until="1970-01-12T13:49:52.000Z"),
    )
    assert drawn(shown)[-1].startswith("  waiting for usage limit: Rebates: 2:05 left, until ")
    assert "press" not in drawn(shown)[-1]
    shown.key = "press s to try now"
    assert drawn(shown)[-1].endswith("; press s to try now")


def test_a_reset_time_from_the_agent_is_shown_beside_the_figures() -> None:
    shown = screen(task("Rebates", "pending"))
    shown.add_progress(began(), now=BEGAN)
    info = {"status": "allowed_warning", "resetsAt": 1_000_500, "rateLimitType": "five_hour"}
    for event in printed({"type": "rate_limit_event", "rate_limit_info": info, "session_id": "s"}):
        shown.add_progress(event, now=BEGAN)
    assert "limit resets " in drawn(shown)[-1]


def test_a_long_plan_is_shown_around_the_current_task() -> None:
    shown = screen(*(task(f"Task {number}", "pending") for number in range(200)))
    shown.add_progress(began("Task 120"), now=BEGAN)
    lines = drawn(shown, height=24)
    assert len(lines) <= 24
    assert any("Task 120" in line for line in lines)
    assert any(line.endswith("above") for line in lines)
    assert any(line.endswith("below") for line in lines)
    assert any("iteration" in line and "USD of 20" in line for line in lines)


def test_before_the_first_receipt_there_is_a_screen_too() -> None:
    shown = RunScreen(Path("/x"), mask=Mask(()), began_seconds=BEGAN)
    shown.add_progress(started(effects.PREPARE, {}), now=BEGAN)
    assert any("creating the branch" in line for line in drawn(shown))


def test_nothing_of_an_agent_is_wider_than_the_terminal_secret_or_able_to_drive_it() -> None:
    evil = f"\x1b[2J{SECRET}\u202e漢字 " * 40
    shown = screen(task(evil, "pending"), task("B" * 300, "failed", reason=evil))
    shown.add_progress(started(effects.WORK, {"task": evil, "iteration": 1, "agent": evil}), now=BEGAN)
    for event in printed(assistant("m1", text(evil), tool_call("Bash", command=evil))):
        shown.add_progress(event, now=BEGAN)
    for width in (20, 40, 79):
        for line in drawn(shown, width=width, height=10):
            assert cell_width(line) <= width
            assert line.isprintable()
            assert SECRET not in line


def test_parallel_tasks_each_show_their_activity() -> None:
    shown = screen(*(task(title, "pending", iterations=1) for title in ("Prices", "Rebates", "Slip")))
    shown.add_progress(
        started(effects.WORK, {"task": "Prices", "iteration": 1, "agent": "claude", "worker": 1}), now=BEGAN + 60
    )
    shown.add_progress(
        started(effects.WORK, {"task": "Rebates", "iteration": 3, "agent": "codex", "worker": 2}), now=BEGAN + 65
    )
    for event in printed(assistant("m1", text("I look."), tool_call("Read", file_path=f"{FOLDER}/till/rebate.py"))):
        shown.add_progress(event, now=BEGAN + 66)
    assert drawn(shown)[2:9] == [
        "  ⠦ Prices",
        "      claude, iteration 1, 0:07",
        "      thinking",
        "  ⠦ Rebates",
        "      codex, iteration 3, 0:02, about 0.0371 USD",
        "      > Read till/rebate.py",
        "  · Slip  pending, 0.0500 USD",
    ]
    shown.add_progress(finished(effects.WORK, {"task": "Prices", "worker": 1}, {}), now=BEGAN + 66)
    assert drawn(shown)[2:4] == ["  ⠦ Prices", "  ⠦ Rebates"]
    shown.add_progress(started(effects.MERGE, {"task": "Prices", "worker": 1}), now=BEGAN + 67)
    assert "      merging with other tasks, 0:00" in drawn(shown)
    shown.add_progress(finished(effects.MERGE, {"task": "Prices", "worker": 1}, {}), now=BEGAN + 67)
    shown.add_progress(started(effects.LAND, {"task": "Prices"}), now=BEGAN + 67)
    assert "      landing, 0:00" in drawn(shown)


def test_tasks_that_are_far_apart_are_both_shown_where_there_is_room() -> None:
    shown = screen(*(task(f"Task {number}", "pending") for number in range(200)))
    for worker, number in ((1, 100), (2, 108)):
        args = {"task": f"Task {number}", "iteration": 1, "agent": "claude", "worker": worker}
        shown.add_progress(started(effects.WORK, args), now=BEGAN)
    lines = drawn(shown, height=24)
    assert len(lines) <= 24
    assert all(any(f"Task {number}" in line for line in lines) for number in (100, 108))
