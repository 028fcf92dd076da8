"""The time of a run is the time in which it was driven, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bridle.ground import clock
from bridle.loop import effects as effects_module
from bridle.loop.control import time_used
from bridle.loop.effect_results import Clock
from bridle.loop.performers.earlier_attempts import InterruptedWork
from bridle.loop.process.active_time import ActiveTime
from bridle.loop.process.receipt import Receipt
from bridle.loop.settings.limits import Limits
from tests.loop.fixtures.run_on_engine import RunOnEngine

HOUR = Limits(max_seconds=3600.0)


def effect(since: str, until: str) -> Clock:
    return Clock(since=f"2026-11-{since}.000Z", until=f"2026-11-{until}.000Z")


def seconds(*clocks: Clock | None) -> float:
    time = ActiveTime()
    for one in clocks:
        time.add(one)
    return time.seconds


def test_from_the_drivers_start_to_the_last_effect() -> None:
    assert seconds(effect("14T10:00:00", "14T10:00:05"), effect("14T10:00:00", "14T10:30:00")) == 1800


def test_a_night_without_a_driver_is_not_counted() -> None:
    evening, morning = effect("14T22:00:00", "14T22:10:00"), effect("15T08:00:00", "15T08:01:00")
    assert seconds(evening, morning) == 660


def test_a_wait_counts_only_while_a_driver_runs() -> None:
    first = effect("14T10:00:00", "14T10:10:00")
    assert seconds(first, None, effect("14T10:00:00", "14T15:00:00")) == 5 * 3600
    assert seconds(first, None, effect("14T14:59:00", "14T15:00:00")) == 660


def test_effects_side_by_side_count_once_in_whatever_order_they_end() -> None:
    one, two = effect("14T10:00:00", "14T10:10:00"), effect("14T10:00:00", "14T10:09:00")
    assert seconds(one, two) == seconds(two, one) == 600


@given(st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59))))
def test_no_time_is_counted_twice(pairs: list[tuple[int, int]]) -> None:
    effects = [effect(f"14T10:{min(pair):02}:00", f"14T10:{max(pair):02}:00") for pair in pairs]
    assert 0 <= seconds(*effects) <= 59 * 60


def test_a_driver_that_ends_during_an_effect_has_used_its_time(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, "# One\n\n## One\nCheck: `false`\n", max_seconds=3600.0)
    began = run.now
    assert run.arguments_of(effects_module.CHECK)
    run.now += timedelta(minutes=30)
    time_used.end(run.store, began, run.now)  # interrupted at the first check
    run.now += timedelta(hours=9)
    assert time_used.seconds_left(run.store, Receipt.from_json(run.receipt()), HOUR, InterruptedWork()) == 1800
    since = time_used.begin(run.store, run.now, InterruptedWork())
    assert run.now - since == timedelta(minutes=30)
    run.now += timedelta(minutes=10)
    time_used.end(run.store, since, run.now)  # and once more
    run.now += timedelta(hours=9)
    assert time_used.seconds_left(run.store, Receipt.from_json(run.receipt()), HOUR, InterruptedWork()) == 1200
    run.driver = clock.iso(time_used.begin(run.store, run.now, InterruptedWork()))
    run.now += timedelta(minutes=5)
    run.post_checks(1)
    assert run.receipt()["seconds"] == 45 * 60
    assert time_used.begin(run.store, run.now, InterruptedWork()) == run.now
    assert time_used.seconds_left(run.store, Receipt.from_json(run.receipt()), HOUR, InterruptedWork()) == 15 * 60


def test_a_driver_that_was_killed_has_used_the_time_up_to_its_agents_last_sign_of_life(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, "# One\n\n## One\nCheck: `false`\n", max_seconds=3600.0)
    began, minute = run.now, timedelta(minutes=1)
    assert run.arguments_of(effects_module.CHECK)

    def killed(*spans: tuple[int, int]) -> InterruptedWork:
        return InterruptedWork(0.0, [(began + first * minute, began + last * minute) for first, last in spans])

    def left(cut_off: InterruptedWork) -> float:
        return time_used.seconds_left(run.store, Receipt.from_json(run.receipt()), HOUR, cut_off) / 60

    assert left(killed((1, 6), (100, 110))) == 45
    assert left(killed((1, 6), (2, 8))) == 53  # two workers at once
    run.now += 200 * minute
    since = time_used.begin(run.store, run.now, killed((1, 6), (100, 110)))
    assert run.now - since == 15 * minute
    run.now += 5 * minute
    time_used.end(run.store, since, run.now)  # its note speaks for those who were killed before it
    assert left(killed((1, 6), (100, 110), (201, 204))) == 40
    assert left(killed((1, 6), (100, 110), (201, 204), (300, 310))) == 30
    run.driver = clock.iso(time_used.begin(run.store, run.now, killed((1, 6), (100, 110))))
    run.post_checks(1)
    assert run.receipt()["seconds"] == 20 * 60
    assert left(killed()) == 40
