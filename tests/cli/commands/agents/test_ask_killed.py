"""`bridle ask` killed at any moment: nothing stays, nothing is torn, and the next run works."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from bridle.run.budget import budget_file
from bridle.run.sessions import session_file
from tests.fixtures.bridle_program import BRIDLE, run_bridle
from tests.run.fixtures.agent_runs import logs_of
from tests.run.fixtures.fake_agent import Agent, Script, all_dead, init, result, says, successful_turn, wait_until
from tests.sizes import SIZES

HANG_SECONDS = 60


def run_for(seconds: float, agent: Agent, cwd: Path) -> int:
    """Start a run and kill it after so long; its exit code, which is that of the signal unless it was faster."""
    command = [str(BRIDLE), "ask", "--cwd", str(cwd), "hello"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env=agent.environment(), stdout=quiet, stderr=quiet) as started:
        try:
            return started.wait(seconds)
        except subprocess.TimeoutExpired:
            started.kill()
            return started.wait(HANG_SECONDS)


def test_killed_at_any_moment_it_leaves_nothing_running_and_nothing_torn(tmp_path: Path) -> None:
    script = Script().out(init(), says("one")).daemon().out(says("two"), result())
    whole = init() + says("one") + says("two") + result()
    agent = script.install(tmp_path / "bin")
    begun = time.monotonic()
    codes = [run_for(HANG_SECONDS, agent, tmp_path)]
    # The moments lie before, within and after a run, which takes longer on a loaded machine and in a sandbox.
    step = 1.2 * (time.monotonic() - begun) / SIZES.kill_points
    codes += [run_for(point * step, agent, tmp_path) for point in range(SIZES.kill_points)]
    wait_until(lambda: all_dead([*(start["pid"] for start in agent.starts), *agent.daemons]))

    assert set(codes) <= {0, -9}, "a run after a killed one works"
    assert all(whole.startswith(log.read_text()) for log in logs_of(tmp_path))
    environment = successful_turn().install(tmp_path / "bin", "last").environment()
    finished = run_bridle("ask", "--cwd", str(tmp_path), "hello", environment=environment)
    assert (finished.returncode, finished.stdout) == (0, "done\n")
    budget = json.loads(budget_file(tmp_path).read_bytes())
    # A start is recorded just before it: one that was killed in between counts, and the agent does not know of it.
    assert codes.count(0) < budget["iterations"] <= len(codes) + 1
    assert json.loads(session_file(tmp_path).read_bytes())["coder_session_id"]
