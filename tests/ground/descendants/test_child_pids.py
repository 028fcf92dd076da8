from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bridle.ground.descendants.child_pids import children, descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")

# Each process prints its id and starts the next; the last one ends with the input that all share.
CHAIN = """
import os, subprocess, sys
print(os.getpid(), flush=True)
below = int(sys.argv[1])
if below:
    subprocess.run([sys.executable, "-S", "-c", sys.argv[2], str(below - 1), sys.argv[2]])
else:
    sys.stdin.read()
"""


@contextmanager
def chain(length: int) -> Iterator[list[int]]:
    """Start processes, each below the one before; yield their ids."""
    command = [sys.executable, "-S", "-c", CHAIN, str(length - 1), CHAIN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        try:
            yield [int(first.stdout.readline()) for _ in range(length)]
        finally:
            first.stdin.close()


def test_the_children_of_a_process_are_listed_and_not_what_is_below_them() -> None:
    with chain(3) as pids:
        assert children(pids[0]) == [pids[1]]
        assert children(pids[2]) == []


def test_all_processes_below_a_process_are_listed_the_nearest_first() -> None:
    with chain(4) as pids:
        assert list(descendants(pids[0])) == pids[1:]
        assert pids[0] in children(os.getpid())


def test_a_process_that_has_ended_has_no_children() -> None:
    with chain(1) as pids:
        pass
    assert list(descendants(pids[0])) == []
