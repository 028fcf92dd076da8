"""What agents and checks leave in git is undone or reported, and the run continues."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.fixtures import sandbox
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import ONE_TASK, assert_replays, receipt_of, run_plan, verdicts

DIVERGE = (
    "git checkout -q -b other-{0}; echo a > {0}.txt; git commit -qam a; git checkout -q -;"
    " echo b > {0}.txt; git commit -qam b; "
)
MESSES = {
    "merge": DIVERGE.format("merge") + "git merge other-merge",
    "rebase": DIVERGE.format("rebase") + "git rebase other-rebase",
    "pick": DIVERGE.format("pick") + "git cherry-pick other-pick",
    "stash": "echo a > stash.txt; git stash; echo b > stash.txt; git commit -qam b; git stash pop",
    "index": "echo no index > .git/index",
    "head": "echo no head > .git/HEAD",
    "lock": "touch .git/index.lock",
}
# The first iteration of each task leaves its mess, the second one does the task.
AGENT = f"""
import subprocess
mess = {MESSES!r}[task.lower()]
if sum(json.loads(line)["task"] == task for line in open(calls)) == 1:
    subprocess.run(mess, shell=True, capture_output=True)
    end(structured_output=answer | {{"done": False}})
open(task.lower() + ".txt", "w").write("done")
"""
FILES = {f"{name}.txt": "0\n" for name in MESSES}


def plan_of(*names: str) -> str:
    tasks = (f"## {name.capitalize()}\nMay edit: *.txt\nCheck: `grep -q done {name}.txt`\n" for name in names)
    return "# Messes\n\n" + "\n".join(tasks)


def test_a_mess_of_an_agent_is_undone_and_reported_and_the_next_iteration_continues(tmp_path: Path) -> None:
    here = make_project(tmp_path, plan_of(*MESSES), AGENT, **FILES)
    document = run_plan(here, 0)
    assert set(verdicts(document).values()) == {"done"}
    assert [task["iterations"] for task in document["tasks"]] == [2] * len(MESSES)
    reported = {
        task["title"]: " ".join(report["what"] for report in task.get("reported", ())) for task in document["tasks"]
    }
    assert "an unfinished merge was ended" in reported["Merge"]
    # The sandbox keeps nothing of a rebase but its conflicts.
    assert ("merge conflicts" if sandbox.is_on() else "an unfinished rebase was ended") in reported["Rebase"]
    assert "an unfinished cherry-pick was ended" in reported["Pick"]
    assert "merge conflicts" in reported["Stash"]
    assert "git could not read it" in reported["Index"]
    assert "git could not read it" in reported["Head"] or sandbox.is_on(), "it keeps no HEAD that git cannot read"
    second = next(call["prompt"] for call in here.calls()[1:] if call["task"] == "Merge")
    assert "You left conflict markers in merge.txt" in second
    assert here.git("status", "--porcelain") == ""
    assert all(len(line.split()) == 2 for line in here.git("log", "--format=%H %P", "main..").splitlines())
    assert_replays(here)


def test_conflict_markers_are_never_committed_as_done(tmp_path: Path) -> None:
    plan = "# One\n\n## Merge\nCheck: `test -f one`\n"
    agent = AGENT.replace('open(task.lower() + ".txt", "w").write("done")', "open('one', 'w').close()")
    here = make_project(tmp_path, plan, agent, **FILES)
    document = run_plan(here, 1, "--tries", "3")
    (task,) = document["tasks"]
    assert (task["verdict"], task["tries"]) == ("failed", 3)
    assert "the agent left merge conflicts in merge.txt" in task["reason"]
    assert here.git("show", "HEAD:merge.txt") == "0"


def test_files_that_an_agent_marks_as_unchanged_are_committed_and_marks_of_the_user_stay(tmp_path: Path) -> None:
    agent = """
import subprocess
for name, mark in {"a": "--skip-worktree", "b": "--assume-unchanged"}.items():
    open(name, "w").write("1")
    subprocess.run(["git", "update-index", mark, name])
open("one", "w").close()
"""
    here = make_project(tmp_path, ONE_TASK, agent, a="0\n", b="0\n", c="0\n")
    here.git("update-index", "--assume-unchanged", "c")
    document = run_plan(here, 0)
    assert [report["path"] for report in document["tasks"][0]["reported"]] == ["a", "b"]
    assert here.git("show", "HEAD:a") == here.git("show", "HEAD:b") == "1"
    assert here.git("ls-files", "-v", "a", "b", "c").splitlines() == ["H a", "H b", "h c"]


def test_a_worker_whose_agent_destroys_its_worktree_does_not_end_the_run(tmp_path: Path) -> None:
    agent = AGENT.replace("mess = ", "mess = 'rm .git; git init -q' if task == 'Lock' else ")
    here = make_project(tmp_path, plan_of("lock", "merge", "rebase"), agent, **FILES)
    document = run_plan(here, 0, "--parallel", "3")
    assert set(verdicts(document).values()) == {"done"}
    assert_replays(here)


CHECK_MESSES = (
    DIVERGE.format("merge") + "git merge other-merge",
    "echo a > stash.txt; git stash; echo b > stash.txt; git commit -qam b; git stash pop",
    "touch .git/index.lock",
    "echo 1 > pick.txt; git update-index --skip-worktree pick.txt",
    "echo 1 > pick.txt; git update-index --assume-unchanged pick.txt",
    DIVERGE.format("merge") + "git rebase other-merge",
    DIVERGE.format("merge") + "git cherry-pick other-merge",
    "echo a > pick.txt; git commit -qam a; echo b > pick.txt; git commit -qam b; git revert HEAD~1",
    "git bisect start; git bisect bad; git bisect good HEAD~1",
)


def test_a_mess_of_a_check_is_undone_before_the_commit(tmp_path: Path) -> None:
    for number, mess in enumerate(CHECK_MESSES):
        check = f"git branch -q -D other-merge; {mess}; test -f one"
        plan = f"# One\n\n## One\nCheck: `{check}`\n\n## Two\nCheck: `test -f two`\n"
        here = make_project(tmp_path / str(number), plan, "open(task.lower(), 'w').close()", **FILES)
        document = run_plan(here, 0)
        assert set(verdicts(document).values()) == {"done"}, mess
        assert here.git("diff", "--name-only", "main", "HEAD").splitlines() == ["one", "two"]
        assert all(len(line.split()) == 2 for line in here.git("log", "--format=%H %P", "main..").splitlines())


def test_variables_that_name_another_repository_do_not_reach_agents_and_checks(tmp_path: Path) -> None:
    agent = """
import subprocess
top = subprocess.run(["git", "rev-parse", "--show-toplevel"], capture_output=True, text=True).stdout.strip()
open("one", "w").write(top + subprocess.run(["git", "ls-files"], capture_output=True, text=True).stdout)
"""
    plan = "# One\n\n## One\nCheck: `grep -q repository one && grep -q PLAN.md one && git ls-files | grep PLAN.md`\n"
    here = make_project(tmp_path, plan, agent)
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], timeout=60, check=True)
    variables = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / "index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git/objects"),
    }
    document = receipt_of(here.bridle("run", "PLAN.md", "--json", **variables), 0)
    assert verdicts(document) == {"One": "done"}
    assert here.bridle("status", **variables).returncode == 0
