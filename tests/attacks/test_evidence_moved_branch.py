"""Attack: the branch of a verified run is moved to another commit, which the user would merge.

With the sandbox: the same; no agent can move the branch of another run, but a program with your rights can.
Without: found; an agent that does it is reported by its own run too.
Reported: by the audit and by `verify`, which name the commit that the branch does not contain.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.cli import main as dispatcher
from tests.attacks.fixtures.finished_run import GROUP, copy_finished_run

pytestmark = GROUP


def test_the_branch_that_does_not_contain_the_last_commit_is_named(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = copy_finished_run(tmp_path, tmp_path_factory)
    branch, last = here.git("branch", "--show-current"), here.git("rev-parse", "HEAD")
    monkeypatch.chdir(here.folder)
    assert (here.wrong(capsys), dispatcher.run(["verify", last])) == ({}, 0)
    evil = here.git("commit-tree", "HEAD^{tree}", "-p", "main", "-m", "evil")
    here.git("update-ref", f"refs/heads/{branch}", evil)
    fault = f"it is at {evil}, which does not contain {last}, the last commit of the journal: it was moved"
    assert here.wrong(capsys) == {f"branch {branch}": fault}
    assert dispatcher.run(["verify", last]) == 1
    assert fault in capsys.readouterr().out
    later = here.git("commit-tree", "HEAD^{tree}", "-p", last, "-m", "of the user")
    here.git("update-ref", f"refs/heads/{branch}", later)
    assert (here.wrong(capsys), dispatcher.run(["verify", last])) == ({}, 0)
