"""One driver's time at a run: how much is left of what the run may use, and what of it no effect accounts for.

The end of an effect accounts for the time up to it. A driver that ends in the midst of one notes how long it was at
work; the next one counts that as if it had begun so much earlier. A driver that is killed notes nothing; the logs of
its agents tell until when they were at work.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from bridle.engine.process.effects import SLEEP
from bridle.ground import clock
from bridle.journal.format.state import State
from bridle.journal.stores.store import Store
from bridle.loop import effects, user_messages
from bridle.loop.performers.earlier_attempts import InterruptedWork

DRIVEN = "BRIDLE_LOOP_DRIVEN"


def begin(store: Store, now: datetime, cut_off: InterruptedWork) -> datetime:
    """When a driver that begins now counts from."""
    return now - unrecorded_time(store.state(), cut_off)


def end(store: Store, since: datetime, now: datetime) -> None:
    """Note a driver that ends in the midst of something."""
    if is_under_way(store):
        user_messages.say(store, DRIVEN, {"since": clock.iso(since), "until": clock.iso(now)})


def is_under_way(store: Store) -> bool:
    """Whether something is begun or waited for that nobody but a driver ends."""
    return any(one.kind in (*effects.PERFORMED, SLEEP) for one in store.standing().pending.values())


def seconds_left(store: Store, document: dict[str, Any], max_seconds: float, cut_off: InterruptedWork) -> float:
    """How much longer a run may be driven: by the newest limit, heard of or not, and the time that was used."""
    said = user_messages.UserMessages(store).since(0)["limits"].get("max_seconds")
    used = float(document.get("seconds") or 0.0) + unrecorded_time(store.state(), cut_off).total_seconds()
    return float(said or max_seconds) - used


def cost_limit_reached(
    store: Store, document: dict[str, Any], max_cost_usd: float, cut_off: InterruptedWork
) -> str | None:
    """Why an iteration that was cut off must not be begun again; None where it may."""
    most = float(user_messages.UserMessages(store).since(0)["limits"].get("max_cost_usd") or max_cost_usd)
    spent = float(document.get("cost_usd") or 0.0) + cut_off.cost_usd
    if not cut_off.cost_usd or spent < most:
        return None
    return (
        f"{spent:.4f} of {most:g} USD are spent, with agents that Bridle did not survive;"
        " `bridle resume --max-cost` gives it more"
    )


def unrecorded_time(state: State, cut_off: InterruptedWork) -> timedelta:
    """How long drivers were at work since the last effect was over. The newest note speaks for those before it."""
    ended = [effect.resolution for effect in state.resolved if effect.kind in effects.PERFORMED and effect.resolution]
    last = max((datetime.fromisoformat(str(entry.data["finishedAt"])) for entry in ended), default=None)
    note = next((entry for entry in reversed(state.notes) if entry.type == DRIVEN), None)
    if note is not None and any(entry.seq > note.seq for entry in ended):
        note = None
    spans = cut_off.at_work
    if note is not None:
        since, until = (datetime.fromisoformat(str(note.data[name])) for name in ("since", "until"))
        spans = [(since, until), *((max(began, until), end) for began, end in spans)]
    used, reached = timedelta(0), last
    for began, end in spans:
        begin = began if reached is None else max(began, reached)
        if end > begin:
            used, reached = used + (end - begin), end
    return used
