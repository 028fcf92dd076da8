"""What the machine interface costs beside the other implementation of the run format: CPU time of whole commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure import CACHE, ROOT, Target
from bridle.ground import own_runs
from tests.journal.fixtures.sample_runs import JAVASCRIPT_PROCESS, PYTHON_PROCESS, long_run
from tests.real.fixtures.installed_programs import babysitter_program

OURS = "bridle"
THEIRS = "babysitter-sdk 0.0.187"

# Effects with results behind the run, and how often each command runs there: the least of so many is kept. Theirs
# takes ten seconds for one command at the largest size.
ROUNDS = {10: 7, 1_000: 5, 10_000: 3}
WANTED_AT_10 = 5.0
WANTED_AT_10_000 = {"task:post": 50.0, "run:iterate": 20.0}
# A hang must not hang the benchmark; the slowest command takes half a minute on a busy machine.
LIMIT_SECONDS = 600


@dataclass(frozen=True)
class Side:
    """One of the two programs, with runs of its own."""

    name: str
    program: list[str]
    process: str
    """The file of its process."""


def run() -> dict[str, Any]:
    """Measure; the result holds rows for a table, targets, and remarks."""
    (CACHE / "bench").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="journal-", dir=CACHE / "bench") as work:
        folder = Path(work)
        sides = _sides(folder)
        best: dict[tuple[str, int, str], float] = {}
        for size, rounds in ROUNDS.items():
            pending = _prepare(folder, size, rounds)
            for number in range(rounds + 1):
                for side in sides:
                    for command, words in _commands(side, folder, size, pending[number]).items():
                        seconds = _cpu_seconds(side, words, folder)
                        key = (command, size, side.name)
                        if number:  # the first of each warms the caches and is dropped
                            best[key] = min(seconds, best.get(key, seconds))
    return {"rows": _rows(best), "targets": _targets(best), "remarks": _remarks()}


def _sides(folder: Path) -> list[Side]:
    """The two programs, and a process for each where its language finds what it imports."""
    (folder / "process.py").write_text(PYTHON_PROCESS, encoding="utf-8")
    (folder / "process.mjs").write_text(JAVASCRIPT_PROCESS, encoding="utf-8")
    theirs = babysitter_program()
    (folder / "node_modules").symlink_to(theirs.parents[1])
    (folder / "home").mkdir()
    return [
        Side(OURS, [str(Path(sys.executable).parent / "bridle")], "process.py"),
        Side(THEIRS, [str(theirs)], "process.mjs"),
    ]


def _prepare(folder: Path, size: int, rounds: int) -> list[str]:
    """Create the same run for both sides; return its pending effects, one for each post and one that stays."""
    made = long_run(_runs(folder, OURS), f"n{size}", resolved=size, pending=rounds + 2, entry=folder / "process.py")
    own_runs.record(made.run, folder / "home")  # the commands have this home, and the run was made in another
    copy = _runs(folder, THEIRS) / made.run.name
    shutil.copytree(made.run, copy, copy_function=os.link)
    metadata = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    metadata["processPath"] = metadata["entrypoint"]["importPath"] = os.path.relpath(folder / "process.mjs", copy)
    (copy / "run.json").unlink()  # the link; the file itself is ours
    (copy / "run.json").write_text(json.dumps(metadata, indent=2) + "\n", encoding="utf-8")
    return made.pending


def _runs(folder: Path, side: str) -> Path:
    return folder / ("ours" if side == OURS else "theirs")


def _commands(side: Side, folder: Path, size: int, effect: str) -> dict[str, list[str]]:
    run = str(_runs(folder, side.name) / f"n{size}")
    entry = ["--process-id", "bench", "--entry", f"{folder}/{side.process}#process"]
    return {
        "run:create": ["run:create", *entry, "--runs-dir", str(folder / "created"), "--json"],
        "run:status": ["run:status", run, "--json"],
        "run:iterate": ["run:iterate", run, "--json"],
        "task:post": ["task:post", run, effect, "--status", "ok", "--value-inline", '{"done": true}', "--json"],
    }


def _cpu_seconds(side: Side, words: list[str], folder: Path) -> float:
    """The CPU time of one command and everything that it starts."""
    home = folder / "home"
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "BRIDLE_HOME": str(home)}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [*side.program, *words], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            raise SystemExit(f"{side.name} {' '.join(words)} failed:\n{errors.read().decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime


def _rows(best: dict[tuple[str, int, str], float]) -> list[dict[str, Any]]:
    return [
        {
            "command": command,
            "effects behind it": f"{size:,}",
            f"{OURS} CPU ms": round(1000 * best[command, size, OURS], 1),
            f"{THEIRS} CPU ms": round(1000 * best[command, size, THEIRS], 1),
            "x cheaper": round(_factor(best, command, size), 1),
        }
        for command in ("run:create", "run:status", "task:post", "run:iterate")
        for size in ROUNDS
    ]


def _targets(best: dict[tuple[str, int, str], float]) -> list[Target]:
    smallest, largest = min(ROUNDS), max(ROUNDS)
    commands = sorted({command for command, _, _ in best})
    return [
        *(
            Target(
                claim=f"{command} with {smallest} effects behind it",
                found=_factor(best, command, smallest),
                wanted=WANTED_AT_10,
            )
            for command in commands
        ),
        *(
            Target(
                claim=f"{command} with {largest:,} effects behind it",
                found=_factor(best, command, largest),
                wanted=wanted,
            )
            for command, wanted in WANTED_AT_10_000.items()
        ),
    ]


def _factor(best: dict[tuple[str, int, str], float], command: str, size: int) -> float:
    return best[command, size, THEIRS] / best[command, size, OURS]


def _remarks() -> list[str]:
    return [
        "CPU time (user and system) of the whole command with all that it starts; the least of",
        ", ".join(f"{rounds} at {size:,}" for size, rounds in ROUNDS.items()) + "; one more before them is dropped.",
        f"Both work on the same run, each on a copy of its own; the checkout is {ROOT.name}.",
    ]
