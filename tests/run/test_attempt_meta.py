"""The file beside a log: where it cannot be written, that is a fault, but not the first one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bridle.run.attempt import Attempt
from bridle.run.attempt_meta import close_log, start_meta
from bridle.run.command import build_command
from bridle.run.locate import Program
from bridle.run.logs import RunLog
from bridle.run.request import Request


@pytest.mark.parametrize("fault", [None, "the schema was never met"])
def test_a_fault_of_the_run_is_not_replaced_by_that_of_its_log(tmp_path: Path, fault: str | None) -> None:
    request = Request("hello", tmp_path)
    folder = tmp_path / "logs"
    folder.mkdir()
    log = RunLog(folder / "x.ndjson", (os.dup(1), os.dup(1), os.dup(1)))
    attempt = Attempt(request, build_command(request, "/bin/true", {}), log)
    attempt.fault = fault
    start = start_meta(attempt, Program("/bin/true", "PATH"), 1, expected=None, inherited={})
    shutil.rmtree(folder)
    close_log(attempt, start, {})
    assert (attempt.fault or "").startswith(fault or "the log could not be written: ")
