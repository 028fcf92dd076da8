"""The state of a run in one word, with the reason: what lists and boards of runs show."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from bridle.engine.drive.driver_lock import find_driver
from bridle.ground.lock import Holder
from bridle.journal.format.state import COMPLETED, State
from bridle.journal.stores.file_store import FileStore
from bridle.loop import effects
from bridle.loop.control import pauses
from bridle.loop.control.current_state import read_cached_receipt
from bridle.loop.process.receipt import Receipt
from bridle.loop.process.task_state import VERIFIED, Verdict
from bridle.loop.run_inputs import is_loop_run
from bridle.loop.undo import undo_entries

RUNNING, WAITING, PAUSED, FAILED, DONE = "running", "waiting", "paused", "failed", "done"
LIMIT, INTERRUPTED, CREATED, UNREADABLE, UNDONE = "limit", "interrupted", "created", "unreadable", "undone"
_LIMITS = (effects.WHY_LIMIT, effects.WHY_USAGE, effects.WHY_BUDGET)
_FAILED = (Verdict.FAILED, Verdict.STUCK, Verdict.BLOCKED)


class RunFacts(Struct, frozen=True):
    """What is known of a run, read once."""

    run: Path
    store: FileStore
    state: State
    driver: Holder | None
    receipt: Receipt | None
    """None for a run of another process than the loop."""


def read_facts(run: Path, environment: Mapping[str, str]) -> RunFacts:
    """Read a run. Must not be called while an event loop runs in this thread. Raises an Error."""
    store, driver = FileStore(run, reuses_view=True), find_driver(run)
    is_loop = is_loop_run(store)
    receipt = read_cached_receipt(run, environment, has_driver=driver is not None) if is_loop else None
    return RunFacts(run, store, store.state(), driver, receipt)


def state_and_reason(facts: RunFacts) -> tuple[str, str]:
    """Return the state of a run, and why it is in it."""
    receipt, end = facts.receipt, facts.state.position.end
    if facts.driver is not None:
        waiting = None if receipt is None else receipt.waiting
        if waiting is not None:
            return WAITING, f"{waiting.reason}, until {datetime.fromisoformat(waiting.until).astimezone():%H:%M}"
        return RUNNING, f"process {facts.driver.pid}"
    if receipt is not None and (undone := undo_entries.describe_undone(facts.store)):
        return UNDONE, undone
    if end is not None:
        return _state_at_end(receipt, end)
    if receipt is None:
        is_asking = any(effect.kind == "breakpoint" for effect in facts.state.pending)
        return (WAITING, "it asks you") if is_asking else (INTERRUPTED if facts.state.effects else CREATED, "")
    return _state_of_paused(facts, receipt)


def _state_at_end(receipt: Receipt | None, end: str) -> tuple[str, str]:
    if end != COMPLETED:
        return FAILED, end
    return (DONE, "") if receipt is None or receipt.verdict in VERIFIED else (FAILED, failed_tasks(receipt))


def _state_of_paused(facts: RunFacts, receipt: Receipt) -> tuple[str, str]:
    asking = [task.title for task in receipt.tasks if task.question]
    if asking:
        return WAITING, f"an agent asks you: {', '.join(asking)}"
    paused = pauses.pending_pause(facts.store)
    if paused is not None:
        state = LIMIT if paused.why in _LIMITS else FAILED if paused.why == effects.WHY_ENDED else PAUSED
        return state, paused.reason
    if receipt.stopped:
        return LIMIT, receipt.stopped
    return (INTERRUPTED, "") if facts.state.resolved else (CREATED, "")


def failed_tasks(receipt: Receipt) -> str:
    """Return which tasks failed, for users; empty where none did."""
    failed = [task.title for task in receipt.tasks if task.verdict in _FAILED]
    return f"failed: {', '.join(failed)}" if failed else ""
