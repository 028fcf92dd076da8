"""The time of a run is the time in which it was driven, and nothing else."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bridle.loop import effects as effects_module
from bridle.loop.control import time_used
from bridle.loop.control.current_state import replay_receipt
from bridle.loop.effect_results import Clock
from bridle.loop.performers.earlier_attempts import InterruptedWork
from bridle.loop.process.active_time import ActiveTime
from tests.loop.fixtures.run_on_engine import RunOnEngine


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


def test_the_seconds_of_a_driver_count_and_its_readings_of_the_system_clock_do_not() -> None:
    backwards, forwards = effect("14T10:00:00", "11T10:00:00"), effect("14T10:00:00", "17T10:00:00")
    first, second = replace(backwards, driver="A", seconds=5.0), replace(forwards, driver="A", seconds=9.0)
    assert seconds(first, second) == seconds(second, first) == 9
    assert seconds(first, replace(backwards, driver="B", seconds=2.0)) == 7


def test_a_later_driver_records_the_time_of_those_before_it_once() -> None:
    first = replace(effect("14T09:00:00", "14T09:00:10"), driver="A", seconds=10.0)
    later = replace(effect("14T10:00:00", "14T10:00:00"), driver="C", seconds=1.0, earlier={"A": 25.0, "B": 7.0})
    assert seconds(first, later) == 33
    assert seconds(first, later, replace(later, seconds=2.0, earlier={})) == 34
    assert seconds(first, *(replace(later, seconds=float(n)) for n in range(5))) == 36


def test_a_run_of_an_earlier_version_goes_on_counting() -> None:
    old = effect("14T10:00:00", "14T10:30:00")
    new = replace(effect("15T10:00:00", "15T11:00:00"), driver="A", seconds=60.0)
    assert seconds(old, new) == 1860


def used(run: RunOnEngine, interrupted: InterruptedWork) -> float:
    earlier = time_used.earlier_drivers(run.store.state(), interrupted)
    return time_used.seconds_used(replay_receipt(run.store), earlier)


def test_a_driver_that_ends_during_an_effect_has_used_its_time(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, "# One\n\n## One\nCheck: `false`\n")
    before = used(run, InterruptedWork())
    assert run.arguments_of(effects_module.CHECK)
    with time_used.counted(run.store, {}) as first:
        pass
    notes = [entry.data for entry in run.store.state().notes if entry.type == time_used.DRIVEN]
    assert [note["driver"] for note in notes] == [first.driver]
    assert used(run, InterruptedWork()) == before + float(str(notes[0]["seconds"]))


def note(run: RunOnEngine, **data: object) -> None:
    with run.store.write("test") as writer:
        writer.append(time_used.DRIVEN, data)


def test_every_interrupted_driver_counts_until_a_result_has_recorded_it(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, "# One\n\n## One\nCheck: `false`\n")
    assert run.arguments_of(effects_module.CHECK)
    note(run, driver="A", seconds=30.0)
    assert used(run, InterruptedWork()) == 30
    note(run, driver="B", seconds=10.0)
    killed = InterruptedWork(drivers={"A": 12.0, "K": 5.0})
    assert used(run, killed) == 45
    run.clock = {"driver": "C", "seconds": 1.0, "earlier": time_used.earlier_drivers(run.store.state(), killed)}
    run.post_checks(1)
    assert run.arguments_of(effects_module.WORK)
    assert used(run, InterruptedWork()) == used(run, killed) == 46
    assert used(run, InterruptedWork(drivers={"C": 4.0})) == 49


def test_a_note_of_an_earlier_version_has_only_readings_of_the_system_clock(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, "# One\n\n## One\nCheck: `false`\n")
    assert run.arguments_of(effects_module.CHECK)
    note(run, since="2026-11-14T10:10:00.000Z", until="2026-11-14T10:40:00.000Z")
    note(run, since="2026-11-14T17:30:00.000Z", until="2026-11-14T18:10:00.000Z")  # it includes the one before
    assert used(run, InterruptedWork()) == 40 * 60
