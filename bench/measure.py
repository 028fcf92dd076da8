"""Measurements side by side: each row in a process of its own, round after round, the best of each kept."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORKER = ROOT / "bench" / "worker.py"
CACHE = ROOT / ".cache"
# A peer that hangs must not hang the benchmark; the slowest row takes a few seconds on a busy machine.
LIMIT_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is measured, and by which interpreter."""

    name: str
    work: str
    python: Path = Path(sys.executable)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The best that a row reached: the least CPU time, the least peak memory."""

    cpu_seconds: float
    peak_bytes: int
    events: int

    def best(self, other: Figures | None) -> Figures:
        """The better of two rounds, figure by figure."""
        if other is None:
            return self
        assert self.events == other.events, "two rounds of the same work saw different events"
        return Figures(
            cpu_seconds=min(self.cpu_seconds, other.cpu_seconds),
            peak_bytes=min(self.peak_bytes, other.peak_bytes),
            events=self.events,
        )


@dataclass(frozen=True, kw_only=True)
class Target:
    """A promise about the figures, and what came of it."""

    claim: str
    found: float
    wanted: float
    at_least: bool = True
    unit: str = "x"

    @property
    def holds(self) -> bool:
        """Whether the promise was kept."""
        return self.found >= self.wanted if self.at_least else self.found < self.wanted


def peer_python(peer: str) -> Path:
    """The interpreter of a peer's own environment, which `make bench` creates."""
    return CACHE / f"venv-bench-{peer}" / "bin" / "python"


def side_by_side(rows: list[Row], data: Path, *, rounds: int) -> dict[str, Figures]:
    """Measure every row once a round, so that a busy moment of the machine hits them all."""
    best: dict[str, Figures] = {}
    for _ in range(rounds):
        for row in rows:
            best[row.name] = _once(row, data).best(best.get(row.name))
    return best


def _once(row: Row, data: Path) -> Figures:
    command = [str(row.python), str(WORKER), row.work, str(data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{row.name} failed on {data.name}:\n{done.stderr}")
    return Figures(**json.loads(done.stdout.splitlines()[-1]))
