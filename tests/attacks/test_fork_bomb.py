"""Attack: an agent or a check starts processes without end, so that the machine stops.

A supervisor counts what an agent or a check has started, once a second, and kills all of it above a limit (4,096, or
`max_processes`). It is no limit of the kernel: many processes can be started before the next count. If memory runs
out, the kernel ends what they have started first.

With the sandbox: ended, all at once.
Without: ended.
Reported: in the output of the check, and as the end of the agent.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from msgspec.structs import replace

from bridle.loop.checks.run_check import run_check
from bridle.loop.effects import Check
from bridle.run.isolation.choose_sandbox import choose_sandbox
from bridle.run.isolation.sandbox_rules import ChosenSandbox, SandboxRules
from tests.loop.fixtures.loop_commands import ONE_TASK, run_plan
from tests.loop.fixtures.repositories import make_repository
from tests.loop.fixtures.sandboxed_project import make_sandboxed_project

BOMB = "for i in $(seq 60); do sleep 300 & done; wait"
LIMIT = 40


def chosen(mode: str) -> ChosenSandbox:
    return choose_sandbox(SandboxRules(mode, max_processes=LIMIT), os.environ)


def test_a_check_with_too_many_processes_is_ended_and_has_failed(tmp_path: Path, sandbox: str) -> None:
    here = make_repository(tmp_path / "r", {"a": "1\n"}, checks=("true",))
    context = replace(here.context, sandbox=chosen(sandbox))
    bomb = asyncio.run(run_check(context, Check(command=BOMB, owner="task"), task="T", number=1, limit_seconds=300))
    assert not bomb.passed
    assert not bomb.timed_out
    assert bomb.output.endswith(f"[ended, because it had more than {LIMIT} processes]\n")
    score = int(Path("/proc/self/oom_score_adj").read_text())
    few = "for i in $(seq 20); do sleep 2 & done; wait; cat /proc/self/oom_score_adj"
    fine = asyncio.run(run_check(context, Check(command=few, owner="task"), task="T", number=2, limit_seconds=300))
    assert (fine.passed, fine.output) == (True, f"{max(score, 500)}\n")


def test_an_agent_with_too_many_processes_is_ended(tmp_path: Path, sandbox: str) -> None:
    agent = f"import subprocess; subprocess.run(['sh', '-c', {BOMB!r}])"
    here = make_sandboxed_project(tmp_path, ONE_TASK, agent, sandbox=sandbox)
    settings = Path(os.environ["BRIDLE_HOME"]) / "bridle.toml"
    settings.parent.mkdir(exist_ok=True)
    table = settings.read_text() if settings.exists() else "[sandbox]\n"  # without a sandbox no folder is listed
    settings.write_text(f"{table}max_processes = {LIMIT}\n")
    document = run_plan(here, 3, "--max-iterations", "1")
    assert f"it had more than {LIMIT} processes, and was ended" in str(document)
