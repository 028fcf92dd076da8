"""`bridle run --pr`: the branch is pushed, and a pull request opened; or the commands to copy are printed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.fixtures.fake_gh import FakeGitHub
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import DOES_NOTHING, MAKES_FILE, ONE_TASK, TWO_TASKS

TITLED = ONE_TASK.replace("# One\n", "# A new shop\n", 1)
COMMANDS = "git push -u origin {branch} && gh pr create --head {branch} --base main --title 'A new shop' --fill"


def project(folder: Path, plan: str = TITLED, agent: str = MAKES_FILE, *, remote: bool = True) -> Project:
    here = make_project(folder / "here", plan, agent)
    if remote:
        subprocess.run(["git", "init", "-q", "--bare", str(folder / "remote.git")], check=True)
        here.git("remote", "add", "origin", str(folder / "remote.git"))
    return here


def run(here: Project, github: FakeGitHub | None, *options: str) -> subprocess.CompletedProcess[str]:
    path = here.environment()["PATH"]
    return here.bridle("run", "PLAN.md", *options, PATH=f"{github.folder}:{path}" if github else path)


def pushed(folder: Path) -> list[str]:
    command = ["git", "-C", str(folder / "remote.git"), "for-each-ref", "--format=%(refname:short)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_the_branch_is_pushed_and_a_pull_request_opened_with_the_receipt(tmp_path: Path) -> None:
    here, github = project(tmp_path), FakeGitHub(tmp_path / "bin")
    done = run(here, github, "--pr")
    assert done.returncode == 0, done.stderr
    branch = here.git("branch", "--list", "bridle/*", "--format=%(refname:short)").strip()
    assert pushed(tmp_path) == [branch]
    [call] = github.calls
    head = ["pr", "create", "--head", branch, "--base", here.git("rev-parse", "--abbrev-ref", "main").strip()]
    assert call["arguments"] == [*head, "--title", "A new shop", "--body-file", "-"]
    assert "test -f one" in call["stdin"]
    assert "pull request https://github.com/o/r/pull/7" in done.stderr
    assert COMMANDS.format(branch=branch) in done.stdout


def test_a_run_that_is_not_verified_becomes_a_draft(tmp_path: Path) -> None:
    agent = "if task == 'One': open('one', 'w').close()"
    here, github = project(tmp_path, TWO_TASKS, agent), FakeGitHub(tmp_path / "bin")
    done = run(here, github, "--pr", "--tries", "1")
    assert done.returncode == 1
    assert "1 of 2 tasks are not verified" in done.stderr
    assert github.calls[0]["arguments"][-1] == "--draft"


def test_without_the_program_the_commands_are_printed_and_nothing_is_pushed(tmp_path: Path) -> None:
    here = project(tmp_path)
    done = run(here, None, "--pr", "--draft")
    assert done.returncode == 0
    branch = here.git("branch", "--list", "bridle/*", "--format=%(refname:short)").strip()
    assert "gh is not installed" in done.stderr
    assert f"open it with: {COMMANDS.format(branch=branch)} --draft\n" in done.stderr
    assert f"{COMMANDS.format(branch=branch)} --draft\n" in here.bridle("receipt").stdout
    assert pushed(tmp_path) == []


def test_a_push_that_fails_is_reported_and_the_run_keeps_its_exit_code(tmp_path: Path) -> None:
    here, github = project(tmp_path), FakeGitHub(tmp_path / "bin")
    here.git("remote", "set-url", "origin", str(tmp_path / "nowhere"))
    done = run(here, github, "--pr")
    assert done.returncode == 0
    assert "`git push origin` failed" in done.stderr
    assert github.calls == []


def test_the_program_that_fails_is_reported_with_the_commands(tmp_path: Path) -> None:
    here, github = project(tmp_path), FakeGitHub(tmp_path / "bin", failure="not logged in")
    done = run(here, github, "--pr")
    assert done.returncode == 0
    assert "not logged in" in done.stderr
    assert "open it with: git push" in done.stderr


def test_a_run_without_a_commit_has_no_pull_request(tmp_path: Path) -> None:
    here, github = project(tmp_path, agent=DOES_NOTHING), FakeGitHub(tmp_path / "bin")
    done = run(here, github, "--pr", "--tries", "1")
    assert done.returncode == 1
    assert "no pull request: the run has made no commit" in done.stderr
    assert (github.calls, pushed(tmp_path)) == ([], [])


def test_a_repository_without_a_remote_is_offered_none(tmp_path: Path) -> None:
    here, github = project(tmp_path, remote=False), FakeGitHub(tmp_path / "bin")
    done = run(here, github, "--pr")
    assert done.returncode == 0
    assert "the repository has no remote" in done.stderr
    assert "gh pr create" not in done.stdout


def test_what_is_missing_is_said_before_the_first_agent(tmp_path: Path) -> None:
    here = project(tmp_path, remote=False)
    said = run(here, None, "--pr").stderr
    assert said.index("the repository has no remote. Add one") < said.index("iteration 1")
    other, github = project(tmp_path / "other"), FakeGitHub(tmp_path / "bin")
    assert "--pr will" not in run(other, github, "--pr").stderr
