"""The file beside an agent's log is read as it was written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bridle.errors import DiskError
from bridle.run.log_meta import EndMeta, LogMeta, StartMeta, mark_lost, read_meta, sidecar_path, write_meta
from bridle.wire.record.error_category import Category
from bridle.wire.record.outcome import Ending, Rules
from bridle.wire.record.policy import Policy

START = StartMeta(
    agent="codex",
    program="/bin/codex",
    program_found="PATH",
    argv=["codex", "exec"],
    cwd="/repo",
    mode="coder",
    task="t",
    prompt="Say hello.",
    purpose="p",
    model="gpt-5",
    driver="D",
    driver_seconds=2.5,
    attempt=1,
    auth="login",
    permission_mode="default",
    permissions_bypassed=False,
    sandbox=None,
    policy="lenient",
    hang_heuristic=False,
    background_heuristic=True,
    denials_fail=False,
    expected_session="s1",
    started="2026-11-15T00:00:00.000Z",
    pid=1,
)
END = EndMeta(
    ended="2026-11-15T00:00:01.000Z",
    seconds=1.0,
    exit_code=3,
    timed_out=True,
    ended_by_us=False,
    killed_after_result=False,
    limit="run",
    limit_seconds=1.0,
    fault="full",
    fault_category="budget",
    corrections=0,
    agent_version=None,
    session_id="s2",
    reported_permission_mode=None,
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    log = tmp_path / "a.b.ndjson"
    path = sidecar_path(log, ".meta.json")
    assert path.name == "a.b.meta.json"
    assert read_meta(log) == LogMeta()
    write_meta(path, START)
    assert not read_meta(log).is_ended
    (tmp_path / "a.b.stderr").touch()
    write_meta(path, START, END, not_found="no codex")
    assert read_meta(log) == LogMeta(
        agent="codex",
        mode="coder",
        prompt="Say hello.",
        purpose="p",
        model="gpt-5",
        pid=1,
        driver="D",
        driver_seconds=2.5,
        seconds=1.0,
        is_ended=True,
        ending=Ending(
            exit_code=3,
            timed_out=True,
            expected_session="s1",
            not_found="no codex",
            fault="full",
            fault_category=Category.BUDGET,
        ),
        rules=Rules(policy=Policy.LENIENT, hang_heuristic=False, denials_fail=False),
        stderr=tmp_path / "a.b.stderr",
        started="2026-11-15T00:00:00.000Z",
        ended="2026-11-15T00:00:01.000Z",
        session_id="s2",
    )


@pytest.mark.parametrize(
    ("times", "seconds"), [("12 40\n300 2500\n", 2.5), ("", 0.0), ("12 x\n", 0.0), ("1 1\n" * 1000 + "9 7000\n", 7.0)]
)
def test_an_agent_whose_bridle_was_killed_ran_until_it_printed_last(tmp_path: Path, times: str, seconds: float) -> None:
    log = tmp_path / "a.ndjson"
    write_meta(sidecar_path(log, ".meta.json"), START)
    assert read_meta(log).seconds == 0
    sidecar_path(log, ".times").write_text(times)
    assert read_meta(log).seconds == seconds


def test_a_pipe_in_the_place_of_the_times_is_not_waited_for(tmp_path: Path) -> None:
    write_meta(tmp_path / "a.meta.json", START)
    os.mkfifo(tmp_path / "a.times")
    assert read_meta(tmp_path / "a.ndjson").seconds == 0


def test_a_lost_run_keeps_its_start_and_has_no_exit_code(tmp_path: Path) -> None:
    log = tmp_path / "a.ndjson"
    write_meta(sidecar_path(log, ".meta.json"), START)
    mark_lost(log)
    meta = read_meta(log)
    assert (meta.is_ended, meta.agent, meta.ending.exit_code) == (True, "codex", None)
    assert json.loads((tmp_path / "a.meta.json").read_text())["lost"] is True


def test_fields_of_another_type_count_as_missing(tmp_path: Path) -> None:
    document = {"agent": 1, "exit_code": True, "policy": "new", "fault_category": "new", "mode": None, "other": 1}
    (tmp_path / "a.meta.json").write_text(json.dumps(document))
    meta = read_meta(tmp_path / "a.ndjson")
    assert meta == LogMeta(ending=Ending(exit_code=None))


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "\0"])
def test_a_damaged_file_raises(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.meta.json").write_text(text)
    with pytest.raises(DiskError, match=r"a\.meta\.json"):
        read_meta(tmp_path / "a.ndjson")


def test_a_name_too_long_for_a_file_has_no_file_beside_it(tmp_path: Path) -> None:
    assert read_meta(tmp_path / ("x" * 300)) == LogMeta()
