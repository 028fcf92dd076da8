"""A result that was changed after it was written is refused by every command that uses it, naming its file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.engine.fixtures.driven_runs import DrivenRun, new_driven_run

WAITS = """
async def process(inputs, ctx):
    first = await ctx.task(shell, {"command": "echo hi"}, label="first")
    return (await ctx.breakpoint({"question": first["stdout"]}, label="gate"))["approved"]
"""
COMMANDS = ("run:iterate", "drive", "run:status", "replay", "task:show")


def waiting_run(folder: Path) -> DrivenRun:
    """A run with one result that waits for an answer."""
    driven = new_driven_run(folder, WAITS)
    assert driven.bridle("drive").returncode == 4
    return driven


def change(driven: DrivenRun) -> Path:
    path = driven.run / "tasks" / driven.effect("first") / "result.json"
    path.write_text(path.read_text().replace("hi", "ho"))
    return path


def refusals(driven: DrivenRun, path: Path) -> dict[str, bool]:
    """Which commands refuse the run and name the file."""
    found = {}
    for command in COMMANDS:
        effect = [driven.effect("first")] if command == "task:show" else []
        done = driven.bridle(command, "r1", *effect)
        found[command] = done.returncode == 1 and f"{path} of this run is invalid: it was changed" in done.stderr
        assert done.stdout == ""
    return found


def test_a_changed_result_of_a_waiting_run_is_refused(tmp_path: Path) -> None:
    driven = waiting_run(tmp_path)
    before = driven.types()
    assert refusals(driven, change(driven)) == dict.fromkeys(COMMANDS, True)
    assert driven.types() == before


def test_a_changed_result_of_a_completed_run_is_refused(tmp_path: Path) -> None:
    driven = waiting_run(tmp_path)
    assert driven.bridle("answer", driven.effect("gate"), "yes", "--resume").returncode == 0
    assert refusals(driven, change(driven)) == dict.fromkeys(COMMANDS, True)


def test_a_changed_output_of_a_completed_run_is_refused(tmp_path: Path) -> None:
    driven = waiting_run(tmp_path)
    assert driven.bridle("answer", driven.effect("gate"), "yes", "--resume").returncode == 0
    path = driven.run / "state/output.json"
    path.write_text("false\n")
    for command in ("run:iterate", "drive", "replay"):
        done = driven.bridle(command, "r1")
        assert (done.returncode, done.stdout) == (1, "")
        assert str(path) in done.stderr


def test_a_changed_task_is_not_executed(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, WAITS)
    assert driven.bridle("run:iterate", "r1").returncode == 0
    path = driven.run / "tasks" / driven.effect("first") / "task.json"
    path.write_text(path.read_text().replace("echo hi", "touch no"))
    done = driven.bridle("drive")
    assert done.returncode == 1
    assert str(path) in done.stderr
    assert not (driven.folder / "no").exists()


@pytest.mark.parametrize("name", ["state.json", "bridle.pack"])
def test_a_changed_cache_is_named_by_the_audit_ignored_and_rebuilt(tmp_path: Path, name: str) -> None:
    driven = waiting_run(tmp_path)
    path = driven.run / "state" / name
    path.write_bytes(path.read_bytes().replace(b"first", b"fierce"))
    audited = driven.bridle("audit", "r1")
    assert audited.returncode == 1
    assert f"wrong: {path}: " in audited.stdout
    assert f"bridle run:rebuild-state {driven.run} rebuilds it" in audited.stdout
    assert driven.bridle("run:rebuild-state", "r1").returncode == 0
    assert driven.bridle("audit", "r1").returncode == 0
    assert driven.bridle("replay", "r1").returncode == 0
    assert driven.bridle("answer", driven.effect("gate"), "yes", "--resume").returncode == 0


def test_a_changed_pack_misleads_no_command_and_the_next_writer_rebuilds_it(tmp_path: Path) -> None:
    driven = waiting_run(tmp_path)
    path = driven.run / "state/bridle.pack"
    path.write_bytes(path.read_bytes().replace(b"hi", b"ho"))
    assert driven.bridle("replay", "r1").returncode == 0
    assert driven.bridle("answer", driven.effect("gate"), "yes", "--resume").returncode == 0
    assert driven.bridle("audit", "r1").returncode == 0


HANDLES_ERRORS = """
async def process(inputs, ctx):
    try:
        return await ctx.task(shell, {"command": "echo hi"}, label="first")
    except Exception as error:
        return {"skipped": type(error).__name__}
"""


@pytest.mark.parametrize("command", ["run:iterate", "drive", "replay"])
@pytest.mark.parametrize("rebuilds", [True, False])
def test_a_process_cannot_handle_the_error_of_a_changed_task(tmp_path: Path, command: str, rebuilds: bool) -> None:
    driven = new_driven_run(tmp_path, HANDLES_ERRORS)
    assert driven.bridle("run:iterate", "r1").returncode == 0
    before, path = driven.types(), driven.run / "tasks" / driven.effect("first") / "task.json"
    written = path.read_text()
    path.write_text(written.replace("Shell", "Shelf"))
    if rebuilds:
        shutil.rmtree(driven.run / "state")
    done = driven.bridle(command, "r1", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr.splitlines()[-1])["error"] == "JOURNAL_BROKEN"
    assert str(path) in done.stderr
    assert driven.types() == before
    path.write_text(written)
    assert driven.bridle("drive").returncode == 0
    assert driven.bridle("replay", "r1").returncode == 0


@pytest.mark.parametrize("handles", [True, False])
def test_a_changed_blob_of_inputs_stops_the_iteration_outside_the_process(tmp_path: Path, handles: bool) -> None:
    source = HANDLES_ERRORS if handles else WAITS
    driven = new_driven_run(tmp_path, source.replace('"echo hi"', '"echo " + "hi" * 600_000 + " | wc -c"'))
    assert driven.bridle("run:iterate", "r1").returncode == 0
    before = driven.types()
    (path,) = (driven.run / "tasks" / driven.effect("first") / "blobs").iterdir()
    path.write_bytes(path.read_bytes().replace(b"hi", b"ho", 1))
    shutil.rmtree(driven.run / "state")
    done = driven.bridle("run:iterate", "r1", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"] == "JOURNAL_BROKEN"
    assert str(path) in done.stderr
    assert driven.types() == before
