"""Programs that run a loop of agents, each in a scene of its own, and the moments at which they start their agents.

The agent is the same for all: a shell script of a few builtin commands, under the name that they look for. It writes
a letter into a pipe when it starts, and says at once what each of them takes for the end of a task.
"""

from __future__ import annotations

import json
import os
import stat
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench import cpu
from tools.real_parts import PEERS, PartMissing, cache_folder, ensure, pinned_parts

# A loop of some dozen iterations takes seconds; one that hangs must not hang the benchmark.
LIMIT_SECONDS = 300
# Nothing listens there: whatever a program would fetch, it does not get.
NOWHERE = "http://127.0.0.1:9"
# Iterations that are compared in a long run, and the end of the first of them.
WINDOW = 40
EARLY_END = 60
DATE = "2026-01-01T00:00:00Z"
SESSION = "11111111-1111-4111-8111-111111111111"
# One of the short price list: the first one that is not there costs the import of a library, once in a run.
MODEL = "claude-haiku-4-5"
LAST_WORDS = "<promise>COMPLETE</promise>"
ANSWER = {"summary": "DONE", "done": True, "question": "", "patterns": []}
LINES: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": SESSION, "tools": [], "model": MODEL},
    {
        "type": "assistant",
        "session_id": SESSION,
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [{"type": "text", "text": LAST_WORDS}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 1,
        "num_turns": 1,
        "result": LAST_WORDS,
        "session_id": SESSION,
        "total_cost_usd": 0.01,
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "structured_output": ANSWER,
        "permission_denials": [],
    },
]


@dataclass(frozen=True)
class Loop:
    """A program that runs a loop, and how it is started."""

    name: str
    argv: tuple[str, ...]
    plan: Callable[[list[str]], dict[str, str]]
    """The files that it reads its tasks from."""
    writes: bool = False
    """Whether its agent changes a file, so that there is something to commit."""
    path: tuple[str, ...] = ()
    """Folders that come first on its PATH."""


@dataclass
class Figures:
    """What was seen of one program, over all rounds."""

    gaps: list[float] = field(default_factory=list)
    """Seconds between two starts, the median of each round."""
    cpu: list[float] = field(default_factory=list)
    """Seconds of CPU for an iteration, one for each round."""
    early: float = 0.0
    late: float = 0.0
    """Of a long run: seconds of CPU for each of the iterations behind the first twenty, and of the last."""


@dataclass(frozen=True)
class Place:
    """Where a program runs: a repository, a home and a PATH of its own."""

    folder: Path
    repository: Path
    environment: dict[str, str]
    starts: Path
    base: str
    """The commit that is there at first; the same id for the same files."""

    def git(self, *words: str) -> str:
        """What git says about the repository."""
        return _git(self.repository, self.environment, *words)


def agent_script(starts: Path, *, writes: bool) -> str:
    """The agent; `$1` of a program that only asks for the version is `--version`."""
    words = "\n".join(json.dumps(line, separators=(",", ":")) for line in LINES)
    change = "echo x >>work.txt\n" if writes else ""
    return (
        '#!/bin/sh\ncase "$1" in --version) echo "2.1.197 (Claude Code)"; exit 0;; esac\n'
        f"echo A >>'{starts}'\n{change}echo '{words}'\n"
    )


@contextmanager
def place(folder: Path, loop: Loop, tasks: int, *, starts: Path | None = None) -> Iterator[Place]:
    """A fresh scene with so many tasks; the starts go into a pipe, unless another file is named."""
    programs, repository, home = folder / "bin", folder / "repository", folder / "home"
    for path in (programs, repository, home):
        path.mkdir(parents=True)
    pipe = starts or folder / "starts"
    if starts is None:
        os.mkfifo(pipe)
    agent = programs / "claude"
    agent.write_text(agent_script(pipe, writes=loop.writes), encoding="utf-8")
    agent.chmod(stat.S_IRWXU)
    for name, text in loop.plan([f"Task {number}" for number in range(1, tasks + 1)]).items():
        (repository / name).write_text(text, encoding="utf-8")
    environment = {
        "PATH": os.pathsep.join([*loop.path, str(programs), os.environ["PATH"]]),
        "HOME": str(home),
        "BRIDLE_HOME": str(home / "bridle"),
        # The fake agent writes to a pipe beside the repository, and no peer has a sandbox.
        "BRIDLE_SANDBOX": "off",
        "GIT_CONFIG_NOSYSTEM": "1",
        "TERM": "dumb",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), NOWHERE),
    }
    dates = {"GIT_AUTHOR_DATE": DATE, "GIT_COMMITTER_DATE": DATE}
    _git(repository, environment, "init", "-q")
    _git(repository, environment, "config", "user.name", "Bench")
    _git(repository, environment, "config", "user.email", "bench@localhost")
    _git(repository, environment, "add", "-A")
    _git(repository, environment | dates, "commit", "-q", "-m", "start")
    yield Place(folder, repository, environment, pipe, _git(repository, environment, "rev-parse", "HEAD"))


