"""A resume after a power cut: git has lost commits that the journal has. It says so, and does their tasks again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import assert_replays, receipt_of, verdicts

PLAN = """# Power

Checks: `true`

## One
Check: `test -f one`

## Two

## Three
Check: `test -f three`
"""
AGENT = "open(task.lower(), 'w').write(task)"
CASES = ("gone", "empty")


def start(folder: Path, iterations: int, *flags: str, agent: str = AGENT) -> tuple[Project, dict[str, Any]]:
    here = make_project(folder, PLAN, agent, **{"app.txt": "first\n"})
    (here.folder / "notes.txt").write_text("untracked\n")
    done = here.bridle("run", "--max-iterations", str(iterations), "--json", *flags)
    return here, receipt_of(done, 3)


def lose(here: Project, name: str, case: str) -> Path:
    """Lose an object as a power cut does."""
    path = here.folder / ".git/objects" / name[:2] / name[2:]
    path.unlink()
    if case == "empty":
        path.touch()
    return path


def commits_of(document: dict[str, Any]) -> list[str]:
    return [task["commit"] for task in document["tasks"] if task["commit"]]


@pytest.mark.parametrize(("case", "flags"), [("gone", ()), ("empty", ()), ("empty", ("--worktree",))])
def test_the_task_of_a_lost_commit_is_done_again(tmp_path: Path, case: str, flags: tuple[str, ...]) -> None:
    here, document = start(tmp_path, 2, *flags)
    one, two = commits_of(document)
    main = here.git("rev-parse", "main")
    lose(here, two, case)
    done = here.bridle("resume", "--max-iterations", "9", "--json")
    document = receipt_of(done, 0)
    assert verdicts(document) == {"One": "done", "Two": "done (guard only)", "Three": "done"}
    assert [call["task"] for call in here.calls()].count("Two") == 2  # it has no check of its own
    assert [call["task"] for call in here.calls()].count("One") == 1
    found = "\n".join(document["found"])
    for text in (f"git has lost the commit {two[:12]}", f"which is at {one[:12]} again", "'Two' is lost"):
        assert text in found
        assert text in done.stderr
    assert ("removed an empty file from .git/objects" in found) == (case == "empty")
    branch = document["branch"]
    assert here.git("merge-base", one, branch) == one
    assert here.git("ls-tree", "-r", "--name-only", branch).split() == ["PLAN.md", "app.txt", "one", "three", "two"]
    assert here.git("rev-parse", "main") == main
    saved = found.partition("kept as ")[2].split()[0]
    assert here.git("show", f"{saved}:two") == "Two"
    assert (here.folder / "notes.txt").read_text() == "untracked\n"
    assert here.git("fsck", "--connectivity-only", "--no-dangling", branch, saved) == ""
    assert_replays(here)


@pytest.mark.parametrize("case", CASES)
def test_all_objects_of_two_commits_are_lost_and_the_user_has_edited(tmp_path: Path, case: str) -> None:
    here, document = start(tmp_path, 2)
    for name in here.git("rev-list", "--objects", "--no-object-names", "main..HEAD").split():
        lose(here, name, case)
    (here.folder / "app.txt").write_text("user\nfirst\n")
    (here.folder / "draft.txt").write_text("draft\n")
    document = receipt_of(here.bridle("resume", "--max-iterations", "9", "--json"), 0)
    assert verdicts(document) == {"One": "done", "Two": "done (guard only)", "Three": "done"}
    assert len(here.calls()) == 5
    assert (here.folder / "app.txt").read_text() == "user\nfirst\n"
    assert (here.folder / "draft.txt").read_text() == "draft\n"
    saved = "\n".join(document["found"]).partition("kept as ")[2].split()[0]
    assert here.git("show", f"{saved}:two") == "Two"
    assert here.git("fsck", "--connectivity-only", "--no-dangling", "HEAD", saved) == ""


def test_a_commit_and_the_content_of_its_file_are_lost_and_its_trees_are_not(tmp_path: Path) -> None:
    """Git writes a tree without looking at folders that the index has the trees of: the snapshot would miss a file."""
    agent = (
        f"{AGENT}; os.makedirs('sub', exist_ok=True); open(f'sub/{{task.lower()}}', 'w').write(f'{{task}} {{number}}')"
    )
    here, document = start(tmp_path, 2, agent=agent)
    here.git("reset", "-q")  # the index of the user has the trees
    lost = here.git("show", "HEAD:sub/two")
    for name in here.git("rev-parse", "HEAD", "HEAD:sub/two").split():
        lose(here, name, "gone")
    document = receipt_of(here.bridle("resume", "--max-iterations", "9", "--json"), 0)
    saved = "\n".join(document["found"]).partition("kept as ")[2].split()[0]
    assert here.git("show", f"{saved}:sub/two") == lost
    assert here.git("fsck", "--connectivity-only", "--no-dangling", "HEAD", saved) == ""


def test_a_commit_is_lost_while_the_user_has_another_branch_checked_out(tmp_path: Path) -> None:
    here, document = start(tmp_path, 1)
    here.git("checkout", "-q", "main")
    lose(here, commits_of(document)[0], "gone")
    document = receipt_of(here.bridle("resume", "--max-iterations", "9", "--json"), 0)
    assert [call["task"] for call in here.calls()].count("One") == 2
    assert "you changed" not in "\n".join(document["found"])


@pytest.mark.parametrize("case", CASES)
def test_an_older_commit_or_a_file_of_the_newest_is_lost(tmp_path: Path, case: str) -> None:
    here, document = start(tmp_path, 2)
    head, blob = here.git("rev-parse", "HEAD", "HEAD:two").split()
    path = here.folder / ".git/objects" / blob[:2] / blob[2:]
    lose(here, blob, case)
    refused = here.bridle("resume", "--max-iterations", "9")
    assert refused.returncode == 2
    assert f"git has lost the object {blob}, the content of two, which {document['branch']} needs" in refused.stderr
    assert "fatal" not in refused.stderr
    here.git("hash-object", "-w", "two")  # as the remedy says
    assert path.stat().st_size > 0

    lose(here, commits_of(document)[0], case)
    refused = here.bridle("resume", "--max-iterations", "9")
    assert refused.returncode == 2
    assert f"git has lost the object {commits_of(document)[0]}" in refused.stderr
    assert "fatal" not in refused.stderr
    assert here.git("rev-parse", document["branch"]) == head
    assert len(here.calls()) == 2


def test_the_file_of_the_branch_is_empty(tmp_path: Path) -> None:
    here, document = start(tmp_path, 1)
    (here.folder / ".git/refs/heads" / document["branch"]).write_bytes(b"")
    done = here.bridle("resume", "--max-iterations", "9", "--json")
    assert verdicts(receipt_of(done, 0)) == {"One": "done", "Two": "done (guard only)", "Three": "done"}
    assert len(here.calls()) == 3
    assert f"was empty, as after a power cut; it is at {commits_of(document)[0][:12]} again" in done.stderr


def test_with_parallel_workers_the_last_commit_is_done_again(tmp_path: Path) -> None:
    here, document = start(tmp_path, 2, "--parallel", "2")
    branch = document["branch"]
    last, first = here.git("rev-list", f"main..{branch}").split()
    (title,) = [task["title"] for task in document["tasks"] if task["commit"] == last]
    lose(here, last, "empty")
    done = here.bridle("resume", "--max-iterations", "9", "--json")
    document = receipt_of(done, 0)
    assert verdicts(document) == {"One": "done", "Two": "done (guard only)", "Three": "done"}
    assert sorted(call["task"] for call in here.calls()) == sorted(["One", "Two", "Three", title])
    found = "\n".join(document["found"])
    assert f"which is at {first[:12]} again" in found
    assert f"of {title!r} is lost: the task is done again" in found
    assert here.git("ls-tree", "-r", "--name-only", branch).split() == ["PLAN.md", "app.txt", "one", "three", "two"]
    assert here.git("fsck", "--connectivity-only", "--no-dangling", branch) == ""
    assert_replays(here)


def test_with_parallel_workers_a_lost_commit_below_others_is_named_with_a_way_out(tmp_path: Path) -> None:
    here, document = start(tmp_path, 2, "--parallel", "2")
    head, lost = here.git("rev-list", f"main..{document['branch']}").split()
    lose(here, lost, "empty")
    refused = here.bridle("resume", "--max-iterations", "9")
    assert refused.returncode == 2
    assert f"git has lost the object {lost}" in refused.stderr
    assert "from a backup or another clone" in refused.stderr
    assert "fatal" not in refused.stderr
    assert here.git("rev-parse", document["branch"]) == head
