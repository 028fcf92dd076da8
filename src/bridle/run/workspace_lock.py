"""The lock of a workspace: one agent at a time, and its next holder counts the run of a Bridle that was killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from bridle.errors import LockHeld
from bridle.ground.descendants import census
from bridle.ground.lock import FileLock, Holder
from bridle.run import budget as budgets
from bridle.run.budget import Budget
from bridle.run.logs import STATE_FOLDER, private_folder
from bridle.run.recover import recover_killed_run

LOCK_FILE = "workspace.lock"
# The keeper kills the agents of a killed Bridle after a second; on a loaded machine that takes longer.
KEEPER_SECONDS = 10.0
Say = Callable[[str], None]


async def hold_workspace(workspace: Path, *, holder: str, say: Say) -> FileLock:
    """Lock a workspace. Wait for the lock of a killed Bridle: its keeper is ending the agents."""
    path = private_folder(workspace, STATE_FOLDER) / LOCK_FILE
    try:
        return FileLock.hold(path, holder=holder)
    except LockHeld as error:
        if not isinstance(error.payload, Holder) or census.is_alive(error.payload.pid):
            raise
    say("the last run here was killed; waiting for the end of its agent")
    return await asyncio.to_thread(FileLock.hold, path, holder=holder, wait_seconds=KEEPER_SECONDS)


def count_predecessor(lock: FileLock, workspace: Path, budget: Budget, say: Say) -> Budget:
    """Count the run of the last holder of a workspace if it was killed; return the budget with it."""
    note = lock.predecessor.work if lock.predecessor else None
    recovered = recover_killed_run(workspace, note, budget) if note is not None else None
    lock.note_work(None)
    if recovered is None:
        return budget
    budget, cost, log = recovered
    price = "its cost is not known" if cost.usd is None else f"it cost {cost.usd:.4f} USD"
    say(f"the last run here was killed; {price}, its log is {log.name}")
    return budget


async def count_killed_run(workspace: Path, say: Say) -> None:
    """Count the last run of a workspace if its Bridle was killed, and start nothing."""
    if not (workspace / STATE_FOLDER / LOCK_FILE).exists():
        return
    try:
        lock = await hold_workspace(workspace, holder="bridle", say=say)
    except LockHeld:
        return  # an agent is running there
    with lock:
        count_predecessor(lock, workspace, budgets.read(workspace), say)
