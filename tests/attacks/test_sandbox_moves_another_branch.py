"""Attack: an agent in a worktree of a run moves the user's branch, or the branch of another run.

In the sandbox of a worktree only its own HEAD and the objects are writable.

With the sandbox: impossible in a worktree.
Without: possible; your branch and deleted ones are restored.
Reported: in the receipt, under `reported`.
"""

from __future__ import annotations

from pathlib import Path

from bridle.run.isolation.sandbox_rules import OFF
from tests.attacks.fixtures.sandboxed import git, make_target


def test_only_the_own_head_moves(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    worktree = tmp_path / "worktree"
    git(target.work, "worktree", "add", "-q", "--detach", str(worktree))
    before = git(target.work, "rev-parse", "main", "other")
    commit = "git commit -q --allow-empty -m work"
    assert target.works(commit, work=worktree)
    for script in (
        "git branch -f other HEAD",
        "git update-ref refs/heads/main HEAD",
        "git branch -D other",
        "git tag t",
    ):
        assert target.works(script, work=worktree) == (sandbox == OFF), script
    if sandbox != OFF:
        assert git(target.work, "rev-parse", "main", "other") == before
    assert git(worktree, "log", "-1", "--format=%s") == "work"
