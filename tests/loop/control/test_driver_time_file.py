"""Only the process that drives a run writes the time of its driver."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.engine.drive.driver_lock import LOCK_FILE
from bridle.ground.lock import FileLock
from bridle.loop.control import driver_time_file
from bridle.loop.performers.driver_time import DriverTime

OTHER = """
import sys
from pathlib import Path
from bridle.ground.lock import FileLock

with FileLock.hold(Path(sys.argv[1]), holder="other"):
    print("held", flush=True)
    sys.stdin.readline()
"""
# More than a writer needs for its first time.
TURNS = 10


def written(run: Path, time: DriverTime) -> dict[str, float]:
    """Return what the file has after some turns of the event loop."""

    async def read() -> dict[str, float]:
        async with driver_time_file.write_driver_time(run, time):
            for _ in range(TURNS):
                await asyncio.sleep(0)
            return driver_time_file.read_driver_times(run)

    return asyncio.run(read())


def test_a_process_that_waits_for_another_driver_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_time_file, "INTERVAL_SECONDS", 0)
    time = DriverTime({"earlier": 5.0})
    with FileLock.hold(tmp_path / LOCK_FILE, holder="we"):
        assert set(written(tmp_path, time)) == {"earlier", time.driver}
    assert driver_time_file.read_driver_times(tmp_path) == {"earlier": 5.0}
    command = [sys.executable, "-c", OTHER, str(tmp_path / LOCK_FILE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert written(tmp_path, time) == {"earlier": 5.0}
        other.kill()
