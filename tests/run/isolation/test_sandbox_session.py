"""How an agent ends that the sandbox prevents from starting, or that crashes in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bridle.cli.user_interface.ask_report import final_lines
from bridle.run.isolation.description import describe
from bridle.run.isolation.sandbox_rules import BWRAP, ChosenSandbox, SandboxRules
from bridle.run.request import Limits
from tests.fixtures.bridle_program import BRIDLE
from tests.run.fixtures.agent_runs import Run, run_agent
from tests.run.fixtures.fake_agent import Agent
from tests.run.fixtures.in_sandbox import program, run


def sandboxed(tmp_path: Path, script: str) -> Run:
    path = tmp_path / "bin" / "claude"
    path.parent.mkdir()
    path.write_text(script)
    path.chmod(0o755)
    (tmp_path / "work").mkdir()
    rules = SandboxRules(hidden=(str(tmp_path / "hidden"),))
    return run_agent(Agent(path), tmp_path / "work", sandbox=ChosenSandbox(BWRAP, program(), rules=rules))


def test_a_program_that_cannot_be_executed_is_named_with_the_setting_that_shows_it(tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    shutil.copy("/bin/sh", tmp_path / "hidden" / "sh")
    finished = sandboxed(tmp_path, f"#!{tmp_path}/hidden/sh\necho works\n").finished
    assert finished.unusable is not None
    assert str(tmp_path / "bin" / "claude") in finished.unusable.message
    lines = list(final_lines(finished, Limits()))
    assert any("`visible`" in line for line in lines)
    assert not any("cost" in line for line in lines)


def test_an_agent_that_wants_to_drive_a_run_is_refused_with_the_way_to_allow_it(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    (work / ".a5c").mkdir(parents=True)
    (home / ".claude" / "plugins" / "bridle").mkdir(parents=True)
    (work / "p.py").write_text("async def p(inputs, ctx):\n    return 1\n")
    hook = f"{BRIDLE} hook:run --hook-type session-start --harness claude-code --json"
    start = 'echo \'{"session_id": "s"}\' | ' + hook
    done = run(
        describe(work, {"HOME": str(home)}),
        f"{start}; {start} --plugin-root ~/.claude/plugins/bridle; {BRIDLE} run:create --process-id p --entry p.py#p",
        variables={"HOME": str(home)},
    )
    assert done.stderr.count(b"can neither create nor drive runs: start it with --sandbox off") == 3
    assert not list((work / ".a5c").iterdir())


@pytest.mark.parametrize(("end", "code"), [("kill -SEGV $$", -11), ("kill -KILL $$", -9), ("exit 143", 143)])
def test_a_crash_has_the_exit_code_that_it_has_without_a_sandbox(tmp_path: Path, end: str, code: int) -> None:
    assert sandboxed(tmp_path, f"#!/bin/sh\n{end}\n").finished.outcome.exit_code == code
