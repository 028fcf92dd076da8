"""Old logs and runs are found and removed with their refs; everything else stays."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from bridle.engine.drive.driver_lock import LOCK_FILE
from bridle.ground import ids
from bridle.ground.lock import FileLock
from bridle.journal.stores.create import NewRun, create_run
from bridle.loop.control import clean_runs
from bridle.loop.control.clean_runs import REMOVED_PREFIX, Cleaned, find_old
from bridle.loop.working_copy.put_aside import PutAside
from bridle.loop.working_copy.refs import kept_ref
from bridle.loop.working_copy.run_worktrees import WorktreeNote, write_note
from bridle.workspace.git import Git
from tests.journal.fixtures.entry_steps import MOMENT
from tests.journal.fixtures.entry_steps import ids as ulids
from tests.workspace.fixtures.repositories import git

# Everything in these tests is older or newer than this moment.
LIMIT = 1_700_000_000.0


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def run_of(top: Path, run_id: str, seconds: float) -> Path:
    """Create a run whose files were last changed so long after the limit, or before it."""
    new = NewRun(run_id=run_id, process_id="demo", entry=top / "p.py")
    run = create_run(top / "runs", new, proof="0" * 32, ulid=ulids(1)[0], created_at=MOMENT)
    for path in run.rglob("*"):
        os.utime(path, (LIMIT + seconds, LIMIT + seconds))
    return Path(run)


def log_of(top: Path, name: str, seconds: float, folder: str = ".ralph/logs/claude") -> Path:
    path = top / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, (LIMIT + seconds, LIMIT + seconds))
    return path


def clean(top: Path) -> Cleaned:
    return asyncio.run(clean_runs.remove(find_old(top, [top / "runs"], before=LIMIT), Git(top)))


def test_the_refs_of_a_removed_run_go_in_whatever_case_they_have_its_id(top: Path) -> None:
    old, young = ids.new_id(), ids.new_id()
    run_of(top, old, -1)
    run_of(top, young, 1)
    names = ["origins/{}", "taken-back/{}/x", "snapshots/{}-task-1", "kept/{}/task-1"]
    for run_id in (old, young):
        for name in names:
            ref = name.format(run_id if name.startswith(("origins", "taken")) else run_id.lower())
            git(top, "update-ref", f"refs/bridle/{ref}", "HEAD")
    assert clean(top).runs == (old,)
    left = git(top, "for-each-ref", "--format=%(refname)", "refs/bridle").split()
    assert len(left) == len(names)
    assert all(young.lower() in ref.lower() for ref in left)


def test_a_run_that_is_driven_stays(top: Path) -> None:
    run = run_of(top, "driven", -1)
    with FileLock.hold(run / LOCK_FILE, holder="test"):
        os.utime(run / LOCK_FILE, (LIMIT - 1, LIMIT - 1))
        cleaned = clean(top)
    assert cleaned.runs == ()
    assert cleaned.kept[0].startswith("driven: ")
    assert run.exists()


def worktree_of(top: Path, run_id: str) -> Path:
    """Add the worktree of a run's first worker, as a run has it."""
    folder = top / ".ralph/worktrees" / f"{run_id.lower()}-1"
    git(top, "worktree", "add", "-q", "--detach", str(folder))
    write_note(folder, WorktreeNote(is_whole=True, made=("made-by-setup",)))
    (folder / "made-by-setup").touch()
    return folder


def test_a_run_with_changes_of_the_user_in_a_worktree_stays_until_they_are_safe(top: Path) -> None:
    run = run_of(top, "worked-in", -1)
    log = log_of(top, "a.ndjson", -1)
    folder = worktree_of(top, run.name)
    run_of(top, "untouched", -1)
    other = worktree_of(top, "untouched")
    (folder / "notes.txt").write_text("mine")
    cleaned = clean(top)
    assert cleaned.runs == ("untouched",)
    assert not other.exists()
    assert "worked-in: " in cleaned.kept[0]
    assert "changes that are not committed (notes.txt)" in cleaned.kept[0]
    git(folder, "add", "notes.txt")
    git(folder, "commit", "-q", "-m", "mine")
    commit = git(folder, "rev-parse", "HEAD").strip()
    (reason,) = clean(top).kept
    assert f"commits that are on no branch ({commit[:10]}); keep them: git branch NAME {commit[:10]}" in reason
    (folder / "notes.txt").write_text("edited")
    assert "not committed (notes.txt)" in clean(top).kept[0]
    assert (folder / "notes.txt").read_text() == "edited"
    git(folder, "checkout", "-q", "notes.txt")
    git(top, "branch", "saved", commit)
    assert (clean(top).runs, folder.exists(), log.exists()) == (("worked-in",), False, False)
    assert git(top, "rev-parse", "saved").strip() == commit


