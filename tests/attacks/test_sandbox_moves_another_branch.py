"""Attack: an agent in a worktree of a run moves the user's branch, or the branch of another run.

In the sandbox of a worktree only its own HEAD and the objects are writable.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.sandboxed import git, make_target


def test_only_the_own_head_moves(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    worktree = tmp_path / "worktree"
    git(target.work, "worktree", "add", "-q", "--detach", str(worktree))
    before = git(target.work, "rev-parse", "main", "other")
    commit = "git commit -q --allow-empty -m work"
    assert target.attack(commit, work=worktree).exit_code == 0
    for script in (
        "git branch -f other HEAD",
        "git update-ref refs/heads/main HEAD",
        "git branch -D other",
        "git tag t",
    ):
        assert target.attack(script, work=worktree).exit_code != 0, script
    assert git(target.work, "rev-parse", "main", "other") == before
    assert git(worktree, "log", "-1", "--format=%s") == "work"
