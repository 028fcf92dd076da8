"""The files of an effect: written before their entry, read only from inside of the run, refused when damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridle.errors import JournalBroken, UserError
from bridle.ground.light.quick_path import Path as QuickPath
from bridle.ground.sync_group import SyncGroup
from bridle.journal.format.documents import BLOB_LIMIT_BYTES
from bridle.journal.format.entries import Effect, Entry, Output, Posted
from bridle.journal.stores.effect_files import TaskFiles
from tests.journal.fixtures.entry_steps import MOMENT, failure, ids, make_request, ok, state_of

LARGE = "x" * (BLOB_LIMIT_BYTES + 1)


def files(folder: Path) -> TaskFiles:
    return TaskFiles(QuickPath(str(folder)))


def requested(name: str = "a") -> Effect:
    return state_of(f"ask:{name}").effects[name]


def resolved(status: str = "ok", **data: object) -> Effect:
    """Return the effect `a` with a resolution that has this data."""
    effect = state_of("ask:a").effects["a"]
    fields: dict[str, Any] = {"effectId": "a", "status": status, "resultRef": "tasks/a/result.json"} | data
    effect.resolution = Entry(2, ids(2)[1], "EFFECT_RESOLVED", MOMENT, fields)
    return effect


def test_a_task_is_read_back_as_it_was_requested(tmp_path: Path) -> None:
    written = files(tmp_path).write_task(make_request("a", inputs={"n": 1}), SyncGroup())
    assert (written.ref, written.inputs_ref) == ("tasks/a/task.json", None)
    assert files(tmp_path).task(requested()).inputs == {"n": 1}


def test_large_inputs_and_results_are_in_files_of_their_own(tmp_path: Path) -> None:
    store = files(tmp_path)
    written = store.write_task(make_request("a", inputs=LARGE), SyncGroup())
    assert written.inputs_ref is not None
    assert (tmp_path / written.inputs_ref).is_file()
    assert store.task(requested()).inputs == LARGE
    store.write_result(resolved(), ok(LARGE), SyncGroup())
    assert store.result(resolved()).value == LARGE
    assert (tmp_path / "tasks" / "a" / "result.json").stat().st_size < BLOB_LIMIT_BYTES


@pytest.mark.parametrize("value", [None, 0, "", [], {}, False])
def test_an_empty_value_is_a_result(tmp_path: Path, value: object) -> None:
    store = files(tmp_path)
    store.write_result(resolved(), ok(value), SyncGroup())
    assert store.result(resolved()).value == value


def test_output_is_stored_byte_for_byte_or_by_its_reference(tmp_path: Path) -> None:
    posted = Posted(
        "ok",
        value=1,
        stdout=Output(text="a\udcff\n"),
        stderr=Output(ref="logs/e.txt"),
        started_at=MOMENT,
        finished_at=MOMENT,
    )
    written = files(tmp_path).write_result(resolved(), posted, SyncGroup())
    assert (written.stdout_ref, written.stderr_ref) == ("tasks/a/stdout.log", "logs/e.txt")
    assert (tmp_path / "tasks/a/stdout.log").read_bytes() == b"a\xff\n"


def test_an_error_is_read_from_its_entry_and_else_from_its_file(tmp_path: Path) -> None:
    store = files(tmp_path)
    store.write_result(resolved("error"), failure("E", "from the file"), SyncGroup())
    assert store.result(resolved("error", error={"message": "from the entry"})).error == {"message": "from the entry"}
    assert store.result(resolved("error")).error == {"name": "E", "message": "from the file"}


def test_an_effect_without_a_resolution_has_no_result(tmp_path: Path) -> None:
    with pytest.raises(JournalBroken, match="no result yet"):
        files(tmp_path).result(state_of("ask:a").effects["a"])


@pytest.mark.parametrize("ref", ["/etc/passwd", "../../x.json", "tasks/../../x.json"])
def test_a_reference_out_of_the_run_is_refused(tmp_path: Path, ref: str) -> None:
    run = tmp_path / "a" / "b"
    run.mkdir(parents=True)
    (tmp_path / "x.json").write_text('{"status": "ok", "result": 1}')
    (tmp_path / "a" / "x.json").write_text('{"status": "ok", "result": 1}')
    with pytest.raises(JournalBroken, match="leads out of the run"):
        files(run).result(resolved(resultRef=ref))


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '{"status": "ok"}', "\xff"])
def test_a_damaged_result_is_refused_and_named(tmp_path: Path, text: str) -> None:
    store = files(tmp_path)
    store.write_result(resolved(), ok(1), SyncGroup())
    (tmp_path / "tasks/a/result.json").write_text(text, encoding="latin-1")
    with pytest.raises(JournalBroken, match=r"tasks/a/result\.json"):
        store.result(resolved())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    store = files(tmp_path)
    store.write_task(make_request("a", inputs=LARGE), SyncGroup())
    next((tmp_path / "tasks/a/blobs").iterdir()).unlink()
    with pytest.raises(JournalBroken, match="blobs/inputs-"):
        store.task(requested())
    with pytest.raises(JournalBroken, match=r"task\.json"):
        store.task(requested("b"))


@pytest.mark.parametrize("effect_id", ["../x", "a/b", "", ".."])
def test_an_effect_id_that_is_not_safe_in_a_path_is_refused(tmp_path: Path, effect_id: str) -> None:
    with pytest.raises(UserError):
        files(tmp_path).path(effect_id)
