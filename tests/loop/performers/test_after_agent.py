"""What an agent puts in place of Bridle's own folders is removed and reported."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.loop.effects import PrepareArgs
from bridle.loop.performers import after_agent, branch
from bridle.workspace import snapshot
from tests.loop.fixtures.repositories import make_repository


@pytest.mark.parametrize("kind", ["file", "link to a folder", "link to nothing"])
def test_a_file_or_a_link_in_place_of_a_folder_of_bridle_is_removed(tmp_path: Path, kind: str) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    asyncio.run(branch.prepare(PrepareArgs(), here.context))
    before = asyncio.run(snapshot.take(here.context.git, name="before"))
    path, target = here.folder / ".ralph/state", tmp_path / "elsewhere"
    path.parent.mkdir(exist_ok=True)
    with after_agent.agent_at_work(here.context) as baseline:
        state_before = after_agent.read_before(here.context, baseline)
        if kind == "file":
            path.write_text("x")
        else:
            path.symlink_to(target)
        if kind == "link to a folder":
            target.mkdir()
        left = asyncio.run(after_agent.restore(here.context, before, baseline, state_before))
    assert (left.fault, [report.path for report in left.changes]) == (None, [".ralph/state"])
    assert not path.is_symlink()
    assert not path.exists()
    assert target.exists() == (kind == "link to a folder")
