"""Native hooks of `bridle run`: told of a branch and of a commit before they are made, and able to refuse them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, assert_replays, receipt_of, run_plan, verdicts


def hook(folder: Path, kind: str, text: str, name: str = "one.sh") -> Path:
    path = folder / kind / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def users_hook(kind: str, text: str) -> Path:
    """One of the person's own, which needs no trust."""
    return hook(Path(os.environ["HOME"]) / ".config/babysitter/hooks", kind, text)


def heard(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_both_receive_what_is_about_to_be_made(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    for kind in ("pre-branch", "pre-commit"):
        users_hook(
            kind,
            f'cat >> "{tmp_path}/{kind}"; echo >> "{tmp_path}/{kind}"; git branch --show-current > "{tmp_path}/at"\n',
        )
    document = run_plan(here, 0)
    (branch,) = heard(tmp_path / "pre-branch")
    assert branch.pop("timestamp")
    assert branch == {
        "hookType": "pre-branch",
        "runId": document["run"],
        "folder": str(here.folder),
        "branch": document["branch"],
        "base": here.git("rev-parse", "main"),
        "cameFrom": "main",
        "plan": "One",
        "tasks": ["One"],
    }
    (commit,) = heard(tmp_path / "pre-commit")
    assert commit.pop("timestamp")
    assert commit.pop("message").startswith("One\n\nBridle-Run: ")
    assert commit == {
        "hookType": "pre-commit",
        "runId": document["run"],
        "folder": str(here.folder),
        "branch": document["branch"],
        "task": "One",
        "iteration": 1,
        "verdict": "done",
        "costUsd": 0.01,
        "files": ["one"],
    }
    assert_replays(here)


def test_a_refused_commit_is_a_failed_try_and_the_next_prompt_says_why(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "open('one', 'w').write('x' * number)")
    users_hook("pre-commit", "echo NOT-LONG-ENOUGH; test $(wc -c < one) -gt 1\n")
    (task,) = run_plan(here, 0)["tasks"]
    assert (task["verdict"], task["iterations"], task["tries"]) == ("done", 2, 1)
    first, second = here.calls()
    assert "NOT-LONG-ENOUGH" not in first["prompt"]
    assert "NOT-LONG-ENOUGH" in second["prompt"]
    assert here.git("rev-list", "--count", "main..HEAD") == "1"
    assert_replays(here)


def test_a_hook_that_always_refuses_leaves_no_commit(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "open('one', 'w').write('x' * number)")
    users_hook("pre-commit", "echo no; exit 3\n")
    document = run_plan(here, 1, "--tries", "2")
    assert verdicts(document) == {"One": "failed"}
    assert "pre-commit" in document["tasks"][0]["reason"]
    assert document["commits"] == []
    assert here.git("rev-parse", "HEAD") == here.git("rev-parse", "main")


def test_what_a_hook_changes_is_checked_before_it_is_committed(tmp_path: Path) -> None:
    here = make_project(
        tmp_path, "# One\n\n## One\nCheck: `test -s one && ! grep -q bad one`\n", "open('one', 'w').write('a')"
    )
    users_hook("pre-commit", "echo formatted > one\n")
    (task,) = run_plan(here, 0)["tasks"]
    assert task["verdict"] == "done"
    assert here.git("show", "HEAD:one") == "formatted"
    assert_replays(here)


def test_what_a_hook_breaks_is_not_committed(tmp_path: Path) -> None:
    here = make_project(
        tmp_path, "# One\n\n## One\nCheck: `test -s one && ! grep -q bad one`\n", "open('one', 'w').write('a')"
    )
    users_hook("pre-commit", "echo bad > one\n")
    document = run_plan(here, 1, "--tries", "1")
    assert verdicts(document) == {"One": "failed"}
    assert here.git("rev-parse", "HEAD") == here.git("rev-parse", "main")


def test_a_refused_branch_stops_the_run_before_any_agent_and_resume_asks_again(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    path = users_hook("pre-branch", "echo FROZEN-ON-FRIDAYS; exit 1\n")
    done = here.bridle("run", "PLAN.md")
    assert done.returncode == 1
    assert "FROZEN-ON-FRIDAYS" in done.stderr
    assert here.git("branch", "--show-current") == "main"
    assert here.git("branch", "--list", "bridle/*") == ""
    assert here.calls() == []
    path.unlink()
    assert verdicts(receipt_of(here.bridle("resume", "--json"), 0)) == {"One": "done"}


@pytest.mark.parametrize("is_trusted", [True, False])
def test_hooks_of_a_repository_run_only_once_it_is_trusted(tmp_path: Path, is_trusted: bool) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    hook(here.folder / ".a5c/hooks", "pre-commit", f"touch {tmp_path}/ran\n")
    if is_trusted:
        assert here.bridle("doctor", "--trust").returncode in (0, 1, 5)
    done = here.bridle("run", "PLAN.md", "--json")
    assert verdicts(receipt_of(done, 0)) == {"One": "done"}
    assert (tmp_path / "ran").exists() == is_trusted
    assert ("bridle doctor --trust" in done.stderr) != is_trusted


def test_no_hooks_means_none(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    users_hook("pre-commit", "exit 1\n")
    users_hook("pre-branch", "exit 1\n")
    assert verdicts(run_plan(here, 0, "--no-hooks")) == {"One": "done"}


@pytest.mark.without_sandbox("changes what the sandbox protects")
def test_an_agent_that_writes_hooks_of_its_own_does_not_have_them_run(tmp_path: Path) -> None:
    agent = f"""
    for kind in ("pre-commit", "on-task-complete", "on-iteration-end"):
        os.makedirs(f".a5c/hooks/{{kind}}", exist_ok=True)
        open(f".a5c/hooks/{{kind}}/mine.sh", "w").write("touch {tmp_path}/ran\\n")
    os.remove(".a5c/hooks/pre-commit/theirs.sh")
    open("one", "w").write("x" * number)
    """
    here = make_project(tmp_path, ONE_TASK, agent)
    hook(here.folder / ".a5c/hooks", "pre-commit", "test $(wc -c < one) -gt 1\n", "theirs.sh")
    here.bridle("doctor", "--trust")
    (task,) = run_plan(here, 0)["tasks"]
    assert (task["verdict"], task["iterations"]) == ("done", 2)  # the person's own hook still refuses
    assert not (tmp_path / "ran").exists()
    assert ".a5c/hooks/pre-commit/theirs.sh" in {one["path"] for one in task["reported"]}


def test_hooks_are_asked_in_a_worktree_too(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    users_hook("pre-commit", f"pwd > {tmp_path}/at; test -f one\n")
    users_hook("pre-branch", f"cat > {tmp_path}/branch\n")
    document = run_plan(here, 0, "--worktree")
    assert (tmp_path / "at").read_text().strip() != str(here.folder)
    assert json.loads((tmp_path / "branch").read_text())["branch"] == document["branch"]
