"""Every check runs once before the first agent: what cannot start stops the run before anything is spent."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, TWO_TASKS, assert_replays, receipt_of, run_plan, verdicts

GUARDED = "# Two\n\nChecks: `sh guard.sh`\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"


def project(folder: Path, plan: str, agent: str = MAKES_FILE, **files: str) -> Project:
    return dataclasses.replace(make_project(folder, plan, agent, **files), has_baseline=True)


def plan_of(check: str, guard: str = "true") -> str:
    return f"# T\n\nChecks: `{guard}`\n\n## One\nCheck: `{check}`\n"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (plan_of("pytset -q"), "`pytset -q` cannot start: 'pytset' is not on PATH (exit code 127)"),
        (plan_of("test -f one", "make tset"), "there is no target or script 'tset'"),
    ],
    ids=["own check", "guard"],
)
def test_a_check_that_cannot_start_ends_the_run_before_any_agent(tmp_path: Path, plan: str, words: str) -> None:
    here = project(tmp_path, plan, Makefile="test:\n\ttrue\n")
    done = here.bridle("run", "PLAN.md", "--json", "--sandbox", "off")
    document = receipt_of(done, 2)
    assert here.calls() == []
    assert words in document["stopped"]
    assert "Nothing was spent" in done.stderr
    assert document["cost_usd"] == 0
    assert [check["exit_code"] for check in document["baseline"] if check["exit_code"]]
    assert_replays(here)


def test_what_a_task_is_to_make_is_no_fault_of_the_plan(tmp_path: Path) -> None:
    plan = "# T\n\n## One\nCheck: `./one`\nCheck: `sh tests/new.sh`\n"
    agent = (
        "os.makedirs('tests', exist_ok=True); open('tests/new.sh', 'w').write('true')\n"
        "open('one', 'w').write('#!/bin/sh\\n'); os.chmod('one', 0o755)"
    )
    here = project(tmp_path, plan, agent)
    document = run_plan(here, 0)
    assert [bool(check["exit_code"]) for check in document["baseline"]] == [True] * 2
    assert_replays(here)


def test_a_run_whose_program_was_installed_since_continues(tmp_path: Path) -> None:
    here = project(tmp_path, plan_of("newtool", "newtool"))
    tools = tmp_path / "tools"
    tools.mkdir()
    path = f"{tools}:{here.environment()['PATH']}"
    assert here.bridle("run", "--sandbox", "off", PATH=path).returncode == 2
    (tools / "newtool").write_text("#!/bin/sh\ntest -f one\n")
    (tools / "newtool").chmod(0o755)
    document = receipt_of(here.bridle("resume", "--json", "--sandbox", "off", PATH=path), 0)
    assert verdicts(document) == {"One": "done"}
    assert_replays(here)


def test_a_plan_that_was_corrected_since_continues(tmp_path: Path) -> None:
    here = project(tmp_path, plan_of("pytset -f one"))
    assert here.bridle("run", "PLAN.md").returncode == 2
    (here.folder / "PLAN.md").write_text(plan_of("test -f one"))
    document = receipt_of(here.bridle("resume", "--replan", "--json"), 0)
    assert verdicts(document) == {"One": "done"}
    assert [check["command"] for check in document["baseline"]] == ["true", "test -f one"]
    assert_replays(here)


def test_what_passes_and_fails_stands_in_the_head_of_the_run_and_in_the_receipt(tmp_path: Path) -> None:
    here = project(tmp_path, GUARDED, **{"guard.sh": "echo E-BROKEN; test -f one\n"})
    done = here.bridle("run", "PLAN.md", "--json")
    document = receipt_of(done, 0)
    lines = done.stderr.splitlines()
    first = next(number for number, line in enumerate(lines) if "iteration 1" in line)
    head = "\n".join(lines[:first])
    assert "before any work 0 of 3 checks pass" in head
    assert "check failed (1): sh guard.sh" in head
    assert "E-BROKEN" in head
    assert "it guards every task" in head
    baseline = [(check["command"], check["of"], check["exit_code"]) for check in document["baseline"]]
    assert baseline == [("sh guard.sh", "guard", 1), ("test -f one", "One", 1), ("test -f two", "Two", 1)]
    assert "E-BROKEN" in document["baseline"][0]["excerpt"]
    assert "before any work 0 of 3 checks passed" in here.bridle("status").stdout
    assert_replays(here)


def test_no_baseline_runs_nothing_before_the_first_task(tmp_path: Path) -> None:
    here = project(tmp_path, GUARDED, **{"guard.sh": "true\n"})
    document = run_plan(here, 0, "--no-baseline")
    assert "baseline" not in document
    (here.folder / "bridle.toml").write_text("baseline = false\n")
    here.git("add", "-A")
    here.git("commit", "-q", "-m", "settings")
    assert "baseline" not in run_plan(here, 0)


def test_a_check_that_passed_on_the_same_files_does_not_run_again(tmp_path: Path) -> None:
    count = tmp_path / "beside" / "count"  # the folder of the fake agent, where a check can write in the sandbox too
    here = project(tmp_path, GUARDED, **{"guard.sh": f"echo x >> {count}\n"})
    count.touch()

    def baseline() -> list[str]:
        before = count.read_text()
        document = json.loads(here.bridle("run", "PLAN.md", "--max-iterations", "1", "--json").stdout)
        here.git("checkout", "-q", "main")
        assert count.read_text() > before or document["baseline"][0]["output"] == ""
        return [check["log"] for check in document["baseline"] if check["of"] == "guard"]

    assert baseline()[0] != ""  # it ran, and has a log
    assert baseline() == [""]
    (here.folder / "other").write_text("x")
    here.git("add", "-A")
    here.git("commit", "-q", "-m", "another tree")
    assert baseline()[0] != ""


def test_a_baseline_that_was_killed_is_done_again(tmp_path: Path) -> None:
    plan = plan_of("test -f one", "sh guard.sh")
    here = project(tmp_path, plan, f"if False: kill_bridle()\n{MAKES_FILE}", **{"guard.sh": ""})
    kill = here.agent_folder / "kill"
    (here.folder / "guard.sh").write_text(f"if mkdir {here.agent_folder}/killed; then : > {kill}; sleep 600; fi\n")
    here.git("commit", "-q", "-am", "a guard that kills once")
    assert here.bridle("run", "PLAN.md", "--sandbox", "off").returncode == -9
    document = receipt_of(here.bridle("resume", "--json", "--sandbox", "off"), 0)
    assert verdicts(document) == {"One": "done"}
    assert len(document["baseline"]) == 2
    assert_replays(here)


@pytest.mark.parametrize("option", ["--worktree", "--parallel=2"])
def test_a_setup_that_fails_is_a_fault_of_the_plan(tmp_path: Path, option: str) -> None:
    here = project(
        tmp_path, TWO_TASKS.replace("# Two\n", "# Two\n\nSetup: `echo error: NO-NET; echo end; exit 3`\n", 1)
    )
    done = here.bridle("run", "PLAN.md", option)
    assert done.returncode == 2, done.stderr
    assert "✗ setup: echo error: NO-NET; echo end; exit 3  (exit code 3)\n" in done.stdout
    assert "        error: NO-NET\n        end\n        whole output: .ralph/" in done.stdout
    assert here.calls() == []


def events(here: Project, run: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(here.bridle("run:events", run, "--json").stdout)["events"]
    return listed


def test_the_first_task_does_not_run_its_red_check_a_second_time(tmp_path: Path) -> None:
    here = project(tmp_path, TWO_TASKS)
    document = run_plan(here, 0)
    labels = [event["data"].get("label") for event in events(here, document["run"])]
    assert "One: checks before" not in labels
    assert "Two: checks before" in labels


def test_what_a_check_changes_before_any_agent_is_said_with_its_owner(tmp_path: Path) -> None:
    here = project(tmp_path, plan_of("test -f one", "echo x > made"), "open('one', 'w').close()")
    done = here.bridle("run", "PLAN.md", "--sandbox", "off")
    assert "\nbridle: baseline: a check changed made; the change was reverted\n" in f"\n{done.stderr}"
    assert "bridle: : " not in done.stderr
