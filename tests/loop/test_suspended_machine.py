"""A suspended machine spends no time of a run, and a wait that ended during the suspension is over."""

from __future__ import annotations

import json
import subprocess

from tests.fixtures.suspended_machine import COMMAND

DAYS = 10 * 24 * 60 * 60
READINGS = f"""
import json
from bridle.ground import clock
from bridle.loop.performers.driver_time import DriverTime
from tests.fixtures.suspended_machine import suspend

driver, limit, wait = DriverTime(), clock.monotonic(), clock.SteadyClock()
began = wait.now()
suspend({DAYS})
print(json.dumps([driver.seconds, clock.monotonic() - limit, (wait.now() - began).total_seconds()]))
"""


def test_a_suspension_is_no_time_of_a_driver_but_ends_its_waits() -> None:
    done = subprocess.run([*COMMAND, "-c", READINGS], capture_output=True, text=True, timeout=60, check=True)
    of_driver, of_limit, of_wait = json.loads(done.stdout)
    assert 0 <= of_driver < DAYS
    assert 0 <= of_limit < DAYS
    assert of_wait >= DAYS
