"""The inputs of a run of the loop; another run, and one without its plan, are told apart."""

from __future__ import annotations

import pytest

from bridle.errors import JournalBroken, UsageError
from bridle.loop.run_inputs import read_inputs, read_place
from tests.journal.fixtures.memory_store import MemoryStore


@pytest.mark.parametrize("inputs", [None, [], {}, {"plan": {}}, {"settings": {}}], ids=str)
def test_a_run_of_the_loop_without_its_plan_is_reported_as_that(inputs: object) -> None:
    store = MemoryStore({"runId": "r", "processId": "bridle/loop"}, inputs)
    for read in (read_inputs, read_place):
        with pytest.raises(JournalBroken, match="is missing, or has no plan or no settings") as caught:
            read(store)
        assert "bridle audit r" in str(caught.value.remedy)


def test_a_run_of_another_process_is_named_with_the_commands_for_it() -> None:
    store = MemoryStore({"runId": "r", "processId": "p"}, {"plan": {}, "settings": {}})
    with pytest.raises(UsageError, match="run r is not a run of the loop, but of the process p"):
        read_inputs(store)
