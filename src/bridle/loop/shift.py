"""One driver's time at a run: how much is left of what the run may use, and what of it no effect accounts for.

The end of an effect accounts for the time up to it. A driver that ends in the midst of one notes how long it was at
work; the next one counts that as if it had begun so much earlier. A driver that is killed notes nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from bridle.engine.effects import SLEEP
from bridle.ground import clock
from bridle.journal.state import State
from bridle.journal.store import Store
from bridle.loop import kinds, news

DRIVEN = "BRIDLE_LOOP_DRIVEN"


def begin(store: Store, now: datetime) -> datetime:
    """When a driver that begins now counts from."""
    return now - unaccounted(store.state())


def end(store: Store, since: datetime, now: datetime) -> None:
    """Note a driver that ends in the midst of something."""
    if is_under_way(store):
        news.say(store, DRIVEN, {"since": clock.iso(since), "until": clock.iso(now)})


def is_under_way(store: Store) -> bool:
    """Whether something is begun or waited for that nobody but a driver ends."""
    return any(one.kind in (*kinds.PERFORMED, SLEEP) for one in store.standing().pending.values())


def seconds_left(store: Store, document: dict[str, Any], max_seconds: float) -> float:
    """How much longer a run may be driven: by the newest limit, heard of or not, and the time that was used."""
    said = news.News(store).since(0)["limits"].get("max_seconds")
    used = float(document.get("seconds") or 0.0) + unaccounted(store.state()).total_seconds()
    return float(said or max_seconds) - used


def unaccounted(state: State) -> timedelta:
    """How long drivers were at work since the last effect was over. The newest note speaks for those before it."""
    note = next((entry for entry in reversed(state.notes) if entry.type == DRIVEN), None)
    if note is None:
        return timedelta(0)
    ended = [effect.resolution for effect in state.resolved if effect.kind in kinds.PERFORMED and effect.resolution]
    if any(entry.seq > note.seq for entry in ended):
        return timedelta(0)
    last = max((datetime.fromisoformat(str(entry.data["finishedAt"])) for entry in ended), default=None)
    since, until = (datetime.fromisoformat(str(note.data[name])) for name in ("since", "until"))
    return max(timedelta(0), until - (since if last is None else max(since, last)))
