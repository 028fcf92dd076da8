"""Runs are kept out of commits: a journal has prompts, and `run.json` the completion proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.fixtures.machine_commands import PROCESS, create
from tests.workspace.fixtures.repositories import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a process in it and in a folder below, everything committed."""
    git(tmp_path, "init", "-q")
    for folder in (tmp_path, tmp_path / "part"):
        folder.mkdir(exist_ok=True)
        (folder / "process.py").write_text(PROCESS, encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


@pytest.mark.parametrize("place", [".", "part"])
@pytest.mark.parametrize("options", [(), ("--runs-dir", "other/runs")])
def test_a_new_run_is_not_listed_by_git(repository: Path, place: str, options: tuple[str, ...]) -> None:
    assert create(repository / place, *options).code == 0
    assert git(repository, "status", "--porcelain").strip() == ""


def test_a_refused_run_and_a_dry_run_leave_the_repository_as_it_is(repository: Path) -> None:
    before = (repository / ".git/info/exclude").read_text(encoding="utf-8")
    assert create(repository, "--dry-run").code == 0
    assert create(repository, "--run-id", "../x").code == 1
    assert (repository / ".git/info/exclude").read_text(encoding="utf-8") == before


def test_a_list_that_cannot_be_written_is_reported_and_the_run_is_created(repository: Path) -> None:
    listed = repository / ".git/info/exclude"
    listed.unlink()
    listed.mkdir()
    done = create(repository)
    assert Path(done.document["runDir"]).is_dir()
    assert f"git will show {repository}/.a5c/runs as untracked" in done.stderr
