"""Which files count as logs of agents: regular files in their folder, and nothing that an agent links there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.views.run_data.run_logs import LOGS, WORKTREES, logs_in


def test_logs_of_a_folder_and_of_its_worktrees_are_found(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / WORKTREES / "run"):
        (place / LOGS).mkdir(parents=True)
        (place / LOGS / "a.ndjson").write_text("{}\n")
        (place / LOGS / "a.stderr").write_text("")
    assert [path.relative_to(tmp_path) for path in logs_in(tmp_path)] == [
        LOGS / "a.ndjson",
        WORKTREES / "run" / LOGS / "a.ndjson",
    ]


@pytest.mark.parametrize("kind", ["link to a file", "linked folder", "named pipe", "folder"])
def test_nothing_else_that_an_agent_puts_there_is_a_log(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "home" / "secret.ndjson"
    secret.parent.mkdir()
    secret.write_text("secret\n")
    logs = tmp_path / "repository" / LOGS
    logs.parent.mkdir(parents=True)
    if kind == "linked folder":
        logs.symlink_to(secret.parent)
    else:
        logs.mkdir()
    if kind == "link to a file":
        (logs / "a.ndjson").symlink_to(secret)
    elif kind == "named pipe":
        os.mkfifo(logs / "a.ndjson")
    elif kind == "folder":
        (logs / "a.ndjson").mkdir()
    assert list(logs_in(tmp_path / "repository")) == []
