"""Attack: an archive contains a `.git/config` that names programs: fsmonitor, hooks, filters, pagers, aliases, helpers.

The attacker wants one of them to run when the user only looks: `status`, `init`, `doctor`, `audit`, `run --dry-run`.
None runs. A filter of the user's own configuration does.

With the sandbox: the same; Bridle decides it before a program starts.
Without: no program of it runs in a command that only reads.
Reported: not reported; it changes nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.cli.main import run as bridle
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, run_plan

PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy"),
    *("diff.external", "diff.evil.textconv", "diff.evil.command", "gpg.program", "credential.helper"),
    *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "alias.status", "alias.log", "pager.log"),
    "remote.origin.uploadpack",
)


@pytest.fixture
def here(tmp_path: Path) -> Project:
    here = make_project(
        tmp_path, ONE_TASK, MAKES_FILE, **{".gitattributes": "*.evil filter=evil diff=evil\n", "a.evil": "a"}
    )
    run_plan(here, 0)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\n")
        (hooks / name).chmod(0o755)
    for name in PROGRAMS:
        program = tmp_path / f"program-{name}"
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\ncat\n")
        program.chmod(0o755)
        here.git("config", name, str(program))
    here.git("config", "core.hooksPath", str(hooks))
    here.git("config", "log.showSignature", "true")
    os.utime(here.folder / "a.evil", (1, 1))  # git must compare its content, and would run the filter
    return here


def test_a_command_that_only_reads_runs_none_of_them(
    here: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here.folder)
    for words in (["status"], ["audit"], ["init"], ["run", "--dry-run", "PLAN.md"], ["run", "--dry-run", "a goal"]):
        assert bridle(words) in (0, 2), words
    bridle(["doctor"])
    assert sorted(path.name for path in tmp_path.glob("ran-*")) == []
    os.utime(here.folder / "a.evil", (2, 2))
    here.git("status")
    assert {"ran-core.fsmonitor", "ran-filter.evil.process"} <= {path.name for path in tmp_path.glob("ran-*")}, "by git"


def test_a_filter_of_the_users_own_configuration_runs(
    here: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.git("config", "--remove-section", "filter.evil")
    here.git("config", "--global", "filter.evil.clean", str(tmp_path / "program-filter.evil.clean"))
    monkeypatch.chdir(here.folder)
    assert bridle(["run", "--dry-run", "PLAN.md"]) == 0
    assert [path.name for path in tmp_path.glob("ran-*")] == ["ran-filter.evil.clean"]
