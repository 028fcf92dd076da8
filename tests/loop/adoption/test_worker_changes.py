"""What a user changes in the worktrees of a parallel run while no driver runs is adopted, or named with its ref."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bridle.engine.drive.driver_lock import LOCK_FILE
from bridle.ground.lock import FileLock
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.loop_commands import (
    assert_replays,
    in_background,
    receipt_of,
    run_folder,
    run_plan,
    verdicts,
)
from tests.run.fixtures.fake_agent import wait_until

PLAN = """# Two

## One
Check: `sh test.sh one`

## Two
Check: `sh test.sh two`
"""
# The first task is done at once; the second is not, and has changed a tracked file.
AGENT = """
if task == "Two" and not os.path.exists("two"):
    with open("app", "a") as file: file.write("agent\\n")
    open("two", "w").write("wrong\\n")
    answer["summary"] = "not yet"
else:
    open(task.lower(), "w").write("right\\n")
"""
FILES = {"app": "app\n", "base": "base\n", "other": "other\n", "test.sh": "grep -q right $1\n"}
MENDED = "grep -q right $1 # mended\n"


def copies(here: Project) -> list[Project]:
    """Return the run's own worktree, and those of its workers."""
    folders = sorted((here.folder / ".ralph/worktrees").iterdir(), key=lambda path: (len(path.name), path.name))
    return [replace(here, folder=path) for path in folders if path.is_dir()]


def paused(tmp_path: Path) -> tuple[Project, Project, Project, Project]:
    """Return a run that has reached its limit: its own worktree, one of no task, and one with an unfinished task."""
    here = make_project(tmp_path, PLAN, AGENT, **FILES)
    document = run_plan(here, 3, "--parallel", "2", "--max-iterations", "2")
    assert verdicts(document) == {"One": "done", "Two": "pending"}
    own, *workers = copies(here)
    (unfinished,) = [copy for copy in workers if (copy.folder / "two").exists()]
    (idle,) = [copy for copy in workers if copy is not unfinished]
    return here, own, idle, unfinished


def add_line(copy: Project, name: str, text: str) -> None:
    path = copy.folder / name
    path.write_text(text + (path.read_text() if path.exists() else ""))


def commit(copy: Project, name: str, text: str) -> str:
    """Commit a file as the user; return the commit."""
    add_line(copy, name, text)
    copy.git("add", name)
    copy.git("commit", "-q", "-m", f"user: {name}")
    return copy.git("rev-parse", "HEAD")


def show(here: Project, branch: str, name: str) -> str:
    return here.git("show", f"{branch}:{name}")


def test_edits_commits_and_new_files_in_every_worktree_are_adopted(tmp_path: Path) -> None:
    here, own, idle, unfinished = paused(tmp_path)
    made = [commit(copy, name, "user\n") for copy, name in ((own, "c-own"), (idle, "c-idle"), (unfinished, "c-task"))]
    add_line(own, "base", "user: own\n")
    add_line(idle, "other", "user: idle\n")
    add_line(unfinished, "app", "user: with the agent's line\n")
    for copy in (own, idle, unfinished):
        (copy.folder / "test.sh").write_text(MENDED)
        (copy.folder / "draft").write_text(f"draft in {copy.folder.name}\n")
    done = here.bridle("resume", "--json", "--max-iterations", "9")
    document = receipt_of(done, 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}

    branch = document["branch"]
    history = here.git("rev-list", branch).split()
    assert set(made) <= set(history), "each commit of the user is on the branch as it was"
    assert show(here, branch, "base") == "user: own\nbase"
    assert show(here, branch, "other") == "user: idle\nother"
    assert show(here, branch, "app") == "user: with the agent's line\napp\nagent"
    assert show(here, branch, "test.sh") + "\n" == MENDED
    assert here.git("show", "--format=", "--name-only", document["tasks"][1]["commit"]).split() == ["app", "two"]
    for copy in (own, idle, unfinished):
        assert (copy.folder / "draft").read_text() == f"draft in {copy.folder.name}\n"
    assert "draft" not in here.git("ls-tree", "-r", "--name-only", branch).split()
    found = "\n".join(document["found"])
    for text in (
        f"you changed base, test.sh in {own.folder}: committed as",
        f"you changed app in {unfinished.folder}: this is checked and committed with 'Two'",
        f"you added draft in {idle.folder}: left alone",
        "protected as they are now: test.sh",
    ):
        assert text in found
        assert text in done.stderr
    assert "undone" not in document["tasks"][1]
    assert_replays(here)


def test_changes_that_conflict_are_kept_under_a_ref_that_is_named(tmp_path: Path) -> None:
    here, own, idle, unfinished = paused(tmp_path)
    for copy in (own, idle, unfinished):
        (copy.folder / "base").write_text(f"user in {copy.folder.name}\n")
    document = receipt_of(here.bridle("resume", "--json", "--max-iterations", "9"), 0)
    assert show(here, document["branch"], "base") == f"user in {own.folder.name}"
    for copy in (idle, unfinished):
        (line,) = [line for line in document["found"] if f"your changes in {copy.folder} conflict" in line]
        ref = line.partition("kept as ")[2].split(",")[0]
        assert show(here, ref, "base") == f"user in {copy.folder.name}"
    assert_replays(here)


