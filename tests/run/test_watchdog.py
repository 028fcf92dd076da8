"""When a watchdog strikes, by table: the times are given."""

from __future__ import annotations

import pytest

from bridle.run.request import Limits
from bridle.run.watchdog import Deadline, RunTimes, Watchdog, next_deadline
from bridle.wire.record.record import Record

LIMITS = Limits(run_seconds=1000, idle_seconds=10, tool_idle_seconds=60, after_result_seconds=5)
TOOL = Record(open_tools={"t": "Bash"})
TASK = Record(open_tasks={"b": "make"})
BOTH = Record(open_tools={"t": "Bash"}, open_tasks={"b": "make"})


@pytest.mark.parametrize(
    ("clock", "record", "deadline"),
    [
        (RunTimes(0, 0), Record(), Deadline(10, Watchdog.IDLE, 10)),
        (RunTimes(0, 7), Record(), Deadline(17, Watchdog.IDLE, 10)),
        (RunTimes(0, 7), TOOL, Deadline(67, Watchdog.TOOL_IDLE, 60)),
        (RunTimes(0, 7), TASK, Deadline(67, Watchdog.TOOL_IDLE, 60)),
        (RunTimes(0, 7, done=7), Record(), Deadline(12, Watchdog.AFTER_RESULT, 5)),
        (RunTimes(0, 9, done=7), Record(), Deadline(14, Watchdog.AFTER_RESULT, 5)),
        (RunTimes(0, 6, done=7), Record(), Deadline(12, Watchdog.AFTER_RESULT, 5)),
        (RunTimes(0, 7, done=7), TOOL, Deadline(12, Watchdog.AFTER_RESULT, 5)),
        (RunTimes(0, 7, done=7), TASK, Deadline(67, Watchdog.TOOL_IDLE, 60)),
        (RunTimes(0, 7, done=7), BOTH, Deadline(67, Watchdog.TOOL_IDLE, 60)),
        (RunTimes(0, 995), Record(), Deadline(1000, Watchdog.RUN, 1000)),
        (RunTimes(0, 960), TOOL, Deadline(1000, Watchdog.RUN, 1000)),
        (RunTimes(0, 999, done=999), Record(), Deadline(1000, Watchdog.RUN, 1000)),
        (RunTimes(500, 500), Record(), Deadline(510, Watchdog.IDLE, 10)),
    ],
)
def test_the_watchdog_that_strikes_first(clock: RunTimes, record: Record, deadline: Deadline) -> None:
    assert next_deadline(clock, LIMITS, record) == deadline
