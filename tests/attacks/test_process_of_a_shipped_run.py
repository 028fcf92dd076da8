"""Attack: a repository contains a run whose process runs the attacker's code when the user replays or continues it.

A run that git tracks came with the repository. Its process is not imported before the user has agreed, and no more
after it, a module beside it or the run was changed.

With the sandbox: the same; Bridle decides it before a program starts.
Without: not imported before an agreement.
Reported: on stderr, with the command that agrees.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.cli.main import run as bridle
from bridle.engine.iterate.compare import compare
from bridle.errors import ProcessNotLoaded
from bridle.ground import trust
from tests.attacks.fixtures.agent_calls import git

PROCESS = """
import pathlib
pathlib.Path(__file__).with_name("evil").touch()
async def process(inputs, ctx):
    return 1
"""


def test_it_is_not_imported_before_the_user_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path.resolve() / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    git(work, "init", "-q")
    (work / "process.py").write_text(PROCESS)
    create = ["run:create", "--run-id", "r1", "--process-id", "p", "--entry", "./process.py#process", "--no-hooks"]
    assert bridle(create) == 0
    run = work / ".a5c/runs/r1"
    assert compare(run).agrees, "a run of the user's own"
    git(work, "add", "-Af")
    (work / "evil").unlink()
    with pytest.raises(ProcessNotLoaded, match="you have not agreed to run its process"):
        compare(run)
    assert bridle(["run:iterate", "r1"]) == 1
    assert bridle(["replay", "r1"]) == 1
    assert not (work / "evil").exists()
    home = Path(os.environ["BRIDLE_HOME"])
    trust.trust(work, home, (trust.PROCESSES,))
    assert compare(run).agrees
    (work / "beside.py").write_text("")
    with pytest.raises(ProcessNotLoaded):
        compare(run)
