"""What a user does with git beside a run is taken as it is, or refused with the command that ends it."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_replays,
    receipt_of,
    run_plan,
    verdicts,
)

PAGE = (Path(__file__).parents[2] / "docs" / "repositories.md").read_text(encoding="utf-8")
BOTH_DONE = {"One": "done", "Two": "done"}


def shell(here: Project, command: str) -> str:
    """Run a line of the user's shell; it may fail."""
    environment = os.environ | {"GIT_EDITOR": "true"}
    done = subprocess.run(  # noqa: S602  # a line of the test's own
        command, shell=True, cwd=here.folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr


def resume(here: Project, code: int) -> tuple[dict[str, Any], str]:
    done = here.bridle("resume", "--json", "--max-iterations", "9")
    return receipt_of(done, code), done.stderr


def committed(here: Project, commit: str = "HEAD") -> list[str]:
    return here.git("show", "--format=", "--name-only", commit).split()


# A line of the user's shell that stops in the middle, the operation, and the command that ends it.
_STOPPED = {
    "merge": ("git merge side", "git merge --abort"),
    "rebase": ("git rebase side", "git rebase --abort"),
    "cherry-pick": ("git cherry-pick side", "git cherry-pick --abort"),
    "revert": ("git revert --no-edit HEAD~1", "git revert --abort"),
    "am": ("git format-patch -q -1 side --stdout | git am", "git am --abort"),
    "bisect": ("git bisect start HEAD main", "git bisect reset"),
}


def test_an_operation_in_progress_is_refused_with_the_command_that_ends_it(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE, app="app\n")
    branch = run_plan(here, 3, "--max-iterations", "1")["branch"]
    shell(here, "git checkout -q -b side main && echo side > app && git commit -qam side")
    shell(here, f"git checkout -q {branch}; for n in 1 2 3; do echo user $n > app; git commit -qam user-$n; done")
    tip = here.git("rev-parse", "HEAD")
    for operation, (begin, end) in _STOPPED.items():
        shell(here, begin)
        before = here.git("status", "--porcelain=v2", "--branch")
        done = here.bridle("resume")
        assert done.returncode == 2, (operation, done.stderr)
        assert f"{operation} is in progress" in done.stderr, operation
        assert f"({end})" in done.stderr, operation
        assert here.git("status", "--porcelain=v2", "--branch") == before, operation
        shell(here, end)
        assert here.git("rev-parse", "HEAD") == tip, operation
    # Files in conflict without an operation.
    shell(here, "echo stashed > app; git stash; echo other > app; git commit -qam other; git stash pop")
    done = here.bridle("resume")
    assert done.returncode == 2
    assert f"files are in conflict in {here.folder}: app" in done.stderr
    assert "git add" in done.stderr
    shell(here, "git checkout --theirs app; git add app")
    document, _ = resume(here, 0)
    assert verdicts(document) == BOTH_DONE
    assert (here.folder / "app").read_text() == "stashed\n"


def test_a_commit_with_another_message_and_more_content_is_still_the_tasks(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1")
    (here.folder / "one").write_text("more\n")
    here.git("commit", "-q", "-a", "--amend", "-m", "My own words")
    mine = here.git("rev-parse", "HEAD")
    # Removed from git, but not from the folder; renamed; copied.
    here.git("rm", "-q", "--cached", "one")
    here.git("mv", "PLAN.md", "OTHER.md")
    document, said = resume(here, 0)
    assert document["commits"][0] == mine
    assert f"the commit of 'One' is {mine[:12]} now" in said
    assert "not on the branch any more" not in said
    assert "you removed one from git" in said
    assert "you renamed PLAN.md to OTHER.md: this is checked and committed" in said
    assert len(here.calls()) == 2
    assert "one" in here.git("show", "--format=", "--name-status", "HEAD").split()
    assert here.git("status", "--porcelain") == "?? one"
    assert (here.folder / "one").read_text() == "more\n"
    assert_replays(here)


def test_what_the_user_staged_survives_a_task_that_fails_later(tmp_path: Path) -> None:
    plan = "# One\n\n## One\nCheck: `false`\n"
    here = make_project(tmp_path, plan, "open('work', 'a').write('agent')", app="app\n", other="1\n2\n3\n4\n")
    run_plan(here, 3, "--max-iterations", "1", "--tries", "2")
    here.git("rm", "-q", "--cached", "app")
    (here.folder / "new").write_text("new\n")
    here.git("add", "new")
    (here.folder / "copy").write_text("1\n2\n3\n4\n")
    _, said = resume(here, 1)
    assert here.git("status", "--porcelain").splitlines() == ["D  app", "A  new", "?? app", "?? copy"]
    assert "you copied other to copy: left alone" in said


def test_a_renamed_branch_of_the_run_is_recognised_and_a_deleted_one_has_its_commit_named(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    first = run_plan(here, 3, "--max-iterations", "1")
    branch, tip = first["branch"], first["commits"][0]
    here.git("checkout", "-q", "main")
    here.git("branch", "-D", branch)
    done = here.bridle("resume")
    assert done.returncode == 2
    assert f"git branch {branch} {tip}" in done.stderr
    # HEAD names the branch that does not exist.
    here.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    assert f"git branch {branch} {tip}" in here.bridle("resume").stderr
    here.git("branch", branch, tip)
    here.git("reset", "-q", "--hard")

    here.git("branch", "-m", "mine")
    shell(here, "echo user > user && git add user && git commit -qm user")
    mine = here.git("rev-parse", "HEAD")
    document, said = resume(here, 0)
    assert verdicts(document) == BOTH_DONE
    assert f"{branch} was renamed to mine" in said
    assert here.git("rev-parse", "mine") == mine
    assert here.git("rev-parse", f"{branch}^") == mine
    assert_replays(here)


def test_a_branch_without_a_commit_is_left_as_it_is_with_the_command_that_leaves_it(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE, app="app\n")
    branch = run_plan(here, 3, "--max-iterations", "1")["branch"]
    here.git("checkout", "-q", "--orphan", "empty")
    (here.folder / "app").write_text("user\n")
    here.git("add", "app")
    done = here.bridle("resume")
    assert done.returncode == 2
    assert "empty is checked out, a branch without a commit" in done.stderr
    here.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    assert f"git symbolic-ref HEAD refs/heads/{branch} && bridle resume" in " ".join(done.stderr.split())
    assert verdicts(resume(here, 0)[0]) == BOTH_DONE
    assert (here.folder / "app").read_text() == "user\n"


def test_local_changes_in_marked_files_are_in_no_commit(tmp_path: Path) -> None:
    agent = MAKES_FILE + "\nopen('work', 'w').write(task)\nif task == 'Two': open('skipped', 'a').write('agent\\n')"
    here = make_project(tmp_path, TWO_TASKS, agent, skipped="1\n", assumed="1\n", later="1\n")
    shell(here, "git update-index --skip-worktree skipped; git update-index --assume-unchanged assumed")
    for name in ("skipped", "assumed"):
        (here.folder / name).write_text("1\nlocal\n")
    run_plan(here, 3, "--max-iterations", "1")
    assert committed(here) == ["one", "work"]
    shell(here, "git update-index --skip-worktree later")
    (here.folder / "later").write_text("1\nlocal\n")
    document, said = resume(here, 0)
    assert "you changed later, marked skip-worktree or assume-unchanged: left alone" in said
    assert committed(here) == ["two", "work"]
    assert (here.folder / "skipped").read_text() == "1\nlocal\nagent\n"
    assert [(here.folder / name).read_text() for name in ("assumed", "later")] == ["1\nlocal\n"] * 2
    (report,) = [report for report in document["tasks"][1]["reported"] if report["path"] == "skipped"]
    assert report["what"].startswith("your local version, which is in no commit, was changed")
    assert here.git("ls-files", "-v", "skipped", "assumed", "later").split() == [
        "h",
        "assumed",
        "S",
        "later",
        "S",
        "skipped",
    ]
    assert_replays(here)


def test_an_untracked_file_that_the_agent_hides_is_restored_each_time(tmp_path: Path) -> None:
    agent = """
    open(".gitignore", "w").write("big*\\n")
    if number < 3: os.remove("big")
    else: open("big", "a").write("agent\\n")
    if number == 2: open("one", "w").close()
    if number == 3: open("two", "w").close()
    """
    here = make_project(tmp_path, TWO_TASKS, agent)
    (here.folder / "big").write_text("mine\n")
    document = run_plan(here, 0)
    assert (here.folder / "big").read_text() == "mine\nagent\n"
    assert document["tasks"][0]["undone"] == ["big", "big"]
    (report,) = [report for report in document["tasks"][1]["reported"] if report["path"] == "big"]
    ref = report["what"].split("`")[1]
    assert here.git(*ref.split()[1:]) == "mine"
    assert "big" not in here.git("ls-tree", "-r", "--name-only", "HEAD").split()
    assert_replays(here)


def test_the_commands_of_the_page_on_git_log_show_no_snapshots(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    run_plan(here, 0)
    snapshots = set(here.git("for-each-ref", "--format=%(objectname)", "refs/bridle").split())
    wanted = set(here.git("rev-list", "--branches").split())
    assert len(wanted) == 2
    assert snapshots - wanted <= set(here.git("log", "--all", "--format=%H").split())
    assert snapshots - wanted
    commands = PAGE.split("## `git log --all`")[1].split("```sh\n")[1].split("```")[0].splitlines()
    for command in commands[:2]:
        assert set(here.git(*shlex.split(command)[1:], "--format=%H").split()) == wanted
    (here.folder / "alias").write_text(commands[2].replace("--global", "--local"))
    subprocess.run(["sh", "alias"], cwd=here.folder, check=True)
    assert {line.split()[1] for line in here.git("la", "--format=%H").splitlines()} == wanted
