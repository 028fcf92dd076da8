"""A file of a run that was changed is refused by name by every command that uses it, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.journal.stores.file_reader import FileReader
from tests.fixtures.bridle_program import run_bridle
from tests.journal.fixtures.recorded_samples import contents

PROCESS = """\
from bridle import define_task

step = define_task("step", lambda args, task: {"kind": "node", "title": f"step {args['n']}"})


async def process(inputs, ctx):
    for n in range(2):
        await ctx.task(step, {"n": n})
    return inputs
"""

TASK, RESULT, INPUTS, OUTPUT = "task.json", "result.json", "inputs.json", "output.json"


def iterated(folder: Path, *, posts: int) -> Path:
    """A run that was iterated after each of so many results; it is complete after two."""
    (folder / "p.py").write_text(PROCESS, encoding="utf-8")
    (folder / "inputs.json").write_text('{"a": 1}', encoding="utf-8")
    entry = ("--process-id", "p", "--entry", f"{folder / 'p.py'}#process", "--inputs", folder / "inputs.json")
    created = run_bridle("run:create", *entry, "--runs-dir", folder / "runs", "--json")
    run = Path(json.loads(created.stdout)["runDir"])
    assert run_bridle("run:iterate", run).returncode == 0
    for _ in range(posts):
        (effect_id,) = FileReader(run).position().pending
        assert run_bridle("task:post", run, effect_id, "--status", "ok", "--value-inline", "1").returncode == 0
        assert run_bridle("run:iterate", run).returncode == 0
    return run


def refused(run: Path, path: Path, *command: str) -> bool:
    """Whether the command refuses the run, names the file, and writes nothing."""
    before = contents(run)
    done = run_bridle(command[0], run, *command[1:])
    after = contents(run)
    is_same = {name: after.get(name) for name in before if "lock" not in name} == {
        name: text for name, text in before.items() if "lock" not in name
    }
    return done.returncode == 1 and done.stdout == "" and str(path) in done.stderr and is_same


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


@pytest.mark.parametrize("is_removed", [False, True], ids=["changed", "removed"])
@pytest.mark.parametrize("is_pending", [False, True], ids=["resolved", "pending"])
def test_replay_and_rebuild_name_a_changed_task(tmp_path: Path, *, is_pending: bool, is_removed: bool) -> None:
    run = iterated(tmp_path, posts=1)
    effect = next(e for e in FileReader(run).state().effects.values() if e.is_pending == is_pending)
    path = run / effect.task_ref
    path.unlink() if is_removed else change(path)
    assert refused(run, path, "replay")
    assert refused(run, path, "run:rebuild-state")
    if is_pending:
        assert refused(run, path, "task:post", effect.effect_id, "--status", "ok", "--value-inline", "1")


def test_changed_inputs_are_refused_by_every_command_also_after_the_end(tmp_path: Path) -> None:
    run = iterated(tmp_path, posts=2)
    change(run / INPUTS)
    for command in ("run:status", "run:iterate", "drive", "replay", "run:rebuild-state"):
        assert refused(run, run / INPUTS, command), command


@pytest.mark.parametrize("name", [RESULT, OUTPUT])
def test_a_rebuild_names_a_changed_result_and_output(tmp_path: Path, name: str) -> None:
    run = iterated(tmp_path, posts=2)
    path = next(run.rglob(name))
    change(path)
    assert refused(run, path, "run:rebuild-state")


def test_no_proof_is_given_for_an_end_that_was_changed(tmp_path: Path) -> None:
    run = iterated(tmp_path, posts=2)
    path = max((run / "journal").iterdir())
    path.write_bytes(path.read_bytes().replace(b"RUN_COMPLETED", b"RUN_completed"))
    for command in ("run:iterate", "run:status", "drive"):
        assert refused(run, path, command), command


@pytest.mark.parametrize("is_removed", [False, True], ids=["changed", "removed"])
@pytest.mark.parametrize("command", ["run:iterate", "drive"])
def test_a_run_does_not_complete_with_a_changed_task(tmp_path: Path, command: str, *, is_removed: bool) -> None:
    run = iterated(tmp_path, posts=1)
    (first,) = FileReader(run).state().resolved
    (last,) = FileReader(run).position().pending
    assert run_bridle("task:post", run, last, "--status", "ok", "--value-inline", "1").returncode == 0
    path = run / first.task_ref
    path.unlink() if is_removed else change(path)
    before = contents(run / "journal")
    done = run_bridle(command, run)
    assert (done.returncode, done.stdout, str(path) in done.stderr) == (1, "", True)
    assert contents(run / "journal") == before
    assert not (run / "state" / OUTPUT).exists()
