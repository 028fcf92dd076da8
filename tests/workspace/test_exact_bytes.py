"""The git folder of commands that convert nothing: its links lead somewhere, since other programs walk through it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.workspace import exact_bytes
from bridle.workspace.git_folder.git_links import EXACT_FOLDER
from tests.workspace.fixtures.repositories import git, make_repository


def dangling(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_symlink() and not path.exists())
    return [str(path.relative_to(folder)) for path in found]


def test_no_link_leads_nowhere_also_if_an_earlier_version_left_one(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    folder = repo.folder / ".git" / EXACT_FOLDER
    (folder / "info").mkdir(parents=True)
    (folder / "config.worktree").symlink_to("../config.worktree")
    asyncio.run(exact_bytes.flags(repo))
    assert dangling(repo.folder) == []
    assert (folder / "objects").is_symlink()


def test_a_file_that_git_makes_later_is_linked_then(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    asyncio.run(exact_bytes.flags(repo))
    git(repo.folder, "sparse-checkout", "set", "--no-cone", "/*")
    asyncio.run(exact_bytes.flags(repo))
    folder = repo.folder / ".git" / EXACT_FOLDER
    assert (folder / "info/sparse-checkout").read_text() == (repo.folder / ".git/info/sparse-checkout").read_text()
    assert (folder / "config.worktree").is_symlink()
    assert dangling(repo.folder) == []
