"""What an agent puts in place of Bridle's own folders is removed and reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.loop.performers import after_agent
from tests.loop.fixtures.repositories import make_repository


@pytest.mark.parametrize("kind", ["file", "link to a folder", "link to nothing"])
def test_a_file_or_a_link_in_place_of_a_folder_of_bridle_is_removed(tmp_path: Path, kind: str) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    path, target = here.folder / ".ralph/state", tmp_path / "elsewhere"
    path.parent.mkdir(exist_ok=True)
    if kind == "file":
        path.write_text("x")
    else:
        path.symlink_to(target)
    if kind == "link to a folder":
        target.mkdir()
    (report,) = after_agent._restore_folders(here.context)
    assert report.path == ".ralph/state"
    assert not path.is_symlink()
    assert not path.exists()
    path.mkdir()
    assert after_agent._restore_folders(here.context) == []
    assert target.exists() == (kind == "link to a folder")
