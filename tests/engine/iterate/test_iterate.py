"""Which code a run loads: its own file, or a process of Bridle by its id."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.engine.iterate.iterate import load
from bridle.errors import ProcessNotLoaded
from bridle.ground import own_runs
from bridle.ground.home import bridle_home
from bridle.journal.stores.file_reader import FileReader
from tests.engine.fixtures.iterated_runs import IteratedRun
from tests.journal.fixtures.run_metadata import change_metadata

SOURCE = "async def process(inputs, ctx):\n    return 'the process of the user'\n"


def renamed(run: Path, process_id: str) -> FileReader:
    """Return the run with another process id, as one of the user's own."""
    change_metadata(run, processId=process_id)
    own_runs.record(run, bridle_home(os.environ))
    return FileReader(run)


def test_a_run_loads_the_file_that_it_names(tmp_path: Path) -> None:
    run = IteratedRun(tmp_path, SOURCE).run
    process = load(renamed(run, "bridle/other").metadata(), run)
    assert (process.path, process.function.__name__) == (tmp_path / "process.py", "process")


def test_a_file_of_the_user_never_loads_under_the_id_of_the_loop(tmp_path: Path) -> None:
    run = IteratedRun(tmp_path, SOURCE).run
    with pytest.raises(ProcessNotLoaded, match="'bridle/loop', which is part of Bridle") as caught:
        load(renamed(run, "bridle/loop").metadata(), run)
    assert str(tmp_path / "process.py") in caught.value.message


def test_the_loop_loads_by_its_id(tmp_path: Path) -> None:
    run = IteratedRun(tmp_path, SOURCE).run
    change_metadata(run, processId="bridle/loop", entrypoint={"importPath": "bridle/loop", "exportName": "process"})
    process = load(FileReader(run).metadata(), run)
    assert process.function.__module__ == "bridle.loop.process.ralph"
