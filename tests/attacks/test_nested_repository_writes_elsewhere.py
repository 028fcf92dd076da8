"""Attack: `core.worktree` of a nested repository names the home of the user, where Bridle's own git checks out files.

A rollback checks out the earlier commit in a nested repository, outside of the sandbox. The setting is removed from a
new repository, and git is told which folder it works in wherever Bridle starts it in one, also of the user.

With the sandbox: the same; the settings of a nested repository are writable in it.
Without: the setting is removed, and nothing is written out of the nested repository.
Reported: in the receipt, with the settings.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bridle.loop.effect_results import FileReport
from bridle.loop.protection.git_files import nested_repositories
from bridle.loop.protection.git_files.nested_repositories import Repositories
from bridle.workspace import snapshot
from bridle.workspace.git import Git
from bridle.workspace.restore import restore
from bridle.workspace.restore_paths import restore_paths
from tests.attacks.fixtures.sandboxed import git, make_target

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.com")


def make_nested(folder: Path) -> str:
    """Make a repository with a file in its first commit and none in its second; return the first."""
    git(folder.parent, "init", "-q", folder.name)
    (folder / ".zshenv").write_text("evil\n")
    git(folder, "add", "-A")
    git(folder, *IDENTITY, "commit", "-q", "-m", "first")
    return git(folder, "rev-parse", "HEAD")


def spoil(nested: Path, home: Path, how: str) -> None:
    """Leave the first commit, and lead git elsewhere."""
    (nested / ".zshenv").unlink()
    git(nested, *IDENTITY, "commit", "-q", "-a", "-m", "second")
    settings = {"setting": ".git/config", "include": ".git/more", "worktree settings": ".git/config.worktree"}
    if how == "include":
        git(nested, "config", "include.path", "more")
    elif how == "worktree settings":
        git(nested, "config", "extensions.worktreeConfig", "true")
    git(nested, "config", "--file", settings[how], "core.worktree", str(home))


@pytest.mark.parametrize("how", ["setting", "include", "worktree settings"])
@pytest.mark.parametrize("is_whole", [True, False])
def test_a_rollback_writes_into_the_nested_repository_alone(tmp_path: Path, how: str, *, is_whole: bool) -> None:
    target = make_target(tmp_path)
    nested, repository = target.work / "nested", Git(target.work)
    first = make_nested(nested)
    taken = asyncio.run(snapshot.take(repository))
    before = {path.name for path in target.home.iterdir()}
    spoil(nested, target.home, how)
    (target.work / "bridle.toml").write_text("changed")
    if is_whole:
        asyncio.run(restore(repository, taken))
    else:
        asyncio.run(restore_paths(repository, taken.tree, ["nested"]))
    assert {path.name for path in target.home.iterdir()} == before
    assert (nested / ".git/HEAD").read_text().strip() == first
    assert (nested / ".zshenv").read_text() == "evil\n"


def test_a_rollback_follows_no_link_to_another_repository(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    first = make_nested(target.home / "project")
    git(target.home / "project", *IDENTITY, "commit", "-q", "--allow-empty", "-m", "second")
    git(target.work, "update-index", "--add", "--cacheinfo", f"160000,{first},nested")
    tree = git(target.work, "write-tree")
    (target.work / "nested").symlink_to(target.home / "project")
    branch = (target.home / "project/.git/HEAD").read_text()
    asyncio.run(restore_paths(Git(target.work), tree, ["nested"]))
    assert (target.home / "project/.git/HEAD").read_text() == branch


def test_the_settings_are_removed_from_a_new_repository_and_stay_if_they_lead_to_it(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    for name, setting, value in (
        ("home", "core.worktree", str(target.home)),
        ("bare", "core.bare", "true"),
        ("relative", "core.worktree", "../../../home"),
        ("own", "core.worktree", ".."),
        ("plain", "core.bare", "false"),
    ):
        make_nested(target.work / name)
        git(target.work / name, "config", setting, value)
    found: list[FileReport] = asyncio.run(
        nested_repositories.restore(Git(target.work), target.work / ".git", Repositories())
    )
    reports = {report.path: report.what for report in found}
    assert set(reports) == {f"{name}/.git/config" for name in ("bare", "home", "relative")}
    assert "core.worktree" in reports["home/.git/config"]
    for name in ("home", "bare", "relative", "own"):
        assert git(target.work / name, "rev-parse", "--show-toplevel") == os.path.realpath(target.work / name)
