"""What a process returns has the same limit of levels as every other value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fixtures.bridle_program import run_bridle

PROCESS = """\
async def process(inputs, ctx):
    value = 1
    for _ in range({levels}):
        value = [value]
    return value
"""


@pytest.mark.parametrize(("levels", "status"), [(128, "completed"), (129, "failed"), (900, "failed")])
def test_an_output_of_too_many_levels_fails_the_run_by_name(tmp_path: Path, levels: int, status: str) -> None:
    (tmp_path / "p.py").write_text(PROCESS.format(levels=levels), encoding="utf-8")
    entry = ("--process-id", "p", "--entry", f"{tmp_path / 'p.py'}#process", "--runs-dir", tmp_path / "runs")
    run = json.loads(run_bridle("run:create", *entry, "--json").stdout)["runDir"]
    report = json.loads(run_bridle("run:iterate", run, "--json").stdout)
    assert report["status"] == status
    assert ("nested more than 128 levels deep" in json.dumps(report)) == (status == "failed")
    assert run_bridle("replay", run).returncode == 0