def test_what_the_user_did_survives_a_parallel_task_that_fails_later(tmp_path: Path) -> None:
    agent = "open('work', 'a').write(f'{number}\\n'); open('app', 'a').write('agent\\n')"
    here = make_project(tmp_path, PLAN, agent, **FILES)
    run_plan(here, 3, "--parallel", "2", "--max-iterations", "2", "--tries", "2")
    _, first, second = copies(here)
    mine = commit(first, "mine", "committed\n")
    add_line(second, "base", "user\n")
    document = receipt_of(here.bridle("resume", "--json", "--max-iterations", "9"), 1)
    assert set(verdicts(document).values()) == {"failed"}
    branch = document["branch"]
    assert mine in here.git("rev-list", branch).split()
    assert show(here, branch, "base") == "user\nbase"
    assert show(here, branch, "app") == "app"
    assert_replays(here)


KILLED = """
if task == "Two" and not os.path.exists(calls + "-working"):
    open("app", "a").write("agent\\n")
    open("test.sh", "w").write("exit 0\\n")
    open(calls + "-working", "w").close()
    time.sleep(600)
open(task.lower(), "w").write("right\\n")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_work_of_the_user_beside_an_interrupted_agent_is_the_users(tmp_path: Path, number: signal.Signals) -> None:
    here = make_project(tmp_path, PLAN, KILLED, **FILES)
    with in_background(here, "run", "PLAN.md", "--json", "--parallel", "2") as child:
        wait_until((here.agent_folder / "calls-working").exists)
        child.send_signal(number)
        child.wait(LIMIT_SECONDS)
    wait_until(lambda: FileLock.holder_of(run_folder(here) / LOCK_FILE) is None)
    own, *workers = copies(here)
    (unfinished,) = [copy for copy in workers if "agent" in (copy.folder / "app").read_text()]
    mine = commit(unfinished, "mine", "user\n")
    add_line(unfinished, "app", "user\n")
    add_line(unfinished, "other", "user\n")
    add_line(own, "base", "user\n")
    (unfinished.folder / ".envrc").write_text("user\n")
    document = receipt_of(here.bridle("resume", "--json"), 0)
    branch = document["branch"]
    assert mine in here.git("rev-list", branch).split()
    assert (unfinished.folder / ".envrc").read_text() == "user\n"
    assert show(here, branch, "app") == "user\napp\nagent"
    assert show(here, branch, "other") == "user\nother"
    assert show(here, branch, "base") == "user\nbase"
    assert show(here, branch, "test.sh") + "\n" == FILES["test.sh"], "the agent's change is reverted"
    assert "folded" not in document["tasks"][1]
    assert_replays(here)


def test_a_new_file_of_the_user_beside_an_interrupted_check_stays(tmp_path: Path) -> None:
    began = tmp_path / "beside/began"
    hangs = f"grep -q right $1 || exit 1\ntest $1 = one || test -e {began} || {{ : > {began}; sleep 600; }}\n"
    agent = "open(task.lower(), 'w').write('right\\n')"
    here = make_project(tmp_path, PLAN, agent, **FILES | {"test.sh": hangs})
    with in_background(here, "run", "PLAN.md", "--json", "--parallel", "2") as child:
        wait_until(began.exists)
        child.send_signal(signal.SIGKILL)
        child.wait(LIMIT_SECONDS)
    wait_until(lambda: FileLock.holder_of(run_folder(here) / LOCK_FILE) is None)
    (unfinished,) = [copy for copy in copies(here) if (copy.folder / "two").exists()]
    mine = commit(unfinished, "mine", "user\n")
    (unfinished.folder / "notes").write_text("user\n")
    document = receipt_of(here.bridle("resume", "--json"), 0)
    assert mine in here.git("rev-list", document["branch"]).split()
    assert (unfinished.folder / "notes").read_text() == "user\n"


def test_an_unfinished_merge_of_the_user_in_a_workers_copy_is_refused_by_name(tmp_path: Path) -> None:
    here, _, idle, _ = paused(tmp_path)
    start = idle.git("rev-parse", "HEAD")
    other = commit(idle, "both", "theirs\n")
    idle.git("checkout", "-q", start)
    commit(idle, "both", "ours\n")
    with pytest.raises(subprocess.CalledProcessError):
        idle.git("merge", "-q", other)
    refused = here.bridle("resume", "--max-iterations", "9")
    assert refused.returncode == 2
    assert f"a merge is in progress in {idle.folder}" in refused.stderr
    idle.git("merge", "--abort")
    assert verdicts(receipt_of(here.bridle("resume", "--json", "--max-iterations", "9"), 0))["Two"] == "done"
