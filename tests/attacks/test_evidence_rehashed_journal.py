"""Attack: an entry of the journal is changed, and every checksum, the chain and the caches are computed again.

The attacker wants a failed check to count as passed. The files fit each other, but not the commits, which name the head
of the journal; `bridle audit` names the commits that come after the changed entry.

With the sandbox: the same; the files are changed after the run, by a program with your rights.
Without: found.
Reported: by the audit, which names the commits after the entry.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.journal.format import codec
from tests.attacks.fixtures.finished_run import GROUP, copy_finished_run

pytestmark = GROUP


def test_the_commits_after_the_changed_entry_are_named(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    here = copy_finished_run(tmp_path, tmp_path_factory)
    assert here.wrong(capsys) == {}
    first, second = here.git("log", "--reverse", "--format=%H", "main..").splitlines()
    named = int(here.git("log", "-1", "--format=%(trailers:key=Bridle-Journal,valueonly)", first).split()[0])
    path = here.entries[named + 1]  # after the first commit was requested, before the second
    entry = here.read_entry(path)
    path.write_bytes(codec.encode(entry.type, entry.recorded_at, {**entry.data, "forged": True}))
    here.rehash()
    wrong = here.wrong(capsys)
    assert list(wrong) == [f"commit {second}"]
    assert "the head of the journal at entry" in wrong[f"commit {second}"]
    assert "journal/" in wrong[f"commit {second}"], "the entry that records the commit"


def test_an_entry_with_a_valid_checksum_is_named_by_the_chain(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    here = copy_finished_run(tmp_path, tmp_path_factory)
    path = here.entries[-2]
    entry = here.read_entry(path)
    path.write_bytes(codec.encode(entry.type, entry.recorded_at, {**entry.data, "forged": True}))
    here.forget_caches()
    assert f"journal/{path.name}" in here.wrong(capsys)
    assert json.loads(path.read_text())["data"]["forged"]
