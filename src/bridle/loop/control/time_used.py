"""How much time and money a run has left, including what interrupted effects used.

Results record the time of drivers. A driver that ends during an effect records its own time in a note, and the results
of the next driver repeat it. A driver that is killed records nothing; a file, and the logs of its agents, show how
long it ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType

from bridle.errors import LockHeld
from bridle.ground import clock
from bridle.ground.json_fields import JsonFields
from bridle.journal.format.entries import SLEEP, Entry
from bridle.journal.format.state import State
from bridle.journal.stores.store import Store
from bridle.loop import effects, user_messages
from bridle.loop.performers.driver_time import DriverTime
from bridle.loop.performers.earlier_attempts import InterruptedWork
from bridle.loop.process.receipt import Receipt

DRIVEN = "BRIDLE_LOOP_DRIVEN"
TIME_IS_OVER = "the time limit is reached. Raise it with: bridle resume --max-time DURATION"


@contextmanager
def counted(store: Store, earlier: dict[str, float]) -> Iterator[DriverTime]:
    """Count the time of a driver, and record it where the driver ends during an effect."""
    time, is_counted = DriverTime(earlier), True
    try:
        yield time
    except LockHeld:  # another driver runs: the time is its own
        is_counted = False
        raise
    finally:
        if is_counted and needs_driver(store):
            until = clock.iso(clock.now())
            data = {"since": time.since, "until": until, "driver": time.driver, "seconds": time.seconds}
            user_messages.send(store, DRIVEN, data)


def needs_driver(store: Store) -> bool:
    """Return whether an effect is pending that only a driver can finish."""
    return any(effect.kind in (*effects.PERFORMED, SLEEP) for effect in store.position().pending.values())


def earlier_drivers(
    state: State, interrupted: InterruptedWork, written: Mapping[str, float] = MappingProxyType({})
) -> dict[str, float]:
    """Return the seconds of drivers that may have run longer than results recorded, by id.

    `written` is what drivers wrote into their file.
    """
    ended = [effect.resolution for effect in state.resolved if effect.kind in effects.PERFORMED and effect.resolution]
    last = max((entry.seq for entry in ended), default=0)
    drivers = dict(interrupted.drivers)
    for entry in state.notes:
        if entry.type == DRIVEN and entry.seq > last:
            driver, seconds = _driven(entry, ended)
            drivers[driver] = max(drivers.get(driver, 0.0), seconds)
    for driver, seconds in written.items():
        drivers[driver] = max(drivers.get(driver, 0.0), seconds)
    return drivers


def _driven(entry: Entry, ended: list[Entry]) -> tuple[str, float]:
    """Return the id and the seconds of a note; earlier versions noted readings of the system clock."""
    fields = JsonFields(entry.data)
    driver, seconds = fields.text("driver"), fields.number("seconds")
    if driver is not None and seconds is not None:
        return driver, seconds
    since, until = (datetime.fromisoformat(str(fields.value(name))) for name in ("since", "until"))
    finished = [datetime.fromisoformat(str(resolution.data["finishedAt"])) for resolution in ended]
    return NOTED, max(0.0, (until - max([since, *finished])).total_seconds())


NOTED = "noted"
"""The id for drivers of earlier versions, each of whose notes includes those before it."""


def seconds_used(receipt: Receipt, earlier: dict[str, float]) -> float:
    """Return how long a run was driven."""
    recorded = receipt.drivers
    unrecorded = sum(max(0.0, seconds - recorded.get(driver, 0.0)) for driver, seconds in earlier.items())
    return receipt.seconds + unrecorded


def limit_reached(receipt: Receipt, interrupted: InterruptedWork, store: Store) -> str | None:
    """Return which limit prevents that an interrupted effect starts again; None where none does."""
    if not needs_driver(store):
        return None
    is_late = receipt.seconds >= receipt.limits.max_seconds
    return _cost_limit_reached(receipt, interrupted) or (TIME_IS_OVER if is_late else None)


def _cost_limit_reached(receipt: Receipt, interrupted: InterruptedWork) -> str | None:
    limit = receipt.limits.max_cost_usd
    if not interrupted.usage.cost_usd or receipt.known_cost_usd < limit:
        return None
    return (
        f"{receipt.known_cost_usd:.4f} of {limit:g} USD are spent, including interrupted iterations."
        " Raise the limit with: bridle resume --max-cost USD"
    )
