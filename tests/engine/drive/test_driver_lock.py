"""The driver of a run is the living process that holds its lock."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bridle.engine.drive.driver_lock import LOCK_FILE, find_driver
from bridle.ground.lock import FileLock

# Holds the lock together with a child, as a driver does with the program that ends its agents, and exits without it.
DRIVER = """
import os, sys
from pathlib import Path
from bridle.ground.lock import FileLock

lock = FileLock.hold(Path(sys.argv[1]), holder="driver")
if os.fork() == 0:
    sys.stdin.readline()
    os._exit(0)
print(os.getpid(), flush=True)
sys.stdin.readline()
os._exit(0)
"""


def test_a_driver_that_was_killed_is_none_while_its_children_hold_the_lock(tmp_path: Path) -> None:
    path = tmp_path / LOCK_FILE
    assert find_driver(tmp_path) is None
    with FileLock.hold(path, holder="driver"):
        found = find_driver(tmp_path)
        assert found is not None
        assert found.pid == os.getpid()
    command = [sys.executable, "-c", DRIVER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == f"{driver.pid}\n"
        found = find_driver(tmp_path)
        assert found is not None
        assert found.pid == driver.pid
        driver.kill()
        driver.wait()
        assert FileLock.holder_of(path) is not None
        assert find_driver(tmp_path) is None
