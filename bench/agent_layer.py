"""What bridle-agent costs beside the real Claude Code: the same command lines against the same scripted model."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.measure import Target
from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.real.fixtures.installed_programs import claude_program

OURS, REAL = "bridle-agent", "claude 2.1.197"
ROUNDS = 7
TOOL_TURNS = 40
# A start takes about a second; forty tool turns take a few.
LIMIT_SECONDS = 120
FLAGS = ["-p", "--output-format", "stream-json", "--verbose"]
MEBIBYTE = 1024 * 1024

FASTER_TO_INIT = 5.0
CHEAPER = 4.0
SMALLER = 4.0


@dataclass
class Seen:
    """The figures of one program over all rounds."""

    init: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    tools_wall: list[float] = field(default_factory=list)
    tools_cpu: list[float] = field(default_factory=list)
    version: list[float] = field(default_factory=list)


def run() -> dict[str, Any]:
    """Measure both, round by round, one after the other."""
    programs = {OURS: Path(sys.executable).parent / "bridle-agent", REAL: claude_program()}
    seen = {name: Seen() for name in programs}
    for round_number in range(ROUNDS + 1):
        for name, program in programs.items():
            found = _measured(program)
            if round_number:  # the first round warms the caches of the machine
                _add(seen[name], found)
    rows = [_row(name, figures) for name, figures in seen.items()]
    return {"rows": rows, "targets": _targets(seen[OURS], seen[REAL]), "remarks": [_remark()]}


def _measured(program: Path) -> dict[str, Any]:
    hello = {"blocks": ["hello"], "times": "forever"}
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "true"}}
    calls = {"blocks": [call], "times": TOOL_TURNS}
    with scene([hello]) as place:
        one = _child([str(program), *FLAGS, "hi"], place)
        peak = _peak([str(program), *FLAGS, "hi"], place)
    with scene([calls, hello]) as place:
        many = _child([str(program), *FLAGS, "hi", "--allowedTools", "Bash"], place)
    with scene([hello]) as place:
        version = _child([str(program), "--version"], place)
    return {"one": one, "many": many, "version": version, "peak": peak}


def _add(seen: Seen, found: dict[str, Any]) -> None:
    one, many = found["one"], found["many"]
    seen.init.append(one["first_line"])
    seen.wall.append(one["wall"])
    seen.cpu.append(one["cpu"])
    seen.peak.append(found["peak"])
    seen.tools_wall.append((many["wall"] - one["wall"]) / TOOL_TURNS)
    seen.tools_cpu.append((many["cpu"] - one["cpu"]) / TOOL_TURNS)
    seen.version.append(found["version"]["cpu"])


@dataclass(frozen=True)
class Place:
    """Where a program runs: alone with its model."""

    folder: Path
    environment: dict[str, str]


@contextmanager
def scene(answers: list[dict[str, Any]]) -> Iterator[Place]:
    """Set up a place with a model of these answers."""
    with tempfile.TemporaryDirectory() as name, running(load_script({"answers": answers})) as stage:
        folder = Path(name)
        workspace = folder / "workspace"
        for path in (folder / "tmp", workspace):
            path.mkdir()
        subprocess.run(["git", "init", "-q", str(workspace)], check=True, timeout=LIMIT_SECONDS)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": name,
            "TMPDIR": str(folder / "tmp"),
            "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
            "ANTHROPIC_API_KEY": "dummy",
            "ANTHROPIC_BASE_URL": stage.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        yield Place(workspace, environment)


def _child(argv: list[str], place: Place) -> dict[str, Any]:
    """Run a program to its end: when its first line came, and the time that it and its children used."""
    started = time.perf_counter()
    process = subprocess.Popen(
        argv, cwd=place.folder, env=place.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert process.stdout is not None  # for the type checker: it was asked for
    first = process.stdout.readline()
    first_line = time.perf_counter() - started
    rest = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or (argv[-1] != "--version" and not _is_done(first + rest)):
        raise RuntimeError(f"{argv[0]} ended with {process.returncode}: {(first + rest)[-500:]!r}")
    return {
        "first_line": first_line,
        "wall": time.perf_counter() - started,
        "cpu": usage.ru_utime + usage.ru_stime,
    }


# A child's ru_maxrss starts at the size of the process that forked it: a process this small starts the program.
_LAUNCHER = """
import os, sys
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def _peak(argv: list[str], place: Place) -> int:
    """Return the largest resident size of a program in bytes."""
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *argv],
        cwd=place.folder,
        env=place.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=LIMIT_SECONDS,
    )
    return int(ended.stderr.splitlines()[-1]) * 1024


def _is_done(output: bytes) -> bool:
    last = json.loads(output.splitlines()[-1])
    return last["type"] == "result" and last["is_error"] is False


def _row(name: str, seen: Seen) -> dict[str, Any]:
    return {
        "program": name,
        "init ms": round(1000 * statistics.median(seen.init)),
        "one turn, wall ms": round(1000 * statistics.median(seen.wall)),
        "one turn, CPU ms": round(1000 * statistics.median(seen.cpu)),
        "peak MiB": round(statistics.median(seen.peak) / MEBIBYTE),
        "tool turn, wall ms": round(1000 * statistics.median(seen.tools_wall), 1),
        "tool turn, CPU ms": round(1000 * statistics.median(seen.tools_cpu), 1),
        "--version, CPU ms": round(1000 * statistics.median(seen.version)),
    }


def _targets(ours: Seen, real: Seen) -> list[Target]:
    def factor(of_real: list[float] | list[int], of_ours: list[float] | list[int]) -> float:
        return statistics.median(of_real) / statistics.median(of_ours)

    return [
        Target(claim="time to init, real against ours", found=factor(real.init, ours.init), wanted=FASTER_TO_INIT),
        Target(claim="CPU of a one-turn run, real against ours", found=factor(real.cpu, ours.cpu), wanted=CHEAPER),
        Target(claim="peak memory, real against ours", found=factor(real.peak, ours.peak), wanted=SMALLER),
        Target(
            claim="wall time of a tool turn, real against ours",
            found=factor(real.tools_wall, ours.tools_wall),
            wanted=1.0,
        ),
        Target(claim="CPU of a tool turn, real against ours", found=factor(real.tools_cpu, ours.tools_cpu), wanted=1.0),
    ]


def _remark() -> str:
    return (
        f"medians of {ROUNDS} rounds, both programs in each; a tool turn is one Bash call (`true`) and its answer, "
        f"from {TOOL_TURNS} of them less a run without; CPU is of the program and the children it waited for"
    )
