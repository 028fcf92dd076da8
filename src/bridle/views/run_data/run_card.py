"""The card of a run: its state, verdict, cost and tasks, and what its agents do now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bridle.engine.drive.driver_lock import find_driver
from bridle.errors import Error
from bridle.ground.git_folder import repository_top
from bridle.journal.format.entries import RESOLVED_OK, Effect, Entry
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control import run_state
from bridle.loop.control.current_state import read_cached_receipt
from bridle.loop.control.run_state import UNREADABLE, state_and_reason
from bridle.loop.process.receipt import Receipt
from bridle.loop.run_inputs import is_loop_run, read_inputs
from bridle.run.isolation.scope import describe_scope
from bridle.run.read_log import LogReader
from bridle.views.run_data.conversation_pages import seconds_of
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask


class RunFacts(run_state.RunFacts, frozen=True):
    """What a card is made of, read once."""

    title: str
    repository: Path


def read_facts(run: Path, environment: Mapping[str, str], read: LogReader | None = None) -> RunFacts:
    """Read a run; `read` remembers the logs of running agents.

    Must not be called while an event loop runs in this thread. Raises an Error.
    """
    store = FileStore(run, reuses_view=True)
    driver = find_driver(run)
    if is_loop_run(store):
        inputs = read_inputs(store)
        receipt = read_cached_receipt(run, environment, has_driver=driver is not None, read=read)
        return RunFacts(run, store, store.state(), driver, receipt, inputs.plan.title, Path(inputs.repository))
    title = store.metadata().prompt or store.metadata().process_id
    return RunFacts(run, store, store.state(), driver, None, title, repository_top(run.absolute()) or run)


def unreadable_card(run: Path, error: Exception, mask: Mask) -> JsonObject:
    """Return the card of a run that cannot be read."""
    reason = error.message if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    card = {**_EMPTY, "run": run.name, "repository": str(repository_top(run.absolute()) or run.parent)}
    masked: JsonObject = mask.apply_to_json({**card, "state": UNREADABLE, "reason": reason})
    return masked


def card_of(facts: RunFacts, mask: Mask) -> JsonObject:
    """Return the card of a run whose facts are read."""
    state, reason = state_and_reason(facts)
    is_over = facts.driver is None
    created, last = facts.state.created, facts.state.last
    card: JsonObject = {
        **_EMPTY,
        "run": facts.run.name,
        "repository": str(facts.repository),
        "plan": facts.title,
        "state": state,
        "reason": reason,
        "started_at": None if created is None else seconds_of(created.recorded_at),
        "ended_at": seconds_of(last.recorded_at) if is_over and last is not None else None,
        "driver": None if facts.driver is None else {"pid": facts.driver.pid, "since": seconds_of(facts.driver.since)},
        "is_loop": facts.receipt is not None,
        **(_of_process(facts) if facts.receipt is None else _of_receipt(facts.receipt)),
    }
    if not is_over:
        card |= _activity(facts)
    masked: JsonObject = mask.apply_to_json(card)
    return masked


_EMPTY: JsonObject = {
    "run": "",
    "repository": "",
    "plan": "",
    "state": "",
    "reason": "",
    "verdict": None,
    "branch": None,
    "started_at": None,
    "ended_at": None,
    "seconds": 0.0,
    "cost_usd": None,
    "wasted_usd": None,
    "input_tokens": 0,
    "output_tokens": 0,
    "limits": {},
    "isolation": "",
    "isolation_scope": "",
    "driver": None,
    "tasks": [],
    "now": None,
    "last_text": None,
    "next_reset": None,
    "is_loop": False,
}


def _of_receipt(receipt: Receipt) -> JsonObject:
    return {
        "verdict": receipt.verdict,
        "branch": receipt.branch,
        "seconds": receipt.seconds,
        "cost_usd": receipt.cost_usd,
        "wasted_usd": receipt.wasted_usd,
        "input_tokens": receipt.input_tokens,
        "output_tokens": receipt.output_tokens,
        "limits": receipt.limits.as_json(),
        "iterations": receipt.iterations,
        "isolation": receipt.isolation,
        "isolation_scope": describe_scope(receipt.isolation),
        "next_reset": None if receipt.waiting is None else receipt.waiting.until_seconds,
        "tasks": [
            {
                "number": number,
                "title": task.title,
                "verdict": task.verdict,
                "reason": task.reason,
                "iterations": task.iterations,
                "tries": task.tries,
                "cost_usd": task.cost_usd,
                "seconds": task.seconds,
                "commit": task.commit,
                "effect": task.effect,
                "question": task.question,
            }
            for number, task in enumerate(receipt.tasks, start=1)
        ],
    }


def _of_process(facts: RunFacts) -> JsonObject:
    """Return what the effects of another process are: each is shown as a task."""
    tasks = [
        {
            "number": number,
            "title": effect.label or effect.task_id,
            "verdict": "pending" if effect.is_pending else "done" if effect.status == RESOLVED_OK else "failed",
            "reason": effect.kind,
            "iterations": 0,
            "tries": 0,
            "cost_usd": None,
            "seconds": _seconds_between(effect.request.recorded_at, effect.resolution),
            "commit": None,
            "effect": effect.effect_id,
            "question": None,
        }
        for number, effect in enumerate(facts.state.effects.values(), start=1)
    ]
    return {"verdict": facts.state.position.end, "tasks": tasks}


def _seconds_between(start: str, resolution: Entry | None) -> float | None:
    if resolution is None:
        return None
    began, ended = seconds_of(start), seconds_of(resolution.recorded_at)
    return None if began is None or ended is None else round(max(0.0, ended - began), 3)


def _activity(facts: RunFacts) -> JsonObject:
    """Return what the newest effect does that a driver executes, and the last text of its agent."""
    running = () if facts.receipt is None else facts.receipt.now
    if not running:
        return {"now": _pending_effect(facts.state.pending)}
    newest = next((effect for effect in reversed(running) if effect.agent), running[-1])
    now = {
        "action": newest.action,
        "task": newest.task,
        "iteration": newest.iteration,
        "agent": newest.agent,
        "tool": newest.tool or (None if newest.agent else newest.action),
        "since": seconds_of(newest.since),
    }
    return {"now": now, "last_text": newest.text or None}


def _pending_effect(pending: list[Effect]) -> JsonObject | None:
    """Return the newest effect that is executed now, where it is not an agent's."""
    if not pending:
        return None
    last = pending[-1]
    since = seconds_of(last.request.recorded_at)
    return {
        "action": last.kind,
        "task": last.label,
        "iteration": None,
        "agent": None,
        "tool": last.kind,
        "since": since,
    }
