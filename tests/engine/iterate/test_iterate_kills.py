"""An iteration killed by SIGKILL, at every named point and at many others: the run goes on and ends the same."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.engine.fixtures.iterated_runs import IteratedRun
from tests.fixtures.bridle_program import BRIDLE
from tests.sizes import SIZES

Report = Callable[[str, object], None]

ROOT = Path(__file__).parents[3]
# A hang is a failure; a start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60

PROCESS = """
async def process(inputs, ctx):
    ctx.log("begins")
    ctx.now()
    await ctx.sleep_until("2020-01-01T00:00:00Z")
    parts = await ctx.parallel.map(["a", "b", "c"], lambda name: ctx.task(step, {"part": name}))
    told = await ctx.hook("custom", {"parts": parts})
    await ctx.sleep_until("2020-01-02T00:00:00Z")
    last = await ctx.breakpoint({"question": "Done?"}, key="gate")
    return {"parts": parts, "told": told["status"], "last": last}
"""
HOOK = """#!/bin/sh
echo ran >> "$WITNESS"
"""

# What each iteration of that process does to the disk, and where it is to be killed.
ITERATIONS = {
    "that asks": {
        "the iteration's lock is taken": r"write \S+/bridle-iterate\.lock$",
        "the turn is taken": r"write \S+/bridle\.lock$",
        "a word is kept": r"rename \S+ -> \S+/journal/000002\.\w+\.json$",
        "the clock reading is kept": r"rename \S+ -> \S+/journal/000003\.\w+\.json$",
        "the sleep that was over is kept": r"rename \S+ -> \S+/journal/000004\.\w+\.json$",
        "the first task is written": r"rename \S+ -> \S+/task\.json$",
        "the first effect is asked for": r"rename \S+ -> \S+/journal/000005\.\w+\.json$",
        "the second effect is asked for": r"rename \S+ -> \S+/journal/000006\.\w+\.json$",
        "the third effect is asked for": r"rename \S+ -> \S+/journal/000007\.\w+\.json$",
        "the journal is synced": r"sync \S+/journal$",
        "the pack is named": r"rename \S+ -> \S+/state/bridle\.pack$",
        "the turn is given back": r"truncate \S+/bridle\.lock$",
        "the iteration's lock is let go": r"truncate \S+/bridle-iterate\.lock$",
    },
    "with a hook": {
        "the hook is asked for": r"rename \S+ -> \S+/journal/000011\.\w+\.json$",
        "the turn is given back for the hook": r"truncate \S+/bridle\.lock$",
        "the hook's result is kept": r"rename \S+ -> \S+/journal/000012\.\w+\.json$",
        "the sleep that was over is kept": r"rename \S+ -> \S+/journal/000013\.\w+\.json$",
        "the gate is asked for": r"rename \S+ -> \S+/journal/000014\.\w+\.json$",
    },
    "that completes": {
        "what it returned is written": r"write \S+/state/\.bridle-\w+\.tmp$",
        "what it returned is named": r"rename \S+ -> \S+/state/output\.json$",
        "the end is written": r"write \S+/r1/\.bridle-\w+\.tmp$",
        "the end is named": r"rename \S+ -> \S+/journal/000016\.\w+\.json$",
    },
}
POSTS = {"that asks": (), "with a hook": ("1", "2", "3"), "that completes": ("1", "2", "3", "gate")}


@pytest.fixture(autouse=True)
def _hook(tmp_path: Path) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter" / "hooks" / "custom" / "a.sh"
    path.parent.mkdir(parents=True)
    path.write_text(HOOK)
    os.environ["WITNESS"] = str(tmp_path / "witness")


def run_before(folder: Path, name: str) -> IteratedRun:
    """A run just before the iteration of that name."""
    folder.mkdir(parents=True, exist_ok=True)
    iterated = IteratedRun(folder, PROCESS)
    if name != "that asks":
        iterated.iterate()
        post(iterated, ("2", "1", "3"))
    if name == "that completes":
        iterated.iterate()
        post(iterated, ("gate",))
    return iterated


def post(iterated: IteratedRun, steps: tuple[str, ...]) -> None:
    """Give steps their results, unless they have them."""
    for name in steps:
        effect = iterated.effect({"1": "S000002", "2": "S000003", "3": "S000004"}.get(name, name))
        if effect.is_pending:
            iterated.post(effect.step_id, {"approved": True, "of": name})


def finish(iterated: IteratedRun) -> None:
    """Do what is left to do, as somebody would who comes back to the run."""
    iterated.store = FileStore(iterated.run)
    iterated.iterate()
    post(iterated, ("2", "1", "3"))
    iterated.iterate()
    post(iterated, ("gate",))
    assert iterated.iterate().status == "completed"


def facts(run: Path) -> list[Any]:
    """Everything in the journal but what differs in each run."""
    noise = ("effectId", "taskDefRef", "taskSha256", "resultRef", "resultSha256", "now", "startedAt", "finishedAt")
    entries = list(FileReader(run).entries())
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    told = [(entry.type, {key: part for key, part in entry.data.items() if key not in noise}) for entry in entries]
    return [*told, FileReader(run).output(FileReader(run).state().ended)]


def killed_at(run: Path, point: int | None) -> list[str]:
    """Kill an iteration before its change of that number, if there is one; gives the points that it came to."""
    reached: list[str] = []
    command = [sys.executable, "-m", "tests.engine.fixtures.kill_points", str(run)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while (line := process.stdout.readline().strip()) not in ("done", ""):
            reached.append(line)
            if len(reached) - 1 == point:
                process.send_signal(signal.SIGKILL)
                break
            process.stdin.write("on\n")
            process.stdin.flush()
        process.wait(LIMIT_SECONDS)
    assert process.returncode == (0 if point is None else -signal.SIGKILL)
    return reached


def undisturbed(folder: Path, name: str) -> tuple[list[str], list[Any]]:
    """The points of an iteration that nobody kills, and how its run ends."""
    iterated = run_before(folder / "undisturbed", name)
    points = killed_at(iterated.run, None)
    finish(iterated)
    return points, facts(iterated.run)


@pytest.mark.parametrize("name", ITERATIONS)
def test_killed_at_every_named_point_the_run_goes_on_and_ends_the_same(
    name: str, tmp_path: Path, record_property: Report
) -> None:
    points, expected = undisturbed(tmp_path, name)
    for place, (what, pattern) in enumerate(ITERATIONS[name].items()):
        numbers = [number for number, line in enumerate(points) if re.search(pattern, line)]
        assert numbers, f"the iteration never came to the point where {what}"
        iterated = run_before(tmp_path / str(place), name)
        reached = killed_at(iterated.run, numbers[-1])
        assert re.search(pattern, reached[-1]), f"it was killed elsewhere: {reached[-1]}"
        finish(iterated)
        assert facts(iterated.run) == expected, what
    record_property("count", f"iteration {name}: killed at {len(ITERATIONS[name])} named points")


@pytest.mark.parametrize("name", ITERATIONS)
def test_killed_anywhere_the_run_goes_on_and_ends_the_same(name: str, tmp_path: Path, record_property: Report) -> None:
    points, expected = undisturbed(tmp_path, name)
    step = max(1, len(points) * len(ITERATIONS) // SIZES.kill_points)
    for point in range(step - 1, len(points), step):
        iterated = run_before(tmp_path / str(point), name)
        killed_at(iterated.run, point)
        finish(iterated)
        assert facts(iterated.run) == expected, points[point]
    record_property("count", f"iteration {name}: killed at {len(points) // step} of {len(points)} changes")


def test_killed_while_a_hook_of_the_process_runs_the_hook_runs_again(tmp_path: Path) -> None:
    iterated = run_before(tmp_path / "run", "with a hook")
    hook = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter" / "hooks" / "custom" / "a.sh"
    # Above a hook are its supervisor, the keeper, and Bridle.
    parent = "parent() { cut -d ' ' -f 4 /proc/$1/stat; }\n"
    hook.write_text(f"{HOOK}{parent}kill -9 $(parent $(parent $PPID))\n")
    done = subprocess.run(
        [str(BRIDLE), "run:iterate", str(iterated.run)],
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    hook.write_text(HOOK)
    finish(iterated)
    assert Path(os.environ["WITNESS"]).read_text().splitlines() == ["ran", "ran"]
