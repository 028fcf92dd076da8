"""What many agents cost side by side: sessions that are open at once, of bridle-agent and of the real Claude Code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.agent_layer import MEBIBYTE, OURS, REAL, Place, scene
from bench.measure import Target
from tests.real.fixtures.installed_programs import claude_program

AGENTS = 20
STREAM = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]

SMALLER = 5.0
CHEAPER = 3.0


REMARK = (
    f"{AGENTS} sessions over stream-json, all open at once; each answers one prompt. Memory is the proportional set"
    " size after the last answer, CPU that of the whole sessions"
)


@dataclass(frozen=True)
class Together:
    """What all agents of one program used."""

    ready_seconds: float
    """Until each has answered its first prompt."""
    memory_bytes: int
    """Of all of them at that moment; memory that they share counts once."""
    cpu_seconds: float


def run() -> dict[str, Any]:
    """Measure both programs, one after the other."""
    programs = {OURS: Path(sys.executable).parent / "bridle-agent", REAL: claude_program()}
    found = {name: _together(program) for name, program in programs.items()}
    ours, real = found[OURS], found[REAL]
    return {
        "rows": [_row(name, together) for name, together in found.items()],
        "targets": [
            Target(
                claim=f"memory of {AGENTS} agents, real against ours",
                found=real.memory_bytes / ours.memory_bytes,
                wanted=SMALLER,
            ),
            Target(
                claim=f"CPU of {AGENTS} agents, real against ours",
                found=real.cpu_seconds / ours.cpu_seconds,
                wanted=CHEAPER,
            ),
        ],
        "remarks": [REMARK],
    }


def _together(program: Path) -> Together:
    with ExitStack() as stack:
        place = stack.enter_context(scene([{"blocks": ["hello"], "times": "forever"}]))
        started = time.perf_counter()
        agents = [_start(program, place) for _ in range(AGENTS)]
        try:
            for agent in agents:
                _await_result(agent)
            ready = time.perf_counter() - started
            memory = sum(_memory(agent.pid) for agent in agents)
            cpu = sum(_end(agent) for agent in agents)
        finally:
            for agent in agents:
                if agent.returncode is None:
                    agent.kill()
        return Together(ready, memory, cpu)


def _start(program: Path, place: Place) -> subprocess.Popen[bytes]:
    agent = subprocess.Popen(
        [str(program), *STREAM],
        cwd=place.folder,
        env=place.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert agent.stdin is not None  # for the type checker: it was asked for
    prompt = {"type": "user", "message": {"role": "user", "content": "hi"}}
    agent.stdin.write(json.dumps(prompt).encode() + b"\n")
    agent.stdin.flush()
    return agent


def _await_result(agent: subprocess.Popen[bytes]) -> None:
    assert agent.stdout is not None  # for the type checker: it was asked for
    for line in agent.stdout:
        event = json.loads(line)
        if event["type"] == "result":
            if event["is_error"]:
                raise RuntimeError(f"an agent failed: {line[-500:]!r}")
            return
    raise RuntimeError("an agent ended without a result")


def _memory(pid: int) -> int:
    """Return the proportional set size of a process and its descendants in bytes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    own = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return own + sum(_memory(int(child)) for child in children)


def _end(agent: subprocess.Popen[bytes]) -> float:
    """Close the input and wait for the end; return the CPU time of the session."""
    assert agent.stdin is not None  # for the type checker: both were asked for
    assert agent.stdout is not None
    agent.stdin.close()
    agent.stdout.read()
    agent.stdout.close()
    _, status, usage = os.wait4(agent.pid, 0)
    agent.returncode = os.waitstatus_to_exitcode(status)
    if agent.returncode != 0:
        raise RuntimeError(f"an agent ended with {agent.returncode}")
    return usage.ru_utime + usage.ru_stime


def _row(name: str, together: Together) -> dict[str, Any]:
    return {
        "program": name,
        "agents": AGENTS,
        "all have answered, s": round(together.ready_seconds, 1),
        "memory MiB": round(together.memory_bytes / MEBIBYTE),
        "memory of each MiB": round(together.memory_bytes / MEBIBYTE / AGENTS, 1),
        "CPU s": round(together.cpu_seconds, 1),
    }
