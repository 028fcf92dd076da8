"""Bridle's own state files while a check runs: one that the check damages is put aside, and restored.

In a sandbox a check cannot write them. An agent's changes are found by the runner.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from bridle.errors import DiskError
from bridle.ground import disk, ids
from bridle.loop.working_copy.run_context import RunContext
from bridle.run import budget, sessions
from bridle.run.budget import Budget

_LIMIT_BYTES = 1024 * 1024


class _Known(Struct, frozen=True):
    """The state of a workspace before a check."""

    workspace: Path
    budget: Budget
    session_files: dict[Path, bytes | None]


@contextmanager
def kept_state_files(context: RunContext) -> Iterator[None]:
    """Restore the budget and the sessions of the workspaces of a run, if a check has damaged them."""
    known = [state for folder in {context.workspace, context.progress_folder} if (state := _read(folder)) is not None]
    try:
        yield
    finally:
        for state in known:
            _restore(state, context)


def _read(workspace: Path) -> _Known | None:
    """Return the state of a workspace; None where it is damaged already, which the next agent reports."""
    try:
        sessions.read(workspace)
        files = {path: disk.read_if_exists(path, _LIMIT_BYTES) for path in sessions.session_files(workspace)}
        return _Known(workspace, budget.read(workspace), files)
    except DiskError:
        return None


def _restore(known: _Known, context: RunContext) -> None:
    if _is_damaged(budget.read, known.workspace):
        _put_aside(budget.budget_file(known.workspace), context)
    budget.restore(known.workspace, known.budget, context.say)
    for path, content in known.session_files.items() if _is_damaged(sessions.read, known.workspace) else ():
        _put_aside(path, context)
        if content is not None:
            disk.write_atomic(path, content)


def _is_damaged(read: Callable[[Path], object], workspace: Path) -> bool:
    try:
        read(workspace)
    except DiskError:
        return True
    return False


def _put_aside(path: Path, context: RunContext) -> None:
    if os.path.lexists(path):
        target = path.with_name(f"{path.name}.damaged-{ids.new_id()}")
        disk.move(path, target)
        context.say(f"{path} was damaged while a check ran; it is in {target.name} now, and restored")
