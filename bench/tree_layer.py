"""What an iteration of the loop costs in trees of several sizes, against `git add -A && git commit` in the same tree.

Each scene is measured with an agent that takes no time, the guard `true` and a commit for each task. Its repository is
made once and restored between the rounds: making and deleting a hundred thousand files takes longer than measuring.
The targets compare CPU time, which other programs on the machine change least. The number of git processes of a task is
counted by a `git` in front of the real one, in a serial and in a parallel run.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.loops import Figures, Place, measure, ours, place, run_to_end
from bench.measure import CACHE, Target

TASKS = 8
ROUNDS = 3
START = "bench-start"
PARALLEL = 4
# Tasks of the two runs whose numbers of git processes are compared: what the start and the end take cancels out.
FEW, MANY = 8, 24
TRACKED = 100_000
UNTRACKED = 20_000
UNTRACKED_BYTES = 500 * 1024 * 1024
FILES_IN_FOLDER = 500

SMALL, MANY_TRACKED = "small", f"{TRACKED} tracked files"
MANY_UNTRACKED, LARGE_UNTRACKED = f"{UNTRACKED} untracked files", f"{UNTRACKED_BYTES // 2**20} MB untracked"

TRACKED_FACTOR = 2.0
UNTRACKED_FACTOR = 3.0
SIZE_FACTOR = 1.5
# Two as in a serial run, and the look after the check of the merged commit. Half of one for what varies.
PARALLEL_STARTS = 3.5


@dataclass(frozen=True)
class Scene:
    """A tree of some size."""

    name: str
    tracked: int = 0
    fill: Callable[[Path], None] = lambda _folder: None
    """Adds the untracked files."""


def _many_files(folder: Path, number: int) -> None:
    for start in range(0, number, FILES_IN_FOLDER):
        part = folder / f"part-{start // FILES_IN_FOLDER}"
        part.mkdir(parents=True)
        for name in range(start, min(start + FILES_IN_FOLDER, number)):
            # Few contents, so that git has few loose objects: more of them would start its `gc` within a measurement.
            (part / f"file-{name}.txt").write_text(f"{name % FILES_IN_FOLDER}\n", encoding="ascii")


def _large_file(folder: Path) -> None:
    with (folder / "large.bin").open("wb") as stream:
        stream.truncate(UNTRACKED_BYTES)


SCENES = (
    Scene(SMALL),
    Scene(MANY_TRACKED, tracked=TRACKED),
    Scene(MANY_UNTRACKED, fill=lambda folder: _many_files(folder / "untracked", UNTRACKED)),
    Scene(LARGE_UNTRACKED, fill=_large_file),
)


def run() -> dict[str, Any]:
    """Measure; the result holds rows for a table, targets, and remarks."""
    (CACHE / "bench").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="trees-", dir=CACHE / "bench") as work:
        return measure_in(Path(work))


def measure_in(folder: Path, scenes: tuple[Scene, ...] = SCENES, rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure scenes in a folder, whose file system decides the figures."""
    own, floor = {scene.name: Figures() for scene in scenes}, {scene.name: Figures() for scene in scenes}
    with ExitStack() as stack:
        places = {
            scene.name: stack.enter_context(_scene(folder / f"scene-{number}", scene))
            for number, scene in enumerate(scenes)
        }
        for _ in range(rounds):
            for name, here in places.items():
                measure(ours(guarded=True), here, TASKS, own[name])
                _measure_floor(here, floor[name])
                _restore(here)
    starts = {workers: _git_starts(folder / f"starts-{workers}", workers) for workers in (1, PARALLEL)}
    return {
        "rows": [row for scene in scenes for row in _rows(scene.name, own[scene.name], floor[scene.name])],
        "targets": _targets(own, floor, starts),
        "remarks": [
            f"The least of {rounds} rounds of {TASKS} tasks. The floor: `git add -A && git commit` of one file.",
            f"git processes for a task: {starts[1]:.1f} serial, {starts[PARALLEL]:.1f} with --parallel {PARALLEL}.",
        ],
    }


@contextmanager
def _scene(folder: Path, scene: Scene) -> Iterator[Place]:
    """A fresh repository with the files of a scene."""
    loop = ours(guarded=True)
    with place(folder, loop, TASKS) as here:
        if scene.tracked:
            _many_files(here.repository / "tracked", scene.tracked)
            here.git("add", "-A")
            here.git("commit", "-q", "-m", "many files")
        scene.fill(here.repository)
        here.git("tag", START)
        yield here