def test_a_commit_in_a_worktree_whose_files_are_gone_keeps_the_run_too(top: Path) -> None:
    run = run_of(top, "worked-in", -1)
    folder = worktree_of(top, run.name)
    git(folder, "commit", "-q", "--allow-empty", "-m", "mine")
    shutil.rmtree(folder)
    assert "commits that are on no branch" in clean(top).kept[0]
    assert run.exists()


def test_commits_of_the_runs_own_tasks_do_not_keep_it(top: Path) -> None:
    run = run_of(top, "worked-in", -1)
    folder = worktree_of(top, run.name)
    git(folder, "commit", "-q", "--allow-empty", "-m", "of a task")
    git(folder, "update-ref", kept_ref(run.name, "Task", 1), "HEAD")
    assert clean(top).runs == (run.name,)


def test_a_run_with_changes_that_were_put_aside_stays_until_the_user_has_them(top: Path) -> None:
    run = run_of(top, ids.new_id(), -1)
    ref = f"refs/bridle/snapshots/{PutAside(2).name(run.name)}"
    git(top, "update-ref", ref, "HEAD")
    (reason,) = clean(top).kept
    assert f"git stash apply --index {ref}" in reason
    assert run.exists()
    git(top, "update-ref", "-d", ref)
    assert clean(top).runs == (run.name,)


def test_the_logs_of_a_run_that_is_kept_stay(top: Path) -> None:
    run = run_of(top, "kept", -1)
    log_of(top, "a.ndjson", -1)
    found = find_old(top, [top / "runs"], before=LIMIT, kept=[run.name])
    assert (found.runs, found.logs) == ((), ())


def test_one_new_file_keeps_a_run(top: Path) -> None:
    run = run_of(top, "r", -1)
    log_of(run, "new", 1, "tasks/e")
    assert find_old(top, [top / "runs"], before=LIMIT).runs == ()


def test_a_removal_that_was_interrupted_is_finished(top: Path) -> None:
    leftover = run_of(top, "r", -1).rename(top / "runs" / f"{REMOVED_PREFIX}r")
    assert clean(top).runs == ()
    assert not leftover.exists()


def test_only_old_logs_that_no_present_run_wrote_are_old(top: Path) -> None:
    run = run_of(top, "r", 1)
    os.utime(run / "run.json", (LIMIT - 100, LIMIT - 100))
    old = log_of(top, "a.ndjson", -200)
    log_of(top, "during.ndjson", -50)
    log_of(top, "new.ndjson", 1)
    log_of(top, "notes.txt", -200)
    check = log_of(top, "b.log", -200, ".ralph/logs/checks")
    found = find_old(top, [top / "runs"], before=LIMIT)
    assert sorted(log.path for log in found.logs) == sorted([old, check])
    assert found.size_bytes == 2


def test_a_link_in_place_of_our_folder_leads_to_nothing_of_ours(top: Path, tmp_path: Path) -> None:
    outside = log_of(tmp_path / "outside", "a.ndjson", -200, "claude")
    (top / ".ralph").mkdir()
    (top / ".ralph" / "logs").symlink_to(tmp_path / "outside")
    assert find_old(top, [top / "runs"], before=LIMIT).logs == ()
    assert outside.exists()


def test_what_is_no_run_stays(top: Path) -> None:
    (top / "runs" / "not-a-run").mkdir(parents=True)
    (top / "runs" / "file").touch()
    (top / "runs" / "link").symlink_to(run_of(top, "r", 1))
    found = find_old(top, [top / "runs"], before=LIMIT)
    assert (found.runs, found.leftovers) == ((), ())


def test_a_file_that_vanishes_during_the_search_does_not_count(top: Path) -> None:
    run = run_of(top, "r", -1)
    files = clean_runs._files_below(run)
    next(files)
    for path in run.rglob("*"):
        path.unlink() if path.is_file() else None
    assert list(files) == []


def test_without_a_folder_there_is_nothing(tmp_path: Path) -> None:
    found = find_old(tmp_path, [tmp_path / "missing"], before=LIMIT)
    assert (found.logs, found.runs, found.leftovers) == ((), (), ())
