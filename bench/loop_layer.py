"""What an iteration of the loop costs: the time between the starts of two agents that do their work in no time.

Without checks and commits it is compared with two other loops; with a check and a commit with a floor that makes the
same git calls and fsyncs and nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from bench import cpu, loop_floor
from bench.loops import (
    EARLY_END,
    LIMIT_SECONDS,
    WINDOW,
    Figures,
    Loop,
    LoopFailed,
    measure,
    ours,
    peers,
    place,
    run_to_end,
)
from bench.measure import CACHE, Target

# With the long run and all programs, five hundred iterations: a minute or two. The first run on a machine also installs
# the peers, which takes longer.
TASKS = 15
ROUNDS = 4  # the least median of four is steady within a fifth on a machine that does other things as well
LONG_TASKS = 600
GROWTH = 1.3
"""The CPU of the last iterations of a long run against those behind the first twenty; a tenth is the machine's noise.

Prompts and listings grow up to their caps within the first fifty, which is a part of it.
"""
FLOOR_FACTOR = 2.0
PRICE_TRIES = 30

BARE, GUARDED = "no checks, no commits", "guard `true`, a commit each"
OURS = "bridle"
FLOOR = "floor: the same git calls and fsyncs"
FLOOR_PROGRAM = Path(loop_floor.__file__)


def run() -> dict[str, Any]:
    """Measure; the result holds rows for a table, targets, and remarks."""
    (CACHE / "bench").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="loop-", dir=CACHE / "bench") as work:
        folder = Path(work)
        others, remarks = peers()
        bare = {loop.name: loop for loop in (ours(guarded=False), *others)}
        scenes = (folder / f"scene-{number}" for number in count())
        traces = {kind: record(next(scenes), ours(guarded=kind == GUARDED), TASKS) for kind in (BARE, GUARDED)}
        floor = floor_of(folder, traces[GUARDED])
        guarded = {OURS: ours(guarded=True), FLOOR: floor}
        found = {(BARE, name): Figures() for name in bare} | {(GUARDED, name): Figures() for name in guarded}
        for _ in range(ROUNDS):
            for kind, loops in ((BARE, bare), (GUARDED, guarded)):
                for name, loop in list(loops.items()):
                    try:
                        _once(next(scenes), loop, TASKS, found[kind, name])
                    except LoopFailed as failure:
                        if name in (OURS, FLOOR):
                            raise
                        del loops[name], found[kind, name]
                        remarks.append(f"not measured: {failure}")
        long = Figures()
        _once(next(scenes), ours(guarded=True), LONG_TASKS, long)
        prices = _prices(folder)
    counts = {kind: trace.per_iteration() for kind, trace in traces.items()}
    return {
        "rows": [_row(kind, name, figures) for (kind, name), figures in found.items()],
        "targets": _targets(found, long),
        "remarks": [*_remarks(counts), _cpu_remark(found), *_reasons(found, counts[BARE], prices), *remarks],
    }


def _once(folder: Path, loop: Loop, tasks: int, seen: Figures) -> None:
    """One round. Its scene stays until all are done: ext4 goes through every inode that was freed within the last
    minutes when it makes a file, so that rounds would take longer the more of them were cleared away before."""
    with place(folder, loop, tasks) as here:
        measure(loop, here, tasks, seen)


def record(folder: Path, loop: Loop, tasks: int) -> loop_floor.Trace:
    """One run of Bridle, with every call of git and every fsync written down."""
    log = folder / "log"
    wrapped = folder / "wrapped"
    wrapped.mkdir(parents=True)
    git = shutil.which("git")
    assert git is not None, "the repository was cloned with it"
    (wrapped / "git").write_text(loop_floor.wrapper(log, git), encoding="utf-8")
    (wrapped / "git").chmod(0o700)
    recorded = replace(
        loop, argv=(sys.executable, str(FLOOR_PROGRAM), "record", str(log), *loop.argv[1:]), path=(str(wrapped),)
    )
    with place(folder / "scene", recorded, tasks, starts=log) as here:
        log.unlink(missing_ok=True)  # what making the scene took
        run_to_end(recorded, here)
        return loop_floor.read_trace(log, here.repository, here.base)


def floor_of(folder: Path, trace: loop_floor.Trace) -> Loop:
    """The floor that does the steps of a recorded run."""
    steps = folder / "steps.json"
    steps.write_text(json.dumps(trace.steps), encoding="utf-8")
    return replace(ours(guarded=True), name=FLOOR, argv=(sys.executable, "-S", str(FLOOR_PROGRAM), "run", str(steps)))


def _row(kind: str, name: str, figures: Figures) -> dict[str, Any]:
    return {
        "iteration": kind,
        "program": name,
        "wall ms": round(1000 * min(figures.gaps), 1),
        "median of rounds": round(1000 * statistics.median(figures.gaps), 1),
        "CPU ms": round(1000 * min(figures.cpu), 1),
    }


def _targets(found: dict[tuple[str, str], Figures], long: Figures) -> list[Target]:
    return [
        Target(
            claim=f"{GUARDED}: ours against the floor",
            found=min(found[GUARDED, OURS].gaps) / min(found[GUARDED, FLOOR].gaps),
            wanted=FLOOR_FACTOR,
            at_least=False,
        ),
        Target(
            claim=f"CPU of the last {WINDOW} of {LONG_TASKS} iterations against the {WINDOW} before the {EARLY_END}th",
            found=long.late / long.early,
            wanted=GROWTH,
            at_least=False,
        ),
    ]


def _prices(folder: Path) -> dict[str, float]:
    """What an fsync, and a git that does nothing, take here and now."""
    numbers = count()

    def sync() -> None:
        with (folder / f"synced-{next(numbers)}").open("xb") as stream:
            stream.write(b"x" * 500)
            stream.flush()
            os.fsync(stream.fileno())

    def start() -> None:
        subprocess.run(["git", "--version"], stdout=subprocess.DEVNULL, check=True, timeout=LIMIT_SECONDS)

    return {"fsync": statistics.median(_seconds(sync)), "git": statistics.median(_seconds(start))}


def _seconds(work: Callable[[], None]) -> list[float]:
    taken = []
    for _ in range(PRICE_TRIES):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return taken


def _reasons(found: dict[tuple[str, str], Figures], counts: Counter[str], prices: dict[str, float]) -> list[str]:
    """For each peer whether we are below it; where we are not, what we do that it leaves out, and its price here."""
    own = min(found[BARE, OURS].gaps)
    lines = []
    for name in [name for kind, name in found if kind == BARE and name != OURS]:
        other = min(found[BARE, name].gaps)
        word = "below" if own < other else "not below"
        lines.append(f"{BARE}: {1000 * own:.1f} ms is {word} {name} with {1000 * other:.1f} ms.")
    if any("not below" in line for line in lines):
        syncs, calls = counts[loop_floor.FILE] + counts[loop_floor.FOLDER], counts[loop_floor.GIT]
        fsync, git = (f"{1000 * prices[name]:.1f} ms" for name in ("fsync", "git"))
        lines += [
            "What they leave out:",
            f"- a journal, a prompt and a log that survive a power cut: {syncs} fsyncs, here {fsync} each;",
            f"- a snapshot to go back to, and a look at what was done: {calls} calls of git, here {git} only to start;",
            "- a look through all processes, twice and 10 ms apart, for what the agent left running.",
        ]
    return lines


def _cpu_remark(found: dict[tuple[str, str], Figures]) -> str:
    own, floor = (1000 * min(found[GUARDED, name].cpu) for name in (OURS, FLOOR))
    return f"{GUARDED}: {own:.1f} ms of CPU, {own / floor:.2f} times the floor's {floor:.1f} ms.\n{cpu.remark()}"


def _remarks(counts: dict[str, Counter[str]]) -> list[str]:
    shown = "; ".join(
        f"{kind}: {one[loop_floor.GIT]} calls of git, {one[loop_floor.FILE] + one[loop_floor.FOLDER]} fsyncs"
        for kind, one in counts.items()
    )
    return [
        f"The least of {ROUNDS} rounds of {TASKS} tasks, each round the median time between two starts; the agent is",
        "the same for all, a shell script that answers at once.",
        f"An iteration of ours, {shown}.",
    ]
