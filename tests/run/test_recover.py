"""A run whose Bridle was killed is counted once, and its session remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.run import sessions
from bridle.run.budget import Budget, budget_file
from bridle.run.logs import FOLDER
from bridle.run.recover import lock_note, recover_killed_run
from bridle.run.sessions import session_file
from tests.run.fixtures.fake_agent import SESSION, init, result


def lost_log(workspace: Path, text: str, meta: str | None = '{"agent": "claude", "mode": "coder"}') -> Path:
    """Write the log of a run, and what stands beside it."""
    folder = workspace / FOLDER
    folder.mkdir(parents=True)
    log = folder / "run.ndjson"
    log.write_text(text)
    if meta is not None:
        (folder / "run.meta.json").write_text(meta)
    return log


def test_a_lost_run_is_counted_once_however_often_it_is_recovered(tmp_path: Path) -> None:
    lost_log(tmp_path, init() + result(total_cost_usd=0.5))
    before = Budget(known_cost_usd=1.0, iterations=3)
    note = lock_note("run.ndjson", before)
    counted = recover_killed_run(tmp_path, note, before)
    assert counted is not None
    assert (counted[0].iterations, counted[0].total_cost_usd) == (4, 1.5)
    assert recover_killed_run(tmp_path, note, counted[0]) is None, (
        "killed after it was counted, before the lock said so"
    )
    assert sessions.read(tmp_path).coder == SESSION


def test_a_lost_run_that_printed_nothing_cost_nothing(tmp_path: Path) -> None:
    lost_log(tmp_path, "", None)
    assert recover_killed_run(tmp_path, lock_note("run.ndjson", Budget()), Budget()) is None
    assert not budget_file(tmp_path).exists()


def test_a_lost_start_counts_although_it_printed_nothing(tmp_path: Path) -> None:
    lost_log(tmp_path, "", '{"agent": "claude", "mode": "coder", "pid": 7}')
    counted = recover_killed_run(tmp_path, lock_note("run.ndjson", Budget()), Budget())
    assert counted is not None
    assert (counted[0].iterations, counted[0].total_cost_usd) == (1, 0)
    assert not session_file(tmp_path).exists()


def test_a_lost_run_with_a_damaged_description_is_counted_and_the_damage_left_alone(tmp_path: Path) -> None:
    log = lost_log(tmp_path, init() + result(total_cost_usd=0.5), "{torn")
    counted = recover_killed_run(tmp_path, lock_note("run.ndjson", Budget()), Budget())
    assert counted is not None
    assert counted[0].total_cost_usd == 0.5
    assert log.with_name("run.meta.json").read_text() == "{torn"


def test_a_log_that_was_cut_off_counts_as_far_as_it_goes(tmp_path: Path) -> None:
    lost_log(tmp_path, init() + result(total_cost_usd=0.5)[:40])
    counted = recover_killed_run(tmp_path, lock_note("run.ndjson", Budget()), Budget())
    assert counted is not None
    assert (counted[0].iterations, counted[1].usd) == (1, None)
    assert sessions.read(tmp_path).coder == SESSION


@pytest.mark.parametrize(
    "meta",
    [
        '{"agent": "codex", "mode": "coder"}',
        '{"agent": "claude", "mode": "summarizer"}',
        '{"agent": "claude", "mode": "unknown"}',
        '{"agent": "unknown", "mode": "coder"}',
    ],
)
def test_the_session_of_an_agent_or_mode_without_sessions_is_not_remembered(tmp_path: Path, meta: str) -> None:
    lost_log(tmp_path, init() + result(total_cost_usd=0.5), meta)
    recover_killed_run(tmp_path, lock_note("run.ndjson", Budget()), Budget())
    assert not session_file(tmp_path).exists()


@pytest.mark.parametrize(
    "note",
    ["", "0", "0 ", "x run.ndjson", "-1 run.ndjson", "0 ../run.ndjson", "0 run.meta.json", "0 other.ndjson", "0 /x"],
)
def test_a_note_that_names_no_log_is_ignored(tmp_path: Path, note: str) -> None:
    lost_log(tmp_path, init() + result(total_cost_usd=0.5))
    assert recover_killed_run(tmp_path, note, Budget()) is None
    assert not budget_file(tmp_path).exists()


def test_a_link_in_place_of_a_log_is_not_followed(tmp_path: Path) -> None:
    log = lost_log(tmp_path, init() + result(total_cost_usd=0.5))
    log.with_name("link.ndjson").symlink_to(log)
    assert recover_killed_run(tmp_path, "0 link.ndjson", Budget()) is None
