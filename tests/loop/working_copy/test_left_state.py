"""The state in which a driver left a working copy is known until another driver executes effects."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.engine.entries import effect_attempts
from bridle.journal.stores.file_store import FileStore
from bridle.loop.working_copy import left_state
from tests.journal.fixtures.journal_writes import new_run
from tests.loop.fixtures.repositories import make_repository


def test_it_has_unfinished_operations_and_ends_with_the_next_effect(tmp_path: Path) -> None:
    here, store = make_repository(tmp_path / "r", {"a.txt": "1\n"}), FileStore(new_run(tmp_path))
    folder = here.context.run_folder
    assert left_state.find(here.context, store) is None
    folder.mkdir(parents=True)
    (here.folder / ".git/MERGE_HEAD").write_text(here.git("rev-parse", "HEAD"))
    asyncio.run(left_state.record(here.context, store))
    left = left_state.find(here.context, store)
    assert left is not None
    assert (left.seq, left.operations) == (4, ("merge",))
    with store.write("test") as writer:
        writer.append("BRIDLE_X", {})
    assert left_state.find(here.context, store) == left
    with store.write("test") as writer:
        writer.append(effect_attempts.STARTED, {})
    assert left_state.find(here.context, store) is None
