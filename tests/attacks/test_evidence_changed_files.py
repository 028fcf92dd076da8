"""Attack: a prompt, an agent's log, a file beside it or the output of a check is changed or removed after the run.

The attacker wants to hide what an agent was told, printed or spent. Each file is covered by a digest in the result of
its effect, whose own digest is in the journal; the audit names the file and the entry.

With the sandbox: the same; the files are changed after the run, by a program with your rights.
Without: found.
Reported: by the audit, which names the file and the entry.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.errors import JournalBroken
from bridle.journal.stores.file_store import FileStore
from bridle.loop.performers.evidence import record_digests
from bridle.loop.working_copy.run_records import RunRecords
from tests.attacks.fixtures.finished_run import GROUP, copy_finished_run

pytestmark = GROUP

LOGS = (".ndjson", ".stderr", ".times", ".meta.json", ".log")


def test_every_changed_or_removed_file_is_named_with_its_entry(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    here = copy_finished_run(tmp_path, tmp_path_factory)
    paths = [min((here.run / "prompts").iterdir()), *(here.log(ending) for ending in LOGS)]
    texts = {path: path.read_bytes() for path in paths}
    for path, text in texts.items():
        path.write_bytes(text + b" ")
    changed = {(here.run / name).resolve(): fault for name, fault in here.wrong(capsys).items()}
    assert set(changed) == {path.resolve() for path in paths}
    assert all("it was changed after journal/" in fault for fault in changed.values())
    for path in paths:
        path.unlink()
    removed = {(here.run / name).resolve(): fault for name, fault in here.wrong(capsys).items()}
    assert set(removed) == {path.resolve() for path in paths}
    assert all("it is missing; journal/" in fault for fault in removed.values())
    for path, text in texts.items():
        path.write_bytes(text)
    assert here.wrong(capsys) == {}


def test_every_file_of_a_run_is_covered_or_listed_as_not_covered(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """A byte is added to each file that the audit does not list: it must name every one of them."""
    here = copy_finished_run(tmp_path, tmp_path_factory)
    (here.run / "bridle-undone").mkdir(exist_ok=True)
    (here.run / "bridle-undone/x.json").write_text("{}")
    listed = here.not_covered(capsys)
    assert "bridle-undone/x.json" in listed
    assert "bridle-ignored.json" not in listed
    files = {str(path.relative_to(here.run)) for path in here.run.rglob("*") if path.is_file()}
    by_other_tests = ("journal/", "bridle.chain", ".gitignore", "state/state.json", "state/bridle.pack")
    covered = {
        name for name in files - set(listed) if not name.endswith(".lock") and not name.startswith(by_other_tests)
    }
    assert len(covered) > 20
    for name in covered:
        with (here.run / name).open("ab") as file:
            file.write(b" ")
    assert covered <= set(here.wrong(capsys))


def test_the_next_driver_does_not_believe_a_record_that_was_changed(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    here = copy_finished_run(tmp_path, tmp_path_factory)
    records = RunRecords()
    records.expect(record_digests(FileStore(here.run)))
    [program] = [path for path in here.run.glob("bridle-startup/*-two-*.json") if "-found" not in path.name]
    for path in (here.run / "bridle-origin.json", here.run / "bridle-ignored.json", program):
        path.write_bytes(path.read_bytes() + b" ")
        with pytest.raises(JournalBroken, match="was changed or removed after the run had recorded it"):
            records.read(path, None)


def test_rules_that_git_would_follow_are_listed_if_they_were_changed(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    here = copy_finished_run(tmp_path, tmp_path_factory)
    assert ".gitignore" not in here.not_covered(capsys)
    (here.run / ".gitignore").write_text("")
    assert ".gitignore" in here.not_covered(capsys)
