"""`--auth` reaches every agent that a command starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.fixtures.driven_runs import new_driven_run
from tests.fixtures.bridle_program import run_bridle
from tests.loop.fixtures.summarizer import summarizing
from tests.run.fixtures.fake_agent import Agent, Script, init, result

KEY = "sk-of-the-user-0000000000"
# With `login` no key reaches the agent, though at a loopback address `auto` would pass it on.
PASSED_ON = {"login": "", "key": KEY}
LOOPBACK = "http://127.0.0.1:9"
PLAN = "# X\n\n## One\nCheck: `true`\n"
ASKS_AGENT = "async def process(inputs, ctx): return await ctx.task(agent, {'prompt': 'x'})"


def variables(auth: str) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": KEY} | ({"ANTHROPIC_BASE_URL": LOOPBACK} if auth == "login" else {})


def keys(agent: Agent) -> set[str]:
    return {start["environment"].get("ANTHROPIC_API_KEY", "") for start in agent.starts}


@pytest.mark.parametrize("auth", PASSED_ON)
def test_of_run_in_iterations_and_summaries(tmp_path: Path, auth: str) -> None:
    here = summarizing(tmp_path, "exit 7")
    program = here.agent_folder / "claude"
    lines = program.read_text().splitlines()
    note = 'echo "${ANTHROPIC_API_KEY-} $(echo "$*" | grep -c -e --tools=Read,Glob,Grep)" >> "$0.keys"'
    program.write_text("\n".join([lines[0], note, *lines[1:]]) + "\n")
    done = here.bridle("run", "PLAN.md", "--auth", auth, **variables(auth))
    assert done.returncode == 0, done.stderr
    noted = set(program.with_name("claude.keys").read_text().splitlines())
    assert noted == {f"{PASSED_ON[auth]} {is_summary}" for is_summary in (0, 1)}


@pytest.mark.parametrize("auth", PASSED_ON)
def test_of_plan(tmp_path: Path, auth: str) -> None:
    answer = {"questions": [], "plan": PLAN}
    agent = Script().listen().out(init(), result(structured_output=answer)).install(tmp_path / "bin", "claude")
    chosen = variables(auth) | {"BRIDLE_CLAUDE": str(agent.path)}
    done = run_bridle("plan", "One", "--auth", auth, cwd=tmp_path, variables=chosen)
    assert done.returncode == 0, done.stderr
    assert keys(agent) == {PASSED_ON[auth]}


@pytest.mark.parametrize("auth", PASSED_ON)
def test_of_drive(tmp_path: Path, auth: str) -> None:
    driven = new_driven_run(tmp_path, ASKS_AGENT)
    driven.variables.update(variables(auth))
    done = driven.bridle("drive", "r1", "--auth", auth)
    assert done.returncode == 0, done.stderr
    assert keys(driven.agent) == {PASSED_ON[auth]}
