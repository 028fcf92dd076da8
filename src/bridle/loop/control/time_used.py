"""How much time and money a run has left, including what interrupted effects used.

A recorded result accounts for the time before it. A driver that ends during an effect records how long it ran, and the
next driver counts that as if it had begun earlier. A driver that is killed records nothing; the logs of its agents
show how long they ran.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from bridle.engine.process.effects import SLEEP
from bridle.errors import LockHeld
from bridle.ground import clock
from bridle.journal.format.state import State
from bridle.journal.stores.store import Store
from bridle.loop import effects, user_messages
from bridle.loop.performers.earlier_attempts import InterruptedWork
from bridle.loop.process.receipt import Receipt
from bridle.loop.settings.limits import Limits

DRIVEN = "BRIDLE_LOOP_DRIVEN"


@contextmanager
def counted(store: Store, interrupted: InterruptedWork) -> Iterator[datetime]:
    """Count the time of a driver, which is given the moment from which it counts."""
    since, is_counted = begin(store, clock.now(), interrupted), True
    try:
        yield since
    except LockHeld:  # another driver runs: the time is its own
        is_counted = False
        raise
    finally:
        if is_counted:
            end(store, since, clock.now())


def begin(store: Store, now: datetime, interrupted: InterruptedWork) -> datetime:
    """Return the moment from which the time of a driver counts that begins now."""
    return now - unrecorded_time(store.state(), interrupted)


def end(store: Store, since: datetime, now: datetime) -> None:
    """Record the time of a driver that ends during an effect."""
    if needs_driver(store):
        user_messages.send(store, DRIVEN, {"since": clock.iso(since), "until": clock.iso(now)})


def needs_driver(store: Store) -> bool:
    """Whether an effect is pending that only a driver can finish."""
    return any(effect.kind in (*effects.PERFORMED, SLEEP) for effect in store.position().pending.values())


def seconds_left(store: Store, receipt: Receipt, limits: Limits, interrupted: InterruptedWork) -> float:
    """Return how much longer a run may be driven."""
    return limits.max_seconds - receipt.seconds - unrecorded_time(store.state(), interrupted).total_seconds()


def cost_limit_reached(receipt: Receipt, limits: Limits, interrupted: InterruptedWork) -> str | None:
    """Return why an interrupted iteration must not start again; None where it may."""
    limit = limits.max_cost_usd
    spent = receipt.cost_usd + interrupted.cost_usd
    if not interrupted.cost_usd or spent < limit:
        return None
    return (
        f"{spent:.4f} of {limit:g} USD are spent, including agents of killed runs."
        " Raise the limit with: bridle resume --max-cost USD"
    )


def unrecorded_time(state: State, interrupted: InterruptedWork) -> timedelta:
    """Return how long drivers ran since the last recorded result; the newest note includes those before it."""
    ended = [effect.resolution for effect in state.resolved if effect.kind in effects.PERFORMED and effect.resolution]
    last = max((datetime.fromisoformat(str(entry.data["finishedAt"])) for entry in ended), default=None)
    note = next((entry for entry in reversed(state.notes) if entry.type == DRIVEN), None)
    if note is not None and any(entry.seq > note.seq for entry in ended):
        note = None
    spans = interrupted.spans
    if note is not None:
        since, until = (datetime.fromisoformat(str(note.data[name])) for name in ("since", "until"))
        spans = [(since, until), *((max(began, until), end) for began, end in spans)]
    used, reached = timedelta(0), last
    for began, end in spans:
        begin = began if reached is None else max(began, reached)
        if end > begin:
            used, reached = used + (end - begin), end
    return used
