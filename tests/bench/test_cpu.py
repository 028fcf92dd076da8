"""The CPU figures of benchmarks hold what a program starts and never waits for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench import cpu

LIMIT_SECONDS = 60
# The keeper of Bridle ignores SIGCHLD, too: the system then adds the CPU of its children to no other process.
UNWAITED = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 0.5:
        pass
    os._exit(0)
while time.process_time() < 0.1:  # a few ticks of the clock by which the system counts CPU
    pass
try:
    os.wait()
except ChildProcessError:
    print("all have ended", flush=True)
sys.stdin.read()
"""


def _used(group: cpu.Group) -> float:
    argv = group.wrap((sys.executable, "-S", "-c", UNWAITED))
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"all have ended\n"
        seconds = group.seconds(process.pid)
        process.communicate(b"", LIMIT_SECONDS)
        assert process.returncode == 0
    return seconds


def test_a_group_counts_what_is_not_waited_for() -> None:
    with cpu.group() as group:
        if group.folder is None:
            pytest.skip(cpu.remark())
        folder = group.folder
        assert _used(group) >= 0.5
        assert "all that it started" in cpu.remark()
    assert not folder.exists()


@pytest.mark.parametrize("name", ["MOUNTS", "OWN_GROUPS"])
def test_where_no_group_can_be_made_the_figure_says_what_it_is_without(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").write_text("")
    monkeypatch.setattr(cpu, name, tmp_path / "empty")
    with cpu.group() as group:
        assert group.folder is None
        assert group.wrap(("true",)) == ("true",)
        assert 0 < _used(group) < 0.5
    assert "without what ran below supervisors" in cpu.remark()


def test_a_hierarchy_that_cannot_be_written_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"31 23 0:28 / {tmp_path / 'none'} rw - cgroup2 cgroup2 rw\n")
    monkeypatch.setattr(cpu, "MOUNTS", mounts)
    with cpu.group() as group:
        assert group.folder is None
