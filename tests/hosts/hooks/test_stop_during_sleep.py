"""Stops of a session whose run sleeps: it is told until when, and never let go for want of progress meanwhile."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from bridle.ground.light.moments import iso
from bridle.hosts.hooks.stop_bound_session import NO_PROGRESS_VARIABLE
from bridle.hosts.hooks.stop_rules import waits_for_sleep
from bridle.journal.format import codec
from tests.fixtures.bridle_program import run_bridle
from tests.hosts.fixtures.hook_project import Project, stop_entries

HOUR_MS = 3_600_000
FEW = {NO_PROGRESS_VARIABLE: "3"}

PROCESS = """
import asyncio

async def process(inputs, ctx):
    waits = [ctx.sleep_until(moment) for moment in inputs["until"]]
    if inputs["asks"]:
        waits.append(ctx.breakpoint({"question": "Ship it?"}))
    await asyncio.gather(*waits)
"""


def sleeping(folder: Path, *offsets_ms: int, asks: bool = False) -> tuple[Project, list[int]]:
    """A session bound to a run that sleeps until these times from now, created and iterated by the real commands."""
    project = Project(folder)
    until = [time.time_ns() // 1_000_000 + offset for offset in offsets_ms]
    (folder / "process.py").write_text(PROCESS, encoding="utf-8")
    (folder / "inputs.json").write_text(json.dumps({"until": until, "asks": asks}), encoding="utf-8")
    words = ("run:create", "--process-id", "demo", "--entry", "process.py#process", "--inputs", "inputs.json")
    for command in ((*words, "--run-id", "r"), ("run:iterate", "r")):
        done = run_bridle(*command, cwd=folder, environment=project.environment())
        assert done.returncode == 0, done.stderr
    project.session()
    return project, until


def end_sleep(project: Project, until_ms: int) -> None:
    """Let the time of the run's only sleep be one that has come, in a task whose entry has no digest."""
    (task,) = (project.runs / "r" / "tasks").glob("*/task.json")
    document = json.loads(task.read_text(encoding="utf-8"))
    document["sleep"]["targetEpochMs"] = until_ms
    task.write_text(json.dumps(document), encoding="utf-8")
    for file in (project.runs / "r" / "journal").iterdir():
        seq, ulid, _ = file.name.split(".")
        entry = codec.decode(int(seq), ulid, file.read_bytes())
        data = {name: value for name, value in entry.data.items() if name != "taskSha256"}
        file.write_bytes(codec.encode(entry.type, entry.recorded_at, data))


def test_the_block_says_until_when(tmp_path: Path) -> None:
    project, (late, early) = sleeping(tmp_path, 2 * HOUR_MS, HOUR_MS)
    reason = project.stop().document["reason"]
    assert f"sleeps until {iso(early * 1_000_000)}" in reason
    assert iso(late * 1_000_000) not in reason
    assert "`sleep 60`" in reason


def test_a_short_rest_is_waited_for_and_no_longer(tmp_path: Path) -> None:
    project, _ = sleeping(tmp_path, 40_000)
    reason = project.stop().document["reason"]
    assert any(f"`sleep {seconds}`" in reason for seconds in range(1, 41))


def test_stops_during_a_sleep_do_not_count(tmp_path: Path) -> None:
    project, _ = sleeping(tmp_path, HOUR_MS)
    for _ in range(6):
        assert project.stop(environment=FEW).document["decision"] == "block"


def test_after_the_sleep_the_count_begins(tmp_path: Path) -> None:
    project, _ = sleeping(tmp_path, HOUR_MS)
    for _ in range(4):
        project.stop(environment=FEW)
    end_sleep(project, time.time_ns() // 1_000_000)
    reasons = [project.stop(environment=FEW).document.get("reason", "") for _ in range(3)]
    assert [("The sleep ended at" in reason) for reason in reasons] == [True, True, False]
    assert [entry["reason"] for entry in stop_entries(project.runs / "r")] == ["continue_loop"] * 6 + ["no_progress"]


@pytest.mark.parametrize("asks", [True, False])
def test_a_question_to_the_user_changes_nothing_about_it(asks: bool, tmp_path: Path) -> None:
    project, (until,) = sleeping(tmp_path, HOUR_MS, asks=asks)
    for _ in range(4):
        reason = project.stop(environment=FEW).document["reason"]
        assert f"until {iso(until * 1_000_000)}" in reason


def test_a_sleep_whose_task_cannot_be_read_is_held_without_its_time(tmp_path: Path) -> None:
    project, _ = sleeping(tmp_path, HOUR_MS)
    for broken in ("[]", "{", '{"sleep": 3}', '{"sleep": {"targetEpochMs": 1e99}}', '{"sleep": {"targetEpochMs": -5}}'):
        (task,) = (project.runs / "r" / "tasks").glob("*/task.json")
        task.write_text(broken, encoding="utf-8")
        done = project.stop()
        assert (done.document["decision"], done.stderr) == ("block", "")
        assert "The run sleeps, and nothing can be done before" in done.document["reason"]


@pytest.mark.parametrize(
    ("kinds", "is_interactive", "expected"),
    [
        (["sleep"], True, True),
        (["sleep"], False, True),
        (["breakpoint", "sleep"], True, True),
        (["breakpoint", "sleep"], False, False),
        (["agent", "sleep"], True, False),
        (["breakpoint"], True, False),
        ([], True, False),
    ],
)
def test_when_an_agent_can_only_wait(kinds: list[str], is_interactive: bool, expected: bool) -> None:
    assert waits_for_sleep(kinds, is_interactive=is_interactive) is expected
