"""`bridle run:iterate` as an agent calls it: one document on stdout, words on stderr, the exit code."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bridle.journal.stores.file_store import FileStore
from tests.engine.fixtures.iterated_runs import PROOF, IteratedRun
from tests.fixtures.bridle_program import run_bridle as bridle
from tests.journal.fixtures.run_metadata import change_metadata

ONE = "async def process(inputs, ctx):\n    return await ctx.task(step, {'n': 1})\n"


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_run_is_created_iterated_posted_to_and_completed_by_commands_alone(tmp_path: Path) -> None:
    process = IteratedRun(tmp_path, ONE).process
    created = bridle(
        "run:create", "--process-id", "demo", "--entry", f"{process}#process", "--run-id", "r2", "--json", cwd=tmp_path
    )
    assert created.returncode == 0, created.stderr
    run = document(created)["runDir"]
    first = bridle("run:iterate", run, "--json")
    assert first.returncode == 0, first.stderr
    found = document(first)
    assert (found["iteration"], found["status"], found["action"]) == (1, "executed", "executed-tasks")
    assert (found["reason"], found["count"]) == ("auto-runnable-tasks", 1)
    assert found["metadata"] == {"runId": "r2", "processId": "demo", "hookStatus": "no-hooks-configured"}
    (action,) = found["nextActions"]
    assert action["taskDef"]["inputs"] == {"n": 1}
    posted = bridle("task:post", run, action["effectId"], "--status", "ok", "--value-inline", '{"v": 2}')
    assert posted.returncode == 0, posted.stderr
    last = bridle("run:iterate", run, "--json")
    assert last.returncode == 0
    assert document(last)["status"] == "completed"
    assert document(last)["completionProof"] == document(bridle("run:status", run, "--json"))["completionProof"]
    assert json.loads((Path(run) / "state" / "output.json").read_text()) == {"v": 2}
    assert [entry.type for entry in FileStore(Path(run)).entries()] == [
        "RUN_CREATED",
        "EFFECT_REQUESTED",
        "EFFECT_RESOLVED",
        "RUN_COMPLETED",
    ]


def test_the_run_may_be_named_by_its_id(tmp_path: Path) -> None:
    IteratedRun(tmp_path, ONE)
    assert document(bridle("run:iterate", "r1", "--json", cwd=tmp_path))["status"] == "executed"


def test_the_words_for_people_say_what_to_do(tmp_path: Path) -> None:
    iterated = IteratedRun(tmp_path, ONE)
    done = bridle("run:iterate", iterated.run)
    assert done.stdout == (
        "[run:iterate] iteration=1 status=executed action=executed-tasks reason=auto-runnable-tasks count=1\n"
        f"- {iterated.effect('1').effect_id} [agent] Step\n"
    )
    iterated.post("1", 1)
    assert f"completionProof={PROOF}" in bridle("run:iterate", iterated.run).stdout


def test_another_number_may_be_reported(tmp_path: Path) -> None:
    iterated = IteratedRun(tmp_path, ONE)
    assert document(bridle("run:iterate", iterated.run, "--iteration", "7", "--json"))["iteration"] == 7


def test_a_sleep_says_until_when(tmp_path: Path) -> None:
    source = "async def process(inputs, ctx):\n    await ctx.sleep_until('2099-01-01T00:00:00Z')\n"
    found = document(bridle("run:iterate", IteratedRun(tmp_path, source).run, "--json"))
    assert (found["status"], found["action"], found["reason"]) == ("waiting", "waiting", "sleep-waiting")
    assert found["until"] == 4_070_908_800_000


@pytest.mark.parametrize(
    ("body", "status"),
    [("raise ValueError('no')", "failed"), ("await ctx.halt('enough')", "halted")],
)
def test_a_run_that_failed_or_was_halted_exits_1_with_its_document_on_stdout(
    tmp_path: Path, body: str, status: str
) -> None:
    iterated = IteratedRun(tmp_path, f"async def process(inputs, ctx):\n    {body}\n")
    for _ in range(2):
        done = bridle("run:iterate", iterated.run, "--json")
        assert done.returncode == 1
        assert document(done)["status"] == status
        assert "completionProof" not in document(done)
        assert done.stderr == ""
    assert len(iterated.types()) == 1


def test_a_diverged_process_is_an_error_on_stderr(tmp_path: Path) -> None:
    iterated = IteratedRun(tmp_path, ONE)
    bridle("run:iterate", iterated.run)
    iterated.write(ONE.replace("'n': 1", "'n': 2"))
    done = bridle("run:iterate", iterated.run, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    error = json.loads(done.stderr)
    assert error["error"] == "PROCESS_DIVERGED"
    assert f"{iterated.process}:10: step S000001" in error["message"]
    assert '{"n": 2}' in error["message"]
    assert '{"n": 1}' in error["message"]
    assert iterated.types() == ["EFFECT_REQUESTED"]


def _rename_entry(iterated: IteratedRun, path: str) -> None:
    change_metadata(iterated.run, entrypoint={"importPath": path, "exportName": "process"})


@pytest.mark.parametrize(
    ("break_it", "code"),
    [
        (lambda iterated: iterated.process.unlink(), "PROCESS_NOT_LOADED"),
        (lambda iterated: iterated.process.write_text("def process("), "PROCESS_NOT_LOADED"),
        (lambda iterated: _rename_entry(iterated, "../../../process.mjs"), "PROCESS_NOT_LOADED"),
        (lambda iterated: next((iterated.run / "journal").iterdir()).write_text(""), "JOURNAL_BROKEN"),
        (lambda iterated: (iterated.run / "run.json").unlink(), "RUN_NOT_FOUND"),
        (lambda iterated: (iterated.run / "run.json").write_text('{"layoutVersion": "1"}'), "JOURNAL_BROKEN"),
        (lambda iterated: change_metadata(iterated.run, layoutVersion="1"), "JOURNAL_BROKEN"),
    ],
)
def test_what_keeps_a_run_from_being_iterated_is_an_error_on_stderr(tmp_path: Path, break_it: Any, code: str) -> None:
    iterated = IteratedRun(tmp_path, ONE)
    break_it(iterated)
    done = bridle("run:iterate", iterated.run, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"] == code


def test_what_a_process_prints_does_not_get_between_the_data(tmp_path: Path) -> None:
    iterated = IteratedRun(tmp_path, f"print('loaded')\n{ONE.replace('return', 'print(inputs); return')}")
    done = bridle("run:iterate", iterated.run, "--json")
    assert document(done)["status"] == "executed"
    assert done.stderr == "loaded\n{}\n"


def test_no_hooks_runs_none(tmp_path: Path) -> None:
    iterated = IteratedRun(tmp_path, ONE)
    hook = Path(os.environ["XDG_CONFIG_HOME"]) / "babysitter" / "hooks" / "on-iteration-end" / "a.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"touch {tmp_path / 'witness'}\n")
    done = document(bridle("run:iterate", iterated.run, "--no-hooks", "--json"))
    assert done["metadata"]["hookStatus"] == "skipped"
    assert not (tmp_path / "witness").exists()
    assert document(bridle("run:iterate", iterated.run, "--json"))["metadata"]["hookStatus"] == "executed"
    assert (tmp_path / "witness").exists()


def test_a_process_in_a_repository_elsewhere_is_found_from_the_runs_folder(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "runs").mkdir()
    process = tmp_path / "code" / "process.py"
    process.write_text("async def other(inputs, ctx):\n    return inputs\n")
    (tmp_path / "inputs.json").write_text('["in"]')
    words = ["--process-id", "x/y", "--entry", "code/process.py#other", "--runs-dir", "runs", "--run-id", "r"]
    created = bridle("run:create", *words, "--inputs", "inputs.json", "--json", cwd=tmp_path)
    assert document(created)["entry"] == "../../code/process.py#other"
    done = bridle("run:iterate", tmp_path / "runs" / "r", "--json", cwd=Path("/"))
    assert document(done)["status"] == "completed"
    assert json.loads((tmp_path / "runs" / "r" / "state" / "output.json").read_text()) == ["in"]


def test_a_process_may_import_what_needs_tls(tmp_path: Path) -> None:
    """asyncio is loaded without it, which nobody else is to notice."""
    iterated = IteratedRun(tmp_path, f"import ssl, urllib.request\nCONTEXT = ssl.create_default_context()\n{ONE}")
    done = bridle("run:iterate", iterated.run, "--json")
    assert document(done)["status"] == "executed", done.stderr
