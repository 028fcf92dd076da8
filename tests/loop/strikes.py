"""Kills a run at chosen moments, with all that it has started, and sees in its journal what was under way."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tests.fixtures.bridle_program import BRIDLE
from tests.loop.loops import LIMIT_SECONDS, Loop

MARK = "BRIDLE_UNDER_FIRE"
# Moments that are in no effect: while a new Bridle finds its way, and between the end of one effect and the next.
STARTING = "starting"
BETWEEN = "between"
ANY = "any"
OUTPUT = "said.txt"
# What happens in every task, and what happens once or twice in a run.
OFTEN = ("bridle.work", "bridle.protect", "bridle.check", "bridle.commit", BETWEEN, STARTING)
SELDOM = ("bridle.prepare", "bridle.rollback")
# A Bridle that has just been started is at work on the journal after about this time.
_STARTING_SECONDS = 0.4
# How long an effect takes of which none has ended yet.
_UNKNOWN_SECONDS = 0.01
_POLL_SECONDS = 0.003


@dataclass
class Journal:
    """What is known of a run's journal; each entry is read once."""

    runs: Path
    seen: set[str] = field(default_factory=set)
    under_way: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    commits: int = 0

    def news(self) -> list[str]:
        """Read what is new: the kinds of effects that were begun, and `between` for each that has ended."""
        happened: list[str] = []
        for path in sorted(self.runs.glob("*/journal/*.json")):
            if path.name in self.seen:
                continue
            self.seen.add(path.name)
            entry = json.loads(path.read_text())
            at, data = datetime.fromisoformat(entry["recordedAt"]), entry["data"]
            if entry["type"] == "BRIDLE_EFFECT_STARTED":
                self.under_way[data["effectId"]] = (data["kind"], at)
                happened.append(data["kind"])
            elif entry["type"] == "EFFECT_RESOLVED" and data["effectId"] in self.under_way:
                kind, began = self.under_way.pop(data["effectId"])
                self.seconds.setdefault(kind, []).append((at - began).total_seconds())
                self.commits += kind == "bridle.commit"
                happened.append(BETWEEN)
        return happened

    def usual_seconds(self, kind: str) -> float:
        """How long effects of a kind take."""
        return statistics.median(self.seconds.get(kind) or [_UNKNOWN_SECONDS])


@dataclass
class Fire:
    """A run under fire."""

    here: Loop
    chance: random.Random
    journal: Journal
    struck: list[str] = field(default_factory=list)
    """What was under way, for each kill that ended a Bridle which was alive."""

    def start(self) -> subprocess.Popen[bytes]:
        """Begin the run, or go on with it."""
        there = any(self.journal.runs.glob("*/run.json"))
        with (self.here.beside / OUTPUT).open("ab") as output:
            return subprocess.Popen(
                [str(BRIDLE), *(("resume",) if there else ("run", "PLAN.md"))],
                cwd=self.here.folder,
                env=self.here.environment(**{MARK: str(self.here.folder)}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def said(self) -> str:
        """The last that any of them said."""
        return (self.here.beside / OUTPUT).read_text(errors="replace")[-3000:]

    def strike(self, target: str) -> bool:
        """Start a Bridle, and kill everything once the target has come and a little more; False where it ended."""
        child = self.start()
        if target == STARTING:
            child_ended = self._ends_within(child, self.chance.uniform(0, _STARTING_SECONDS))
        else:
            child_ended = self._ends_before(child, target)
        kill_everything(child, str(self.here.folder))
        if child_ended or child.returncode != -signal.SIGKILL:
            return False
        self.journal.news()
        self.struck += [kind for kind, _ in self.journal.under_way.values()] or [BETWEEN]
        if target == STARTING:
            self.struck[-1] = STARTING
        return True

    def _ends_before(self, child: subprocess.Popen[bytes], target: str) -> bool:
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            for kind in sorted(self.journal.news(), key=self._is_missing, reverse=True):
                if target in (kind, ANY) or self._is_missing(kind):
                    wait = 0.0 if kind == BETWEEN else self.chance.random() * self.journal.usual_seconds(kind)
                    return self._ends_within(child, wait)
            if child.poll() is not None:
                return True
            assert time.monotonic() < deadline, "the journal does not grow"
            time.sleep(_POLL_SECONDS)

    def _is_missing(self, kind: str) -> bool:
        """Whether this is the chance to strike something that does not come often."""
        return kind in SELDOM and kind not in self.struck

    def _ends_within(self, child: subprocess.Popen[bytes], seconds: float) -> bool:
        """Let it go on for so long; True where it ends by itself before that."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
        return child.poll() is not None


def kill_everything(child: subprocess.Popen[bytes], mark: str) -> None:
    """SIGKILL for a Bridle and everything with its mark; it is stopped first, so that it starts nothing more."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGSTOP)
    deadline = time.monotonic() + LIMIT_SECONDS
    while marked := _processes(mark) - {child.pid}:
        assert time.monotonic() < deadline, f"{marked} cannot be killed"
        for pid in marked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    child.kill()
    child.wait(LIMIT_SECONDS)


def _processes(mark: str) -> set[int]:
    """Whatever has the mark in its environment; one that has ended has none."""
    words = f"{MARK}={mark}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and words in (entry / "environ").read_bytes().split(b"\0"):
                found.add(int(entry.name))
    return found
