"""A user who works in the repository of a run, between its drivers and during them, finds every line where it was left.

The user commits, mends a test, merges main, renames the folder, adds and edits files, answers late, retries and hits
Ctrl-C, while the agents of the run fail, ask and commit.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.loop_commands import assert_replays, in_background, receipt_of, verdicts
from tests.run.fixtures.fake_agent import wait_until

PLAN = """# Beside

## Ask
Check: `test -f ask`

## Fail
Check: `sh tests/fail.sh`

## Work
Check: `test -f work`
"""
# It asks about the first task, fails the second until its test is mended, and is interrupted in the third.
AGENT = """
with open("app.txt", "a") as file: file.write(f"agent: {task}\\n")
if task == "Ask" and "green" not in prompt:
    answer |= {"question": "Which colour?", "done": False}
elif task == "Work" and not os.path.exists(os.path.join(os.path.dirname(calls), "interrupted")):
    os.system("git add app.txt && git commit -q -m 'the agent itself'")
    open(os.path.join(os.path.dirname(calls), "interrupted"), "w").close()
    time.sleep(600)
else:
    open(task.lower(), "w").close()
"""


def write(here: Project, name: str, text: str) -> None:
    (here.folder / name).write_text(text)


def commit(here: Project, *names: str) -> str:
    here.git("add", *names)
    here.git("commit", "-q", "-m", f"user: {' '.join(names)}")
    return here.git("rev-parse", "HEAD")


def test_every_line_of_the_user_is_where_the_user_left_it(tmp_path: Path) -> None:
    files = {"app.txt": "first\n", "other.txt": "other\n", "tests/fail.sh": "test -f never\n", "local.cfg": "default\n"}
    files[".gitignore"] = ".envrc\n"
    here = make_project(tmp_path, PLAN, AGENT, **files)
    write(here, "notes.txt", "before the run\n")
    here.git("update-index", "--skip-worktree", "local.cfg")
    write(here, "local.cfg", "user: local\n")

    # Ctrl-C while the agent of the third task works; the first asked, the second failed.
    with in_background(here, "run", "PLAN.md", "--json", "--tries", "1") as child:
        wait_until((here.agent_folder / "interrupted").exists)
        write(here, "notes.txt", "before the run\nduring the run\n")
        child.send_signal(signal.SIGINT)
        child.wait(LIMIT_SECONDS)
    assert here.git("branch", "--show-current").startswith("bridle/")

    # The user edits, adds, mends the test and commits it.
    write(here, "other.txt", "user: edited\nother\n")
    write(here, "draft.txt", "user: draft\n")
    write(here, ".envrc", "user: environment\n")
    write(here, "tests/fail.sh", "test -f fail\n")
    mended = commit(here, "tests/fail.sh")
    elsewhere = replace(here, folder=tmp_path / "elsewhere")
    here.git("worktree", "add", "-q", str(elsewhere.folder), "main")
    write(elsewhere, "main.txt", "user: on main\n")
    commit(elsewhere, "main.txt")
    done = here.bridle("resume", "--json")
    document = receipt_of(done, 4)
    assert verdicts(document) == {"Ask": "needs you", "Fail": "failed", "Work": "done"}
    assert "you added draft.txt" in done.stderr
    assert here.git("merge-base", mended, "HEAD") == mended

    # The user amends the last commit with other words, merges main, and renames the branch and the folder.
    write(here, "other.txt", "user: amended\n" + (here.folder / "other.txt").read_text())
    here.git("commit", "-q", "-a", "--amend", "-m", "reworded")
    here.git("merge", "-q", "--no-edit", "main")
    merge = here.git("rev-parse", "HEAD")
    here.git("branch", "-m", "mine")
    renamed = replace(here, folder=tmp_path / "renamed")
    here.folder.rename(renamed.folder)
    here = renamed

    # The user retries the task whose test is mended now, and answers late.
    assert here.bridle("retry", "Fail").returncode == 0
    effect = document["tasks"][0]["effect"]
    document = receipt_of(here.bridle("answer", effect, "green", "--resume", "--json"), 0)
    assert verdicts(document) == {"Ask": "done", "Fail": "done", "Work": "done"}

    _assert_lines(here, merge, mended)
    assert sorted(document["commits"]) == sorted(
        line.split()[0] for line in here.git("log", "--format=%H %s", "main..HEAD").splitlines()
        if line.split()[1] in ("Ask", "Fail", "reworded")
    )  # fmt: skip
    assert here.git("rev-parse", "mine") == merge
    assert "user_commits" not in document  # all of them are on the user's branch, too
    assert_replays(here)


def _assert_lines(here: Project, merge: str, mended: str) -> None:
    assert (here.folder / "notes.txt").read_text() == "before the run\nduring the run\n"
    assert (here.folder / "draft.txt").read_text() == "user: draft\n"
    assert (here.folder / ".envrc").read_text() == "user: environment\n"
    assert (here.folder / "local.cfg").read_text() == "user: local\n"
    assert here.git("show", "HEAD:local.cfg") == "default"
    assert (here.folder / "tests/fail.sh").read_text() == "test -f fail\n"
    assert (here.folder / "main.txt").read_text() == "user: on main\n"
    assert (here.folder / "other.txt").read_text() == "user: amended\nuser: edited\nother\n"
    assert (here.folder / "app.txt").read_text().startswith("first\n")
    assert here.git("status", "--porcelain").splitlines() == ["?? draft.txt", "?? notes.txt"]
    history = here.git("rev-list", "HEAD").split()
    assert {merge, mended} <= set(history)
    assert here.git("log", "--format=%H", "main..", "--", "tests/fail.sh") == mended
    assert here.git("show", "--format=", "--name-only", mended) == "tests/fail.sh"


# Commits its own file again and again from the first agent on, as a program that saves all changes does.
COMMITS = """until [ -e ../beside/calls ]; do sleep 0.05; done
for n in $(seq 60); do echo line >> mine; git add mine; git commit -q -m mine -- mine; sleep 0.05; done"""


def test_a_program_that_commits_in_a_loop_keeps_no_task_from_being_done(tmp_path: Path) -> None:
    plan = "# P\n\n## One\nCheck: `test -f one && sleep 0.3`\n\n## Two\nCheck: `test -f two`\n"
    here = make_project(tmp_path, plan, "open(task.lower(), 'w').close()")
    loop = subprocess.Popen(["sh", "-c", COMMITS], cwd=here.folder, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        document = receipt_of(here.bridle("run", "PLAN.md", "--json"), 0)
    finally:
        os.killpg(loop.pid, signal.SIGKILL)
        loop.wait()
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert document["iterations"] == 2
    (here.folder / ".git/index.lock").unlink(missing_ok=True)
    for task in document["tasks"]:
        assert {"PLAN.md", "one"} <= set(here.git("ls-tree", "--name-only", task["commit"]).split())
    assert "line" in (here.folder / "mine").read_text()
    assert_replays(here)
