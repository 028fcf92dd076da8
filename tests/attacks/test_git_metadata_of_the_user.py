"""Attack: an agent changes files in `.git` that git obeys, or removes the user's stashes.

`commondir` leads git to a configuration of the agent, in the repository or in another worktree of the user; `remotes`
decides where a push goes; `logs` has all stashes but the newest. Everything is restored before Bridle starts git again,
and named.

With the sandbox: the same; it ends before, see `test_sandbox_adds_files_to_git.py`.
Without: restored before git runs again.
Reported: in the receipt, by name.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_at_work import attack
from tests.attacks.fixtures.sandboxed import git, make_target


def test_what_git_obeys_is_restored(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    git(work, "worktree", "add", "-q", str(tmp_path / "other-work"), "other")
    script = (
        "mkdir -p .git/x .git/remotes; cp -r .git/config .git/refs .git/objects .git/HEAD .git/x/;"
        " git config -f .git/x/config core.fsmonitor 'touch owned'; echo x > .git/commondir;"
        " echo 'URL: https://evil.example/x' > .git/remotes/origin; mkfifo .git/config.worktree;"
        " cd .git/worktrees/other-work; rm index; echo ../../x > commondir"
    )
    paths = attack(work, script)
    other = ".git/worktrees/other-work"
    expected = {".git/commondir", ".git/remotes/origin", ".git/config.worktree", f"{other}/index", f"{other}/commondir"}
    assert set(paths) == expected
    for folder in (work, tmp_path / "other-work"):
        assert git(folder, "config", "--default", "none", "core.fsmonitor") == "none"
        assert git(folder, "status", "--porcelain", "--untracked-files=no") == ""
    assert not (work / "owned").exists()
    assert not (work / ".git/remotes/origin").exists()


@pytest.mark.parametrize(
    ("script", "is_stash_reported"),
    [("rm -rf .git/logs", False), ("git stash drop -q", True), ("git stash clear", True)],
)
def test_stashes_are_restored(tmp_path: Path, script: str, *, is_stash_reported: bool) -> None:
    work = make_target(tmp_path).work
    for text in ("one", "two"):
        (work / "bridle.toml").write_text(text)
        git(work, "stash", "-q", "-m", text)
    stashes, log = git(work, "stash", "list", "--format=%H"), git(work, "reflog", "--format=%H")
    paths = attack(work, script)
    assert (".git/logs/refs/stash" in paths, "refs/stash" in paths) == (not is_stash_reported, is_stash_reported)
    assert git(work, "stash", "list", "--format=%H") == stashes
    assert git(work, "reflog", "--format=%H") == log
    assert git(work, "rev-parse", "stash@{0}", "refs/stash").split() == [stashes.split()[0]] * 2


def test_a_stash_of_the_agent_and_a_removed_worktree_of_the_user_stay_as_they_are(tmp_path: Path) -> None:
    work = make_target(tmp_path).work
    git(work, "worktree", "add", "-q", str(tmp_path / "other-work"), "other")
    (work / "bridle.toml").write_text("of the user")
    git(work, "stash", "-q")
    script = "echo x > bridle.toml; git stash -q; git worktree remove ../other-work; git worktree add -q ../new"
    paths = attack(work, script)
    assert set(paths) == {"refs/stash", "new"}
    assert len(git(work, "stash", "list").splitlines()) == 2
    assert not (work / ".git/worktrees/other-work").exists()
    assert git(tmp_path / "new", "status", "--porcelain") == ""
