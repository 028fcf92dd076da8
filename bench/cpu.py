"""The CPU time of a program and of all that it starts, also of what no process waits for.

A process tells the CPU of the children that it has waited for. What ran below a supervisor that ignores SIGCHLD is
in no such figure; a control group of Linux counts it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

MOUNTS, OWN_GROUPS = Path("/proc/self/mountinfo"), Path("/proc/self/cgroup")
_ENTER = 'echo $$ >"$1" && shift && exec "$@"'


@dataclass(frozen=True)
class Group:
    """A control group for one program; without a folder, none could be made."""

    folder: Path | None

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The command that starts a program in the group."""
        if self.folder is None:
            return argv
        return ("/bin/sh", "-c", _ENTER, "sh", str(self.folder / "cgroup.procs"), *argv)

    def seconds(self, pid: int) -> float:
        """The CPU seconds of what is and was in the group; without one, those that can be seen from the process."""
        return _seen_from(pid) if self.folder is None else _usage(self.folder)


@contextmanager
def group() -> Iterator[Group]:
    """A new control group below the one that this process is in; one without a folder where it cannot be made."""
    parent = _own_group()
    try:
        made = None if parent is None else Path(tempfile.mkdtemp(prefix="bench-", dir=parent))
        if made is not None and not (os.access(made / "cgroup.procs", os.W_OK) and (made / "cpu.stat").exists()):
            _remove(made)
            made = None
    except OSError:
        made = None
    try:
        yield Group(made)
    finally:
        if made is not None:
            _remove(made)


def remark() -> str:
    """What the CPU figures of this machine hold, in a sentence."""
    with group() as own:
        if own.folder is not None:
            return "CPU is of the program and of all that it started, below supervisors too, from a control group."
    return (
        "CPU is without what ran below supervisors (agents, checks): a control group (Linux, cgroup v2) cannot be\n"
        "made here, and no process tells what a child took that it has not waited for."
    )


def _own_group() -> Path | None:
    """The folder of this process's group in the hierarchy of version 2, which counts CPU without any controller."""
    try:
        mounts = [line.split(" ") for line in MOUNTS.read_text(encoding="utf-8").splitlines()]
        groups = dict(line.split(":", 2)[::2] for line in OWN_GROUPS.read_text(encoding="utf-8").splitlines())
    except OSError:
        return None  # not Linux
    found = [fields[4] for fields in mounts if fields[fields.index("-") + 1] == "cgroup2"]
    if not found or "0" not in groups:
        return None
    return Path(found[0] + groups["0"])


def _usage(folder: Path) -> float:
    lines = (folder / "cpu.stat").read_text(encoding="ascii").splitlines()
    return int(dict(line.split() for line in lines)["usage_usec"]) / 1e6


def _remove(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        pass  # a supervisor has not ended yet; what an empty group costs is not worth waiting for


def _seen_from(pid: int) -> float:
    seconds = 0.0
    try:
        program = psutil.Process(pid)
        for process in (program, *program.children(recursive=True)):
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue  # it has ended between the two looks
            seconds += times.user + times.system + times.children_user + times.children_system
    except psutil.Error:
        pass  # it has ended: the caller sees that by the number of starts
    return seconds
