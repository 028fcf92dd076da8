"""The commits of a run are found again on a branch that the user has rewritten, and no others are taken for them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.loop.adoption import lost_commits, run_commits
from bridle.loop.process.receipt import Receipt, TaskReceipt
from bridle.loop.working_copy.refs import run_branch
from tests.loop.fixtures.repositories import Repository, make_repository


def receipt(here: Repository, **commits: str) -> Receipt:
    tasks = tuple(TaskReceipt(title=title, commit=commit) for title, commit in commits.items())
    return Receipt(tip=here.git("rev-parse", "HEAD").strip(), tasks=tasks)


def test_a_commit_of_another_run_with_the_same_task_is_not_taken_for_the_rewritten_one(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    here.write({"a.txt": "2\n"})
    known = here.commit("T")
    done = receipt(here, T=known)
    here.git("commit", "-q", "--amend", "--no-edit", "--date=2001-01-01T00:00:00Z")
    rewritten = here.git("rev-parse", "HEAD").strip()
    here.write({"b.txt": "of another run\n"})
    here.git("add", "-A")
    here.git("commit", "-q", "-m", "T\n\nBridle-Run: another\nBridle-Task: T\nBridle-Iteration: 1")
    tip = here.git("rev-parse", "HEAD").strip()
    assert asyncio.run(run_commits.locate(here.context, done, known=known, tip=tip)) == ({"T": rewritten}, [])


def test_a_commit_with_a_new_message_is_found_beside_others_of_the_same_second(tmp_path: Path) -> None:
    """The user commits on another branch and on the run's in the second of the task's commit, and merges."""
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    here.git("config", "user.name", "user")
    date = "--date=2026-01-01T00:00:00Z"

    def commit(name: str, *words: str) -> str:
        here.write({name: " ".join(words)})
        here.git("add", name)
        here.git("commit", "-q", date, "-m", f"user: {name}", *words)
        return here.git("rev-parse", "HEAD").strip()

    commit("before.txt")
    known = commit("a.txt")
    done = receipt(here, T=known)
    rewritten = commit("a.txt", "--amend")
    here.git("checkout", "-q", "-b", "other", f"{known}^")
    other = commit("other.txt")
    for ours, theirs in ((rewritten, other), (other, rewritten)):
        here.git("checkout", "-q", ours)
        here.git("merge", "-q", "--no-edit", theirs)
        tip = here.git("rev-parse", "HEAD").strip()
        assert asyncio.run(run_commits.locate(here.context, done, known=known, tip=tip)) == ({"T": rewritten}, [])


def test_a_task_whose_commit_is_reverted_is_found_unless_the_revert_is_reverted(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n", "b.txt": "1\n"})
    commits = {}
    for title, name in (("A", "a.txt"), ("B", "b.txt")):
        here.write({name: "2\n"})
        commits[title] = here.commit(title)
    done, known = receipt(here, **commits), here.git("rev-parse", "HEAD").strip()
    found = []
    for wanted in (commits["A"], "HEAD", commits["B"]):
        here.git("revert", "--no-edit", wanted)
        tip = here.git("rev-parse", "HEAD").strip()
        found.append(asyncio.run(run_commits.find_reverted(here.context, done, known=known, tip=tip)))
    assert found == [["A"], [], ["B"]]


def test_a_run_goes_back_to_the_newest_commit_that_is_complete(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    commits = []
    for number in range(3):
        here.write({"a.txt": f"task {number}\n"})
        commits.append(here.commit(f"T{number}"))
    lost = receipt(here, **{f"T{number}": commit for number, commit in enumerate(commits)})
    (here.folder / ".git/objects" / commits[2][:2] / commits[2][2:]).unlink()
    found = asyncio.run(lost_commits._newest_complete(here.context, lost, []))
    assert found == commits[1]


def test_a_commit_from_before_the_end_of_an_interrupted_agent_is_the_agents(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    known, branch = here.git("rev-parse", "HEAD").strip(), run_branch(here.context.run)
    here.git("checkout", "-q", "-b", branch)
    here.git("commit", "-q", "--allow-empty", "-m", "of an agent, or of the user")
    head, moved_at = here.git("rev-parse", "HEAD").strip(), (here.folder / ".git/refs/heads" / branch).stat().st_mtime

    def find(*, was_working: bool, ended_at: float) -> str | None:
        return asyncio.run(run_commits.find_tip(here.context, known, was_working=was_working, ended_at=ended_at))

    assert find(was_working=True, ended_at=moved_at + 1) == known
    assert find(was_working=True, ended_at=moved_at - 1) == head
    assert find(was_working=False, ended_at=moved_at + 1) == head
