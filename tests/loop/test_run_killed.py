"""A run of which everything is killed, again and again: it goes on at the same place, and nothing is done twice."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.loop.loops import BRIDLE, LIMIT_SECONDS, Loop, loop
from tests.sizes import SIZES

TITLES = [f"Task {n}" for n in range(1, SIZES.loop_tasks + 1)]
PLAN = "# Many\n\n" + "\n".join(f"## {title}\nCheck: `grep -q whole '{title}'`\n" for title in TITLES)
# Half a file, and then all of it: a moment at which it can be killed lies in between. One task is red at first.
AGENT = """
with open(task, "a") as file:
    file.write("half\\n")
if task != "Task 2" or open(task).read().count("half") > 1:
    with open(task, "a") as file:
        file.write("whole\\n")
"""
# What a task appends to the journal, at least: five effects, each asked for, begun and resolved.
ENTRIES_OF_A_TASK = 10


def start(here: Loop, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(BRIDLE), *words],
        cwd=here.folder,
        env=here.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def entries(here: Loop) -> int:
    return sum(1 for _ in here.folder.glob(".a5c/runs/*/journal/*.json"))


def kill_when(here: Loop, child: subprocess.Popen[bytes], wanted: int, *, after_seconds: float) -> bool:
    """Kill it and all that it started, once the journal has so many entries; False where it ended before."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while entries(here) < wanted:
        assert time.monotonic() < deadline, "the journal does not grow"
        if child.poll() is not None:
            return False
        time.sleep(0.002)
    time.sleep(after_seconds)  # no wait for anything: it moves the moment of the kill between two entries
    _kill_all(child)
    return True


def _kill_all(child: subprocess.Popen[bytes]) -> None:
    """Stop each first, so that nothing is started while they are looked for."""
    with contextlib.suppress(psutil.NoSuchProcess):
        top = psutil.Process(child.pid)
        top.suspend()
        for one in top.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        top.kill()
    child.wait(LIMIT_SECONDS)


def test_a_run_that_is_killed_again_and_again_does_every_task_once(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seed = random.SystemRandom().randrange(10**6)
    chance = random.Random(seed)  # noqa: S311  # moments of kills are no secret
    here = loop(tmp_path, PLAN, AGENT, **{"bridle.toml": "summarize_every = 100000\nmax_iterations = 100000\n"})
    (here.folder / "mine.txt").write_text("of the person")
    step = max(1, ENTRIES_OF_A_TASK * len(TITLES) // SIZES.loop_kills)
    kills = 0
    child = start(here, "run", "PLAN.md")
    for _ in range(SIZES.loop_kills):
        wanted = entries(here) + chance.randint(1, step)
        kills += kill_when(here, child, wanted, after_seconds=chance.uniform(0, 0.2))
        child = start(here, "resume")
    child.wait(LIMIT_SECONDS * len(TITLES))
    record_property("count", f"{kills} kills of a run of {len(TITLES)} tasks, seed {seed}")
    _judge(here, seed)
    assert kills >= SIZES.loop_kills // 2, seed


def _judge(here: Loop, seed: int) -> None:
    """Every task is done, by one commit of its own, and what is recorded agrees with what is there."""
    done = here.bridle("resume", "--json")
    assert done.returncode == 0, (seed, done.stdout[-3000:], done.stderr[-3000:])
    document = json.loads(done.stdout)
    assert [task["verdict"] for task in document["tasks"]] == ["done"] * len(TITLES), (seed, document["tasks"])
    assert here.git("log", "--reverse", "--format=%s", "main..HEAD").splitlines() == TITLES, seed
    assert here.git("rev-list", "--reverse", "main..HEAD").split() == document["commits"], seed
    for title, commit in zip(TITLES, document["commits"], strict=True):
        assert here.git("show", "--name-only", "--format=", commit) == title, seed
    iterations = sum(task["iterations"] for task in document["tasks"])
    assert document["cost_usd"] == pytest.approx(0.01 * iterations), seed
    assert here.git("status", "--porcelain") == "?? mine.txt", seed
    assert (here.folder / "mine.txt").read_text() == "of the person"
    for command in ("replay", "audit"):
        said = here.bridle(command, "last")
        assert said.returncode == 0, (seed, command, said.stdout, said.stderr)
