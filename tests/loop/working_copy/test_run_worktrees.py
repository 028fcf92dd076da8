"""`bridle run --worktree`: the run works in a worktree of its own, and the person's working copy is not touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fixtures import sandbox
from tests.fixtures.bridle_program import BRIDLE
from tests.fixtures.sandbox import pid_here
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_replays,
    receipt_of,
    run_plan,
    trailers,
    verdicts,
    working_copy_state,
)
from tests.run.fixtures.fake_agent import all_dead, wait_until


def test_the_users_working_copy_is_not_touched(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE, **{".gitignore": "*.cache\n"})
    (here.folder / "mine.txt").write_text("of the person")
    (here.folder / "one").write_text("of the person, and of the name of what a task makes")
    (here.folder / "big.cache").write_text("ignored")
    before = working_copy_state(here)
    document = run_plan(here, 0, "--worktree")
    assert working_copy_state(here) == before
    assert verdicts(document) == {"One": "done", "Two": "done"}
    worktree = Path(document["worktree"])
    assert worktree == here.folder.resolve() / ".ralph/worktrees" / document["run"].lower()
    assert here.git("-C", str(worktree), "branch", "--show-current") == document["branch"]
    assert here.git("rev-list", "--reverse", f"main..{document['branch']}").split() == document["commits"]
    for commit, name in zip(document["commits"], ("one", "two"), strict=True):
        assert here.git("show", "--name-only", "--format=", commit) == name
        assert trailers(here, commit)["Bridle-Run"] == document["run"]
    assert list((worktree / ".ralph/logs/claude").glob("*.ndjson"))
    assert_replays(here)


def test_the_receipt_tells_where_it_is_and_its_commands_take_it_over_or_undo_it(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    first, second = run_plan(here, 0, "--worktree"), run_plan(here, 0, "--parallel", "3")
    shown = here.bridle("status", second["run"]).stdout
    assert f"worktree   {second['worktree']}" in shown
    assert second["undo"] in shown
    assert here.bridle("undo", second["run"], "--yes").returncode == 0
    assert here.git("worktree", "list").count(".ralph/worktrees") == 1  # that of the first
    assert second["branch"] not in here.git("branch", "--all")
    subprocess.run(first["merge"], shell=True, cwd=here.folder, check=True, capture_output=True)  # noqa: S602  # as told
    assert (here.folder / "one").exists()
    assert "you merged" in here.bridle("undo", first["run"], "--yes").stderr
    assert here.bridle("clean", "--keep", "0s", "--yes").returncode == 0
    assert here.git("worktree", "list").count("\n") == 0


@pytest.mark.parametrize("options", [("--worktree",), ("--parallel", "2")])
def test_the_setup_makes_what_git_does_not_keep_and_none_of_it_is_committed(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    plan = (
        "# One\n\nSetup: `mkdir -p deps && cp package-lock.json deps/ && touch made-by-setup && echo x >> tracked`\n\n"
        "## One\nCheck: `test -f deps/package-lock.json && test -f one && test -f made-by-setup && test ! -s tracked`\n"
    )
    here = make_project(
        tmp_path, plan, MAKES_FILE, **{".gitignore": "deps\n", "package-lock.json": "{}", "tracked": ""}
    )
    document = run_plan(here, 0, *options)
    assert verdicts(document) == {"One": "done"}
    assert here.git("show", "--name-only", "--format=", document["branch"]) == "one"
    assert not (here.folder / "deps").exists()
    assert_replays(here)


def test_a_setup_that_fails_stops_the_run_before_any_agent_and_resume_tries_again(tmp_path: Path) -> None:
    there = tmp_path / "beside" / "there"
    plan = f"# One\n\nSetup: `cat {there}`\n\n## One\nCheck: `test -f one`\n"
    here = make_project(tmp_path, plan, MAKES_FILE)
    done = here.bridle("run", "PLAN.md", "--worktree")
    assert done.returncode == 2, done.stderr
    assert "the setup" in done.stdout
    assert "No such file" in " ".join(done.stdout.split())
    assert here.calls() == []
    there.touch()
    (index,) = (one / "index.lock" for one in (here.folder / ".git/worktrees").iterdir())
    ref = here.folder / ".git/refs/bridle/snapshots/any.lock"
    ref.parent.mkdir(parents=True, exist_ok=True)
    for lock in (index, ref):
        lock.touch()  # as a git leaves it that was killed
    assert verdicts(receipt_of(here.bridle("resume", "--json"), 0)) == {"One": "done"}
    assert not ref.exists()
    assert_replays(here)


def test_programs_of_the_working_copy_come_from_the_worktree_instead(tmp_path: Path) -> None:
    """Else a check would judge the person's code in the place of the agent's."""
    plan = (
        "# One\n\nSetup: `mkdir -p env && echo 'cat which' > env/tool && chmod +x env/tool`\n\n## One\nCheck: `tool`\n"
    )
    here = make_project(tmp_path, plan, "open('which', 'w').close()", **{".gitignore": "env\n"})
    (here.folder / "env").mkdir()
    (here.folder / "env/tool").write_text("#!/bin/sh\nfalse\n")
    (here.folder / "env/tool").chmod(0o755)
    path = f"{here.folder}/env:{os.environ['PATH']}"
    document = receipt_of(here.bridle("run", "PLAN.md", "--worktree", "--json", PATH=path), 0)
    assert verdicts(document) == {"One": "done"}


def test_protected_parts_are_put_back_in_the_worktree(tmp_path: Path) -> None:
    plan = "# One\n\n## One\nCheck: `sh check.sh`\n"
    agent = "open('check.sh', 'w').write('true\\n'); os.system(': > PLAN.md'); open('one', 'w').close()"
    here = make_project(tmp_path, plan, agent, **{"check.sh": "test -f one\n"})
    document = run_plan(here, 0, "--worktree")
    # In the sandbox the plan is read-only.
    assert set(document["tasks"][0]["undone"]) == {"check.sh", *(() if sandbox.is_on() else ("PLAN.md",))}
    assert here.git("show", "--name-only", "--format=", document["branch"]) == "one"


def test_the_check_of_ones_own_is_run_in_a_worktree_too(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "open('one', 'w').write('x' * (number > 1))")
    (here.folder / ".ralph").mkdir()
    (here.folder / ".ralph/check").write_text("#!/bin/sh\ntest -s one\n")
    (here.folder / ".ralph/check").chmod(0o755)
    (task,) = run_plan(here, 0, "--worktree")["tasks"]
    assert (task["verdict"], task["iterations"]) == ("done", 2)


@pytest.mark.parametrize("options", [("--worktree",), ("--parallel", "2")])
def test_a_worktree_that_was_deleted_manually_is_made_anew(tmp_path: Path, options: tuple[str, ...]) -> None:
    """What the first iteration had left is there again, and what it may not change is not."""
    plan = "# One\n\nSetup: `touch ready`\n\n## One\nCheck: `sh check.sh`\n"
    agent = """
    open("half", "a").write("x")
    open("check.sh", "w").write("true\\n")
    open(os.path.join(os.path.dirname(calls), f"pid{number}"), "w").write(json.dumps(who()))
    if number == 1: end(structured_output={**answer, "done": False})
    if number == 2: time.sleep(600)
    open("whole", "w").close()
    """
    here = make_project(
        tmp_path, plan, agent, **{"check.sh": "test -f whole && test -f ready\n", ".gitignore": "ready\n"}
    )
    before = working_copy_state(here)
    child = subprocess.Popen(
        [str(BRIDLE), "run", "PLAN.md", *options],
        cwd=here.folder,
        env=here.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    noted = here.agent_folder / "pid2"
    wait_until(lambda: noted.exists() and noted.read_text())
    child.terminate()
    assert child.wait(LIMIT_SECONDS) == 130
    wait_until(lambda: all_dead([pid_here(*json.loads(noted.read_text()))]))
    worktrees = sorted((here.folder / ".ralph/worktrees").glob("*/"))
    assert len(worktrees) == (1 if len(options) == 1 else 2)
    for folder in worktrees:
        shutil.rmtree(folder)
    document = receipt_of(here.bridle("resume", "--json"), 0)
    assert verdicts(document) == {"One": "done"}
    files = here.git("show", "--name-only", "--format=", document["branch"]).split()
    assert files == ["half", "whole"]
    assert here.git("show", f"{document['branch']}:half") == "xx"
    assert here.git("show", f"{document['branch']}:check.sh") == "test -f whole && test -f ready"
    assert working_copy_state(here) == before
    assert_replays(here)


def test_two_runs_in_one_repository_at_once(tmp_path: Path) -> None:
    """Each agent waits until that of the other run is at work, too."""
    agent = """
    beside = os.path.dirname(calls)
    open(os.path.join(beside, "here-" + os.path.basename(os.getcwd())), "w").close()
    deadline = time.monotonic() + 60
    while len([one for one in os.listdir(beside) if one.startswith("here-")]) < 2:
        assert time.monotonic() < deadline, "the other run does not come"
        time.sleep(0.01)
    open("one", "w").write(os.getcwd())
    answer["patterns"] = ["LEARNED in " + os.path.basename(os.getcwd())]
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    before = working_copy_state(here)
    children = [
        subprocess.Popen(
            [str(BRIDLE), "run", "PLAN.md", "--worktree", "--json"],
            cwd=here.folder,
            env=here.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [child.communicate(timeout=LIMIT_SECONDS) for child in children]
    assert [child.returncode for child in children] == [0, 0], said
    documents = [json.loads(out) for out, _ in said]
    for document in documents:
        assert here.git("show", f"{document['branch']}:one") == document["worktree"]
        assert here.bridle("replay", document["run"]).returncode == 0
    assert working_copy_state(here) == before
    learned = (here.folder / ".ralph/progress.md").read_text()
    assert learned.count("- LEARNED in ") == 2


def test_clean_removes_the_worktrees_of_old_runs_and_no_branch(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    document = run_plan(here, 0, "--parallel", "2")
    assert here.git("worktree", "list").count("\n") == 2
    done = here.bridle("clean", "--keep", "0.001", "--yes")
    assert done.returncode == 0, done.stderr
    assert here.git("worktree", "list").count("\n") == 0
    assert not Path(document["worktree"]).exists()
    assert here.git("show", "--name-only", "--format=", document["branch"]) == "one"


def test_uncommitted_changes_refuse_the_start_here_too_and_are_no_part_of_the_run_where_allowed(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE, mine="a\n")
    (here.folder / "mine").write_text("b\n")
    assert here.bridle("run", "PLAN.md", "--worktree").returncode == 2
    document = run_plan(here, 0, "--worktree", "--allow-dirty")
    assert (here.folder / "mine").read_text() == "b\n"
    assert here.git("show", f"{document['branch']}:mine") == "a"


def test_the_budget_of_the_workspace_bounds_and_counts_what_is_done_in_its_worktrees(tmp_path: Path) -> None:
    """Each run of the agent costs 0.01, and the second begins with less than that left; the third is refused."""
    plan = "# P\n\n" + "\n".join(f"## {name}\nCheck: `test -f {name.lower()}`\n" for name in ("One", "Two", "Three"))
    here = make_project(tmp_path, plan, MAKES_FILE)
    budget = here.folder / ".ralph/state/budget.json"
    budget.parent.mkdir(parents=True)
    budget.write_text(json.dumps({"total_cost_usd": 1.0, "max_cost_usd": 1.015, "iterations": 7}))
    done = here.bridle("run", "PLAN.md", "--json", "--worktree")
    document = receipt_of(done, 3)
    assert "not started: the budget is spent: 1.0200 of 1.0150 USD" in done.stderr
    assert document["iterations"] == 2
    assert verdicts(document) == {"One": "done", "Two": "done", "Three": "pending"}
    spent = json.loads(budget.read_text())
    assert (spent["total_cost_usd"], spent["max_cost_usd"], spent["iterations"]) == (1.02, 1.015, 9)
    budget.write_text(json.dumps(spent | {"max_cost_usd": 5}))
    assert verdicts(receipt_of(here.bridle("resume", "--json"), 0))["Three"] == "done"
    assert json.loads(budget.read_text())["total_cost_usd"] == 1.03
