"""Attack: code in a linked worktree writes a HEAD that names a ref outside of the refs, or links its branch's folder.

A copy of the folder of the branch is writable in the next sandbox, so that the worktree can commit, and the branch is
copied back: it would be any folder of the host.

With the sandbox: the same; only a folder below `refs/heads` is copied, and no link is followed.
Without: it writes wherever you can.
Reported: nothing to report.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bridle.run.isolation import bubblewrap
from bridle.run.isolation.branch_view import make_branch_view
from tests.attacks.fixtures.sandboxed import git, make_target


def writable_folders(git_folder: Path, worktree: Path) -> set[str]:
    mounts = bubblewrap._shared_by_worktrees(git_folder, worktree)
    private = worktree.parents[3] / "private"
    view = make_branch_view(git_folder, worktree, private)
    if view is not None:
        shutil.rmtree(private)
    places = [mount.path for mount in mounts if mount.options[0] == "--bind"] + ([] if view is None else [view.folder])
    return {str(place.relative_to(git_folder.parent)) for place in places}


@pytest.mark.parametrize("name", ["../../../../victim/x", "../x", "a/../../../../../victim/x", "/victim/x", "", "."])
def test_a_ref_outside_of_the_branches_makes_nothing_writable(tmp_path: Path, name: str) -> None:
    target = make_target(tmp_path)
    (tmp_path / "victim").mkdir()
    git(target.work, "worktree", "add", "-q", str(tmp_path / "tree"), "other")
    own = target.work / ".git/worktrees/tree"
    assert writable_folders(target.work / ".git", own) == {".git/objects", ".git/refs/heads", ".git/logs/refs/heads"}
    (own / "HEAD").write_text(f"ref: refs/heads/{name}\n")
    assert writable_folders(target.work / ".git", own) == {".git/objects"}


def test_a_link_to_another_folder_is_not_followed(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    (tmp_path / "victim").mkdir()
    git(target.work, "worktree", "add", "-q", "-b", "mine/a", str(tmp_path / "tree"))
    own = target.work / ".git/worktrees/tree"
    (target.work / ".git/refs/heads/mine/b").symlink_to(tmp_path / "victim")
    for name in ("mine/b/c", "mine/b/d/c"):
        (own / "HEAD").write_text(f"ref: refs/heads/{name}\n")
        assert not any(folder.startswith(".git/refs") for folder in writable_folders(target.work / ".git", own))
    assert not list((tmp_path / "victim").iterdir())
