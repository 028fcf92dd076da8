"""Objects that git has lost are found; those that a partial clone has not fetched are not lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.workspace.git import Git
from bridle.workspace.repair import lost_objects
from tests.workspace.fixtures.repositories import git, make_repository, write


def test_what_a_partial_clone_has_not_fetched_is_not_lost(tmp_path: Path) -> None:
    source = make_repository(tmp_path / "source")
    write(source.folder, {"a.txt": "changed\n"})
    git(source.folder, "commit", "-q", "-a", "-m", "second")
    git(source.folder, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{source.folder}", "clone")
    base, tip, blob = git(source.folder, "rev-parse", "HEAD~1", "HEAD", "HEAD:a.txt").split()
    clone = Git(tmp_path / "clone")
    assert f"?{blob}" in git(clone.folder, "rev-list", "--objects", "--missing=print", tip)
    assert asyncio.run(lost_objects.find_missing(clone, base, tip)) == []
    assert asyncio.run(lost_objects.find_missing(clone, base, "1" * 40)) == ["1" * 40]
    (source.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert asyncio.run(lost_objects.find_missing(source, base, tip)) == [blob]
