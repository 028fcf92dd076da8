"""What the sandbox costs at a start: `true` as a check and as an agent, with it, without it, and in bwrap alone.

All three start the same program through the same shell. That of bwrap alone has the same options, built once: what is
left is what Bridle adds, which is to look at the home and at `.git`, and to build the options.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import CACHE, LIMIT_SECONDS, Target
from bridle.ground.children.capture import capture
from bridle.run.isolation.choose_sandbox import choose_sandbox
from bridle.run.isolation.sandbox_rules import BWRAP, ChosenSandbox, SandboxRules
from bridle.run.isolation.sandbox_session import enter_sandbox, variables_in

STARTS = 40
WITHOUT, WITH, ALONE = "without a sandbox", "in the sandbox", "bwrap alone, same options"
DIALECTS = {"a check": None, "an agent": "claude"}
ARGV = ("/bin/sh", "-c", "true")
# Bridle's own part beside bwrap, and the whole beside a start without a sandbox.
OWN_FACTOR = 3.0
WHOLE_FACTOR = 6.0


def run() -> dict[str, Any]:
    """Measure; the result holds rows for a table, targets, and remarks."""
    chosen = choose_sandbox(SandboxRules(), os.environ)
    if chosen.name != BWRAP:
        return {"rows": [{"start": WITH, "wall ms": "not measured"}], "targets": [], "remarks": [chosen.reason]}
    (CACHE / "bench").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sandbox-", dir=CACHE / "bench") as work:
        subprocess.run(["git", "init", "-q", work], check=True, timeout=LIMIT_SECONDS)
        found = {what: _measure(Path(work), chosen, agent) for what, agent in DIALECTS.items()}
    return {
        "rows": [_row(what, way, seconds, found[what]) for what in found for way, seconds in found[what].items()],
        "targets": [target for what, ways in found.items() for target in _targets(what, ways)],
        "remarks": [f"The median of {STARTS} starts of `true`, one after the other in turn."],
    }


def _measure(work: Path, chosen: ChosenSandbox, agent: str | None) -> dict[str, float]:
    ways: dict[str, Callable[[], None]] = {
        WITHOUT: lambda: asyncio.run(_start(work, ChosenSandbox(), agent)),
        WITH: lambda: asyncio.run(_start(work, chosen, agent)),
    }
    environment = variables_in(chosen, os.environ, agent=agent)
    with enter_sandbox(chosen, ARGV, cwd=work, environment=environment, agent=agent) as sandboxed:
        assert sandboxed.sandbox is not None
        command = [sandboxed.sandbox.program, *sandboxed.sandbox.options, "--", *ARGV]
        ways[ALONE] = lambda: _run(command, work, environment)
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(STARTS):
            for way, start in ways.items():
                began = time.perf_counter()
                start()
                seconds[way].append(time.perf_counter() - began)
    return {way: statistics.median(taken) for way, taken in seconds.items()}


async def _start(work: Path, chosen: ChosenSandbox, agent: str | None) -> None:
    environment = variables_in(chosen, os.environ, agent=agent)
    with enter_sandbox(chosen, ARGV, cwd=work, environment=environment, agent=agent) as sandboxed:
        captured = await capture(
            sandboxed.argv,
            cwd=work,
            environment=sandboxed.environment,
            limit_seconds=LIMIT_SECONDS,
            waits_for_output=False,
            sandbox=sandboxed.sandbox,
        )
        sandboxed.check_started(captured.exit_code, captured.stderr)
    assert captured.exit_code == 0, captured.stderr


def _run(command: list[str], work: Path, environment: dict[str, str]) -> None:
    subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, check=True, timeout=LIMIT_SECONDS)


def _row(what: str, way: str, seconds: float, ways: dict[str, float]) -> dict[str, Any]:
    return {
        "program": what,
        "start": way,
        "wall ms": round(1000 * seconds, 1),
        "x without": round(seconds / ways[WITHOUT], 2),
        "x bwrap": round(seconds / ways[ALONE], 2),
    }


def _targets(what: str, ways: dict[str, float]) -> list[Target]:
    return [
        Target(claim=f"{what} {WITH} against {way}", found=ways[WITH] / ways[way], wanted=wanted, at_least=False)
        for way, wanted in ((WITHOUT, WHOLE_FACTOR), (ALONE, OWN_FACTOR))
    ]
