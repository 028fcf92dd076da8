"""Attack: the newest entries of a journal are removed, with their lines in the chain and the caches.

The attacker wants a failure after a commit to be forgotten. A commit that names a removed entry is named; if only the
entries' files are removed, the chain names each of them.

With the sandbox: the same; the files are changed after the run, by a program with your rights.
Without: found, if a commit or the chain names a removed entry.
Reported: by the audit, which names the entries and the commit.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.finished_run import GROUP, copy_finished_run

pytestmark = GROUP


def test_removed_entries_and_the_commit_that_names_one_are_found(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    here = copy_finished_run(tmp_path, tmp_path_factory)
    first, second = here.git("log", "--reverse", "--format=%H", "main..").splitlines()
    seq = int(here.git("log", "-1", "--format=%(trailers:key=Bridle-Journal,valueonly)", second).split()[0])
    removed = here.entries[seq - 2 :]
    for path in removed:
        path.unlink()
    here.forget_caches()
    assert {f"journal/{path.name}" for path in removed} <= set(here.wrong(capsys))
    here.rehash()
    wrong = here.wrong(capsys)
    assert f"commit {second}" in wrong, "no entry records it any more"
    assert f"commit {first}" not in wrong
