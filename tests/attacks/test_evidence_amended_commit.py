"""Attack: a commit of a verified task is amended, and keeps its trailers.

The attacker wants unverified changes to carry the trailers of a verified task. The journal records the id of the commit
that was made; the audit names the other one, and the entry.

With the sandbox: the same; the files are changed after the run, by a program with your rights.
Without: found.
Reported: by the audit, which names both commits and the entry.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.cli import main as dispatcher
from tests.attacks.fixtures.finished_run import GROUP, copy_finished_run

pytestmark = GROUP


def test_the_amended_commit_and_the_original_are_named(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = copy_finished_run(tmp_path, tmp_path_factory)
    original = here.git("rev-parse", "HEAD")
    (here.folder / "two").write_text("backdoor")
    here.git("commit", "-q", "-a", "--amend", "--no-edit")
    amended = here.git("rev-parse", "HEAD")
    wrong = here.wrong(capsys)
    assert list(wrong) == [f"commit {amended}"]
    assert f"records {original}" in wrong[f"commit {amended}"]
    assert "journal/" in wrong[f"commit {amended}"]
    monkeypatch.chdir(here.folder)
    assert dispatcher.run(["verify", "HEAD"]) == 1
    assert "no entry of the journal records it: it was amended" in capsys.readouterr().out
    here.git("reset", "-q", "--hard", original)
    assert here.wrong(capsys) == {}
    here.git("reflog", "expire", "--expire=now", "--all")
    here.git("commit", "-q", "--allow-empty", "-m", f"forged\n\nBridle-Run: {here.run.name}\nBridle-Task: Three")
    assert list(here.wrong(capsys).values()) == ["no entry of the journal records it"]
