"""A run is audited up to the entries that it had then, also while another program writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import FrameType

from bridle.journal.upkeep.audit import _Audit, audit
from tests.journal.fixtures.journal_writes import ask, new_run

# Requests, resolves and notes until it is stopped, as a driver does; says when it has begun.
WRITER = """
import sys
from pathlib import Path
from bridle.journal.format.entries import Posted, Request
from bridle.journal.stores.file_store import FileStore

store, number = FileStore(Path(sys.argv[1])), 0
while True:
    number += 1
    with store.write("writer") as writer:
        effect_id = writer.new_id()
        writer.request(Request(effect_id=effect_id, key=f"p:{number}:t", step_id=f"S{number:06d}", task_id="t",
            kind="shell", label=None, labels=(), definition={"kind": "shell"}, inputs={"number": number}, blobs={}))
    with store.write("writer") as writer:
        writer.resolve(effect_id, Posted("ok", value=number, started_at="x", finished_at="x"))
    if number == 5:
        print("begun", flush=True)
"""
AUDITS = 20


def test_a_healthy_run_has_no_problems_while_it_is_written(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    command = [sys.executable, "-c", WRITER, str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "begun\n"
            found = [audit(run) for _ in range(AUDITS)]
        finally:
            writer.kill()
    assert [finding.fault for report in found for finding in report.wrong] == []
    assert found[-1].entries > found[0].entries


def test_the_files_of_an_effect_that_was_requested_during_the_audit_are_no_leftovers(tmp_path: Path) -> None:
    run = new_run(tmp_path)

    def request_before_the_last_part(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code is _Audit._leftovers.__code__:
            sys.setprofile(None)
            ask(run)

    sys.setprofile(request_before_the_last_part)
    try:
        report = audit(run)
    finally:
        sys.setprofile(None)
    assert (report.entries, report.wrong, report.leftovers) == (4, [], [])
    assert audit(run).entries == 5