def _restore(here: Place) -> None:
    """Restore the repository as it was before a round, without touching the files of the scene."""
    here.git("symbolic-ref", "HEAD", "refs/heads/again")
    here.git("reset", "-q", START)
    here.git("checkout", "-q", START, "--", ".")
    (here.repository / "work.txt").unlink()
    for name in (".a5c", ".ralph"):
        shutil.rmtree(here.repository / name)


def _measure_floor(here: Place, seen: Figures) -> None:
    """Commit one changed file several times; the first commit takes all untracked files and is not counted."""
    seconds = []
    for number in range(TASKS + 1):
        with (here.repository / "work.txt").open("a", encoding="ascii") as stream:
            stream.write("y\n")
        began, used = time.perf_counter(), _cpu_of_children()
        here.git("add", "-A")
        here.git("commit", "-q", "-m", str(number))
        seconds.append((time.perf_counter() - began, _cpu_of_children() - used))
    seen.gaps.append(statistics.median(wall for wall, _ in seconds[1:]))
    seen.cpu.append(statistics.mean(cpu for _, cpu in seconds[1:]))


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _git_starts(folder: Path, workers: int) -> float:
    """The number of git processes for each task."""
    few, many = (_count_starts(folder / str(tasks), workers, tasks) for tasks in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def _count_starts(folder: Path, workers: int, tasks: int) -> int:
    wrapped, log = folder / "wrapped", folder / "log"
    wrapped.mkdir(parents=True)
    git = shutil.which("git")
    assert git is not None, "the repository was cloned with it"
    program = wrapped / "git"
    program.write_text(f"#!/bin/sh\necho \"$*\" >>'{log}'\nexec '{git}' \"$@\"\n", encoding="utf-8")
    program.chmod(0o700)
    loop = ours(guarded=True)
    more = ("--parallel", str(workers)) if workers > 1 else ()
    loop = replace(loop, argv=(*loop.argv, *more), path=(str(wrapped),))
    with place(folder / "scene", loop, tasks, starts=folder / "starts") as here:
        agent = here.folder / "bin" / "claude"  # parallel agents must not change the same file
        agent.write_text(agent.read_text(encoding="utf-8").replace("work.txt", "work-$$.txt"), encoding="utf-8")
        log.unlink(missing_ok=True)  # what making the scene took
        run_to_end(loop, here)
    return len(log.read_text(encoding="utf-8", errors="replace").splitlines())


def _rows(name: str, own: Figures, floor: Figures) -> list[dict[str, Any]]:
    return [
        {
            "tree": name,
            "program": program,
            "wall ms": round(1000 * min(figures.gaps), 1),
            "median of rounds": round(1000 * statistics.median(figures.gaps), 1),
            "CPU ms": round(1000 * min(figures.cpu), 1),
            "x git's wall": round(min(figures.gaps) / min(floor.gaps), 2),
            "x git's CPU": round(min(figures.cpu) / min(floor.cpu), 2),
        }
        for program, figures in (("bridle", own), ("git add, git commit", floor))
    ]


def _targets(own: dict[str, Figures], floor: dict[str, Figures], starts: dict[int, float]) -> list[Target]:
    def under(claim: str, found: float, wanted: float) -> Target:
        return Target(claim=claim, found=found, wanted=wanted, at_least=False)

    claim = f"git processes of a task with --parallel {PARALLEL}"
    targets = [Target(claim=claim, found=starts[PARALLEL], wanted=PARALLEL_STARTS, at_least=False, unit="")]
    if MANY_TRACKED in own:
        ratio = min(own[MANY_TRACKED].cpu) / min(floor[MANY_TRACKED].cpu)
        targets.append(under(f"{MANY_TRACKED}: CPU against git", ratio, TRACKED_FACTOR))
    if SMALL in own and LARGE_UNTRACKED in own:
        ratio = min(own[LARGE_UNTRACKED].cpu) / min(own[SMALL].cpu)
        targets.append(under(f"{LARGE_UNTRACKED}: CPU against the small tree", ratio, SIZE_FACTOR))
    if MANY_UNTRACKED in own:
        ratio = min(own[MANY_UNTRACKED].cpu) / min(floor[MANY_UNTRACKED].cpu)
        targets.append(under(f"{MANY_UNTRACKED}: CPU against git", ratio, UNTRACKED_FACTOR))
    return targets