def _git(repository: Path, environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        ["git", *words],
        cwd=repository,
        env=environment,
        check=True,
        timeout=LIMIT_SECONDS,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def measure(loop: Loop, here: Place, tasks: int, seen: Figures) -> None:
    """Run a program to its end and note what was seen of it; fewer starts than tasks are a failure."""
    starts = Starts(here.starts)
    with cpu.group() as group, (here.folder / "output").open("wb") as output:
        process = subprocess.Popen(
            group.wrap(loop.argv),
            cwd=here.repository,
            env=here.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            starts.watch(lambda: group.seconds(process.pid), tasks)
            process.wait(LIMIT_SECONDS)
        finally:
            process.kill()
            process.wait(LIMIT_SECONDS)
            starts.close()
    if len(starts.moments) != tasks:
        said = (here.folder / "output").read_text(encoding="utf-8", errors="replace")[-2000:]
        raise LoopFailed(f"{loop.name} started {len(starts.moments)} agents for {tasks} tasks:\n{said}")
    seen.gaps.append(statistics.median(gaps_of(starts.moments)))
    seen.cpu.append((starts.cpu[tasks] - starts.cpu[1]) / (tasks - 1))
    if tasks > EARLY_END + WINDOW:
        seen.early = (starts.cpu[EARLY_END] - starts.cpu[EARLY_END - WINDOW]) / WINDOW
        seen.late = (starts.cpu[tasks] - starts.cpu[tasks - WINDOW]) / WINDOW


def run_to_end(loop: Loop, here: Place) -> None:
    """Run a program to its end without measuring it."""
    done = subprocess.run(
        loop.argv,
        cwd=here.repository,
        env=here.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    if done.returncode not in (0, 1):  # 1: nothing verifies tasks without a check
        raise LoopFailed(f"{loop.name} ended with {done.returncode}:\n{(done.stdout + done.stderr).decode()[-2000:]}")


class LoopFailed(Exception):
    """A program did not do its tasks; the message says which and what it printed."""


def gaps_of(moments: list[float]) -> list[float]:
    """The seconds between each start and the next."""
    return [after - before for before, after in pairwise(moments)]


class Starts:
    """Reads the pipe that agents write to when they start, and looks at the clock and at the CPU time used."""

    def __init__(self, pipe: Path) -> None:
        self.moments: list[float] = []
        self.cpu: dict[int, float] = {}
        """The CPU seconds that were used when some of them started, by their number."""
        self._fd = os.open(pipe, os.O_RDWR)  # for writing, too: so that it does not end with the first agent
        self._thread: threading.Thread | None = None

    def watch(self, used: Callable[[], float], wanted: int) -> None:
        """Note what comes, until it was so many; `used` tells the CPU seconds so far."""
        self._thread = threading.Thread(target=self._read, args=(used, wanted), daemon=True)
        self._thread.start()

    def _read(self, used: Callable[[], float], wanted: int) -> None:
        while data := os.read(self._fd, 4096):
            moment = time.perf_counter()
            letters = data.count(b"A")
            if b"Z" in data:
                return
            for _ in range(letters):  # two at once where this thread had to wait for its turn
                self.moments.append(moment)
                if len(self.moments) in (1, EARLY_END - WINDOW, EARLY_END, wanted - WINDOW, wanted):
                    self.cpu[len(self.moments)] = used()

    def close(self) -> None:
        """Stop reading."""
        os.write(self._fd, b"Z")
        if self._thread is not None:
            self._thread.join(LIMIT_SECONDS)
        os.close(self._fd)


# Who is measured


def ours(*, guarded: bool) -> Loop:
    """Bridle: without checks and commits, or with the guard `true` and a commit for each task."""

    def plan(tasks: list[str]) -> dict[str, str]:
        checks = "Checks:\n- `true`\n\n" if guarded else ""
        body = "".join(f"## {title}\n\nDo it.\n\n" for title in tasks)
        return {"PLAN.md": f"# Plan\n\n{checks}{body}", "bridle.toml": f"summarize_every = {len(tasks) + 1}\n"}

    program = str(Path(sys.executable).parent / "bridle")
    return Loop("bridle", (program, "run", "PLAN.md", "--max-iterations", "1000"), plan, writes=guarded)


def peers() -> tuple[list[Loop], list[str]]:
    """The peers that can be had, installed if need be, and why others cannot."""
    known = {"ralphy": _ralphy, "ralph-tui": _ralph_tui}
    found: list[Loop] = []
    reasons: list[str] = []
    for part in pinned_parts(PEERS):
        try:
            cache = cache_folder(dict(os.environ))
            ensure(part, cache)
        except PartMissing as missing:
            reasons.append(f"{part.package} {part.version} was not measured, as it cannot be had here: {missing}")
        else:
            found.append(known[part.name](part.executable(part.folder(cache)), part.version))
    return found, reasons


def _ralphy(program: Path, version: str) -> Loop:
    def plan(tasks: list[str]) -> dict[str, str]:
        return {"PRD.md": "# Plan\n\n" + "".join(f"- [ ] {title}\n" for title in tasks)}

    words = ("--prd", "PRD.md", "--claude", "--fast", "--no-commit", "--max-retries", "0", "--retry-delay", "0")
    return Loop(f"ralphy-cli {version}", (str(program), *words), plan)


def _ralph_tui(program: Path, version: str) -> Loop:
    def plan(tasks: list[str]) -> dict[str, str]:
        stories = [
            {
                "id": f"US-{number:03}",
                "title": title,
                "description": title,
                "acceptanceCriteria": ["It is done"],
                "priority": number,
                "passes": False,
            }
            for number, title in enumerate(tasks, 1)
        ]
        document = {"name": "plan", "branchName": "plan", "description": "plan", "userStories": stories}
        return {"prd.json": json.dumps(document)}

    words = ("run", "--prd", "./prd.json", "--agent", "claude", "--headless", "--no-setup", "--serial")
    quick = ("--delay", "0", "--iterations", "0", "--no-notify", "--no-sandbox")
    # Its first line names bun, which is installed beside it.
    return Loop(f"ralph-tui {version}", (str(program), *words, *quick), plan, path=(str(program.parent),))
