"""What `bridle status` costs: the CPU of it and of all that it starts, beside an interpreter that does nothing.

It is measured without a run, for a finished run, for one that waits for an answer, and for one whose agent works.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.measure import CACHE, Target
from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import Project, make_project

NOTHING = "python -c pass"
ROUNDS = 20  # the least of so many is steady within a tenth on a machine that does other things as well
WANTED_OF_NOTHING = 9.0  # 100 ms where an interpreter that does nothing takes 11
WANTED_WITH_AGENT = 10.0  # the log of the agent is read
WANTED_WITHOUT_RUN = 5.0
# A hang must not hang the benchmark; a run of two tasks takes some seconds on a busy machine.
LIMIT_SECONDS = 300.0

PLAN = "# T\n\n## One\nCheck: `test -f One`\n\n## Two\nCheck: `test -f Two`\n"
MAKES_FILE = "open(task, 'w').close()"
ASKS = "answer = {**answer, 'done': False, 'question': 'which?'}"
WAITS = f"if task == 'Two': time.sleep({LIMIT_SECONDS * 4})\n{MAKES_FILE}"
NONE, DONE, QUESTION, RUNNING = "no run", "a finished run", "a run that waits for an answer", "a run whose agent works"
AGENTS = {NONE: "", DONE: MAKES_FILE, QUESTION: ASKS, RUNNING: WAITS}


def run() -> dict[str, Any]:
    """Measure; the result holds rows for a table, targets, and remarks."""
    (CACHE / "bench").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="status-", dir=CACHE / "bench") as work:
        folder = Path(work)
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        variables |= {"HOME": work, "BRIDLE_HOME": f"{work}/home"}
        projects = {
            name: make_project(folder / str(number), PLAN, agent) for number, (name, agent) in enumerate(AGENTS.items())
        }
        for name in (DONE, QUESTION):
            projects[name].bridle("run", "PLAN.md", "--sandbox", "off", **variables)
        with _running(projects[RUNNING], variables):
            return _measured(projects, variables)


def _measured(projects: dict[str, Project], variables: dict[str, str]) -> dict[str, Any]:
    commands = {
        (name, form): ([str(BRIDLE), "status", *options], project.folder)
        for name, project in projects.items()
        for form, options in (("words", ()), ("--json", ("--json",)))
    }
    found = dict.fromkeys(commands, float("inf"))
    nothing = float("inf")
    for number in range(ROUNDS + 1):
        least = _cpu_seconds([sys.executable, "-c", "pass"], Path.cwd(), variables)
        nothing = min(nothing, least) if number else nothing  # the first of each warms the caches and is dropped
        for key, (command, folder) in commands.items():
            seconds = _cpu_seconds(command, folder, variables)
            found[key] = min(found[key], seconds) if number else found[key]
    rows = [
        {
            "status of": name,
            "form": form,
            "CPU ms": round(1000 * seconds, 1),
            f"x {NOTHING}": round(seconds / nothing, 2),
        }
        for (name, form), seconds in found.items()
    ]
    targets = [
        Target(
            claim=f"{name}, {form}: CPU of {NOTHING}",
            found=seconds / nothing,
            wanted={NONE: WANTED_WITHOUT_RUN, RUNNING: WANTED_WITH_AGENT}.get(name, WANTED_OF_NOTHING),
            at_least=False,
        )
        for (name, form), seconds in found.items()
    ]
    return {
        "rows": [*rows, {"status of": NOTHING, "form": "", "CPU ms": round(1000 * nothing, 1), f"x {NOTHING}": 1.0}],
        "targets": targets,
        "remarks": [
            f"The least of {ROUNDS}; one more before them is dropped. CPU of the program with all that it starts."
        ],
    }


@contextmanager
def _running(project: Project, variables: dict[str, str]) -> Iterator[None]:
    """Drive a run until its second agent works, and stop it at the end."""
    driver = subprocess.Popen(
        [str(BRIDLE), "run", "PLAN.md", "--sandbox", "off"],
        cwd=project.folder,
        env=project.environment(**variables),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not _is_at_work(project, variables):
            if driver.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the second agent of the run did not start")
            time.sleep(0.2)
        yield
    finally:
        driver.send_signal(signal.SIGINT)
        driver.wait(LIMIT_SECONDS)


def _is_at_work(project: Project, variables: dict[str, str]) -> bool:
    shown = project.bridle("status", "--json", **variables)
    return shown.returncode == 0 and "at_work" in json.loads(shown.stdout) and len(project.calls()) == 2


def _cpu_seconds(command: list[str], folder: Path, variables: dict[str, str]) -> float:
    """Run a command to its end; return the CPU of it and of what it started."""
    process = subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime
