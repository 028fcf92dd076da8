"""Attack: an agent adds a ref that git finds instead of the user's branch, or moves one of another kind.

`refs/main` comes before `refs/heads/main`, `refs/origin/main`, a tag or a branch `origin/main` before the branch of the
remote, and a file `.git/main` before all of them: the user would look at the agent's commit, or merge it. The branch of
another run would be merged as verified.

With the sandbox: the same; but no file is added to `.git` itself, and no branch of another run is moved.
Without: what the run may not move is removed, or what it was before. A moved branch of the user is only reported.
Reported: in the receipt, by name.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.loop.protection.git_files import git_metadata
from bridle.loop.protection.git_files.restore_refs import restore_refs
from bridle.workspace.git import Git
from tests.attacks.fixtures.agent_at_work import attack
from tests.attacks.fixtures.sandboxed import git, make_target

EVIL = "EVIL=$(git commit-tree HEAD^{tree} -p HEAD -m evil); "
ADDED = {
    "refs/main": "refs/main",
    "refs/origin/main": "refs/origin/main",
    "refs/remotes/origin/dev": "refs/remotes/origin/dev",
    "refs/tags/main": "refs/tags/main",
    "refs/heads/origin/main": "origin/main",
    "main": ".git/main",
    "origin/main": ".git/origin/main",
    "worktrees/other-work/main": ".git/worktrees/other-work/main",
}
MOVED = ("refs/remotes/origin/main", "refs/tags/v1", "refs/odd")


def write_all(names: tuple[str, ...], value: str) -> str:
    return "".join(f"mkdir -p $(dirname .git/{name}); echo {value} > .git/{name}; " for name in names)


def test_they_are_removed_or_restored(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    git(work, "worktree", "add", "-q", str(tmp_path / "other-work"), "other")
    for name in MOVED:
        git(work, "update-ref", name, "HEAD")
    git(work, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    before = git(work, "for-each-ref")
    head = "echo ref: refs/heads/other > .git/refs/remotes/origin/HEAD; "
    reported = attack(work, EVIL + write_all((*ADDED, *MOVED), "$EVIL") + head)
    assert set(reported) == {*ADDED.values(), *MOVED, "refs/remotes/origin/HEAD"}
    assert git(work, "for-each-ref") == before
    assert (work / ".git/refs/remotes/origin/HEAD").read_text() == "ref: refs/remotes/origin/main\n"
    assert git(work, "rev-parse", "main", "origin/main", "HEAD").split() == [git(work, "rev-parse", "HEAD")] * 3
    assert git(tmp_path / "other-work", "rev-parse", "main") == git(work, "rev-parse", "HEAD")


def test_a_branch_that_names_another_is_restored_itself_and_new_names_stay(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    before = git(work, "rev-parse", "main", "other")
    reported = attack(work, "git symbolic-ref refs/heads/other refs/heads/main; git branch new; git tag new-tag")
    assert reported["other"] == "it was moved to ref: refs/heads/main; it was restored"
    assert "it was created" in reported["new"]
    assert "it was created" in reported["refs/tags/new-tag"]
    assert git(work, "rev-parse", "main", "other") == before
    assert (work / ".git/refs/heads/other").read_text().strip() == before.split()[1]
    assert git(work, "rev-parse", "new", "new-tag").split() == [before.split()[0]] * 2


def test_the_branch_of_another_run_is_restored_unless_that_works(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    for name in ("own", "resting", "added-to", "deleted", "working"):
        git(work, "branch", f"bridle/{name}")
    second = git(work, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "second")
    git(work, "update-ref", "refs/heads/bridle/resting", second)
    before = git_metadata.read_metadata(work)
    evil = git(work, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "evil")
    for name in ("own", "resting", "added-to", "working"):
        git(work, "update-ref", f"refs/heads/bridle/{name}", evil)
    git(work, "update-ref", "-d", "refs/heads/bridle/deleted")
    now = git_metadata.read_metadata(work)
    resting = {"bridle/resting", "bridle/added-to", "bridle/deleted"}
    reports = asyncio.run(
        restore_refs(Git(work), before, now, None, own="bridle/own", is_resting=lambda name: name in resting)
    )
    assert {report.path for report in reports} == resting
    shown = git(work, "for-each-ref", "--format=%(refname:lstrip=3) %(objectname)", "refs/heads/bridle")
    first = git(work, "rev-parse", "main")
    expected = {"own": evil, "resting": second, "added-to": evil, "deleted": first, "working": evil}
    assert dict(line.split() for line in shown.splitlines()) == expected
