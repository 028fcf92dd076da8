"""How programs start and end in a sandbox: those that it prevents from starting, that crash, or close their output."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from bridle.cli.user_interface.ask_report import final_lines
from bridle.ground.children.capture import capture
from bridle.run import attempt
from bridle.run.isolation.description import describe
from bridle.run.isolation.sandbox_rules import BWRAP, ChosenSandbox, SandboxRules
from bridle.run.isolation.sandbox_session import enter_sandbox
from bridle.run.request import Limits
from bridle.run.watchdog import Watchdog
from tests.fixtures.bridle_program import BRIDLE
from tests.run.fixtures.agent_runs import Run, run_agent
from tests.run.fixtures.fake_agent import Agent
from tests.run.fixtures.in_sandbox import HANG_SECONDS, program, run


def sandboxed(tmp_path: Path, script: str, **limits: float) -> Run:
    path = tmp_path / "bin" / "claude"
    path.parent.mkdir()
    path.write_text(script)
    path.chmod(0o755)
    (tmp_path / "work").mkdir()
    rules = SandboxRules(hidden=(str(tmp_path / "hidden"),))
    chosen = ChosenSandbox(BWRAP, program(), rules=rules)
    return run_agent(Agent(path), tmp_path / "work", sandbox=chosen, limits=Limits(**limits))


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


def test_an_agent_that_closes_its_output_and_lives_on_is_noticed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "LEAVING_SECONDS", 0.2)
    finished = sandboxed(tmp_path, "#!/bin/sh\nexec 0<&- 1>&-\nsleep 600\n", idle_seconds=30.0).finished
    assert finished.limit is Watchdog.LEAVING


def test_an_agent_that_has_run_cannot_pass_for_one_that_could_not_be_started(tmp_path: Path) -> None:
    script = "#!/bin/sh\ncat /proc/1/cmdline /proc/1/environ >&2\necho 'bridle: not executed (0)' >&2\nexit 127\n"
    finished = sandboxed(tmp_path, script).finished
    assert finished.unusable is None
    assert finished.outcome.exit_code == 127


def capture_in(cwd: Path, argv: tuple[str, ...], **variables: str) -> str:
    """Return what a command prints that is started in the sandbox."""
    environment = {"HOME": str(cwd.parent), "PATH": os.environ["PATH"], **variables}
    with enter_sandbox(ChosenSandbox(BWRAP, program()), argv, cwd=cwd, environment=environment, agent=None) as started:
        done = capture(
            argv, cwd=cwd, environment=started.environment, limit_seconds=HANG_SECONDS, sandbox=started.sandbox
        )
        captured = asyncio.run(done)
    assert captured.exit_code == 0, captured.stderr
    return captured.stdout.decode()


@pytest.mark.parametrize("name", ["npm_config_@scope:registry", "BASH_FUNC_read%%"])
def test_a_variable_that_a_shell_drops_reaches_the_program(tmp_path: Path, name: str) -> None:
    (tmp_path / "work").mkdir()
    code = f"import os; print(os.environ.get({name!r}))"
    assert capture_in(tmp_path / "work", ("/usr/bin/env", "python3", "-c", code), **{name: "passed"}) == "passed\n"


def test_a_program_is_started_under_the_name_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    printed = capture_in(tmp_path / "link", ("/bin/sh", "-c", "echo $PWD; pwd -P"))
    assert printed.split() == [str(tmp_path / "link"), str(tmp_path / "real")]
