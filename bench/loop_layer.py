"""What an iteration of the loop costs: the time between the starts of two agents that do their work in no time.

Without checks and commits it stands beside two other loops; with a check and a commit beside a floor that makes the
same git calls and fsyncs and nothing else.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import loop_floor
from bench.loops import LIMIT_SECONDS, Figures, Loop, LoopFailed, Place, measure, ours, peers, place
from bench.measure import CACHE, Target

TASKS = 30
ROUNDS = 4  # the least median of four is steady within a fifth on a machine that does other things as well
LONG_TASKS = 200
GROWTH = 1.5
"""What the last iterations of a long run may cost, against the first; the machine's noise is in it."""
FLOOR_FACTOR = 2.0

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
        trace = _trace(folder / "trace")
        floor = _floor(folder, trace)
        guarded = {OURS: ours(guarded=True), FLOOR: floor}
        found = {(BARE, name): Figures() for name in bare} | {(GUARDED, name): Figures() for name in guarded}
        for _ in range(ROUNDS):
            for kind, loops in ((BARE, bare), (GUARDED, guarded)):
                for name, loop in list(loops.items()):
                    try:
                        _once(folder / "scene", loop, TASKS, found[kind, name])
                    except LoopFailed as failure:
                        if name in (OURS, FLOOR):
                            raise
                        del loops[name], found[kind, name]
                        remarks.append(f"not measured: {failure}")
        long = Figures()
        _once(folder / "long", ours(guarded=True), LONG_TASKS, long)
    counts = trace.per_iteration()
    return {
        "rows": [_row(kind, name, figures) for (kind, name), figures in found.items()],
        "targets": _targets(found, long),
        "remarks": [*_remarks(counts), *remarks],
    }


def _once(folder: Path, loop: Loop, tasks: int, seen: Figures) -> None:
    with place(folder, loop, tasks) as here:
        measure(loop, here, tasks, seen)
        if loop.name == FLOOR:
            _check_floor(here, tasks)
    shutil.rmtree(folder)


def _trace(folder: Path) -> loop_floor.Trace:
    """One run of Bridle, with everything written down that the floor has to do."""
    loop = ours(guarded=True)
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
    with place(folder / "scene", recorded, TASKS, starts=log) as here:
        log.unlink(missing_ok=True)  # what making the scene took
        _run_once(recorded, here)
        trace = loop_floor.read_trace(log, here.repository, here.base)
    shutil.rmtree(folder)
    return trace


def _run_once(loop: Loop, here: Place) -> None:
    done = subprocess.run(
        loop.argv,
        cwd=here.repository,
        env=here.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    if done.returncode != 0:
        raise LoopFailed(f"{loop.name} ended with {done.returncode}:\n{(done.stdout + done.stderr).decode()[-2000:]}")


def _floor(folder: Path, trace: loop_floor.Trace) -> Loop:
    steps = folder / "steps.json"
    steps.write_text(json.dumps(trace.steps), encoding="utf-8")
    return replace(ours(guarded=True), name=FLOOR, argv=(sys.executable, "-S", str(FLOOR_PROGRAM), "run", str(steps)))


def _check_floor(here: Place, tasks: int) -> None:
    """A floor that did not make its commits would be none."""
    made = here.git("rev-list", "--count", f"{here.base}..HEAD")
    if int(made) != tasks:
        raise LoopFailed(f"the floor made {made} commits for {tasks} tasks")


def _row(kind: str, name: str, figures: Figures) -> dict[str, Any]:
    return {
        "iteration": kind,
        "program": name,
        "wall ms": round(1000 * min(figures.gaps), 1),
        "median of rounds": round(1000 * statistics.median(figures.gaps), 1),
        "CPU ms": round(1000 * min(figures.cpu), 1),
    }


def _targets(found: dict[tuple[str, str], Figures], long: Figures) -> list[Target]:
    bare = found[BARE, OURS]
    beside = [name for kind, name in found if kind == BARE and name != OURS]
    growth = long.late[0] / long.early[0]
    return [
        *(
            Target(claim=f"{BARE}: wall time of {name} against ours", found=min(other.gaps) / min(bare.gaps), wanted=1)
            for name in beside
            for other in [found[BARE, name]]
        ),
        Target(
            claim=f"{GUARDED}: ours against the floor",
            found=min(found[GUARDED, OURS].gaps) / min(found[GUARDED, FLOOR].gaps),
            wanted=FLOOR_FACTOR,
            at_least=False,
        ),
        Target(
            claim=f"the last ten of {LONG_TASKS} iterations against the first ten",
            found=growth,
            wanted=GROWTH,
            at_least=False,
        ),
    ]


def _remarks(counts: Counter[str]) -> list[str]:
    files, folders = counts[loop_floor.FILE], counts[loop_floor.FOLDER]
    return [
        f"The least of {ROUNDS} rounds of {TASKS} tasks, each round the median time between two starts; the agent is",
        "the same for all, a shell script that answers at once. CPU is of the program and of all that it starts.",
        f"Bridle with a commit each: {counts[loop_floor.GIT]} calls of git, {files + folders} fsyncs an iteration.",
    ]
