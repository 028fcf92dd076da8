"""`bridle clean`: what is old goes, what is young, at work, or not ours stays."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from pathlib import Path

import pytest

from bridle.engine.drive.driver_lock import LOCK_FILE
from bridle.ground.lock import FileLock
from bridle.loop.control.clean_runs import REMOVED_PREFIX
from tests.fixtures.bridle_program import BRIDLE, LIMIT_SECONDS
from tests.fixtures.bridle_program import run_bridle as bridle

DAY = 86400.0
OLD = 40 * DAY


def git(folder: Path, *words: str) -> str:
    flags = ("-c", "user.name=T", "-c", "user.email=t@localhost")
    done = subprocess.run(["git", *flags, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("a")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a")
    return folder


def age(path: Path, seconds: float) -> None:
    """Make a file, or everything below a folder, look that old."""
    moment = time.time() - seconds
    for one in [path, *path.rglob("*")] if path.is_dir() else [path]:
        os.utime(one, (moment, moment), follow_symlinks=False)


def log(here: Path, name: str, seconds: float, folder: str = ".ralph/logs/claude") -> Path:
    path = here / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    age(path, seconds)
    return path


def run(here: Path, name: str, seconds: float) -> Path:
    """A real run, made by Bridle, and then made to look old."""
    process = here / "process.py"
    process.write_text("async def process(inputs, ctx):\n    return 1\n")
    done = bridle(
        "run:create", "--process-id", "p", "--entry", "./process.py#process", "--run-id", name, "--json", cwd=here
    )
    assert done.returncode == 0, done.stderr
    folder = here / ".a5c/runs" / name
    age(folder, seconds)
    return folder


def test_old_logs_go_with_everything_beside_them_and_young_ones_stay(here: Path) -> None:
    old = [log(here, f"a{ending}", OLD) for ending in (".ndjson", ".stderr", ".times", ".meta.json")]
    old.append(log(here, "c.log", OLD, ".ralph/logs/checks"))
    young = [log(here, "b.ndjson", 29 * DAY), log(here, "d.log", 0, ".ralph/logs/checks")]
    done = bridle("clean", "--yes", "--json", cwd=here)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["logs"] == 5
    assert not [path for path in old if path.exists()]
    assert all(path.exists() for path in young)


def test_nothing_but_logs_and_runs_is_touched_however_old_it_is(here: Path) -> None:
    log(here, "a.ndjson", OLD)
    mine = [
        log(here, "notes.txt", OLD),
        log(here, "progress.md", OLD, ".ralph"),
        log(here, "check", OLD, ".ralph"),
        log(here, "budget.json", OLD, ".ralph/state"),
        log(here, "hook.sh", OLD, ".a5c/hooks/on-run-start"),
        log(here, "other.json", OLD, ".a5c/runs/not-a-run"),
        here / "a.txt",
    ]
    age(here / "a.txt", OLD)
    assert bridle("clean", "--yes", cwd=here).returncode == 0
    assert all(path.exists() for path in mine)


def test_an_old_run_goes_with_its_refs_and_its_empty_branch(here: Path) -> None:
    old, young = run(here, "01OLD", OLD), run(here, "01YOUNG", DAY)
    head = git(here, "rev-parse", "HEAD").strip()
    for name in ("snapshots/01old-task-1", "taken-back/01old-x", "origins/01old", "snapshots/01young-task-1"):
        git(here, "update-ref", f"refs/bridle/{name}", head)
    git(here, "branch", "bridle/01old")
    done = bridle("clean", "--yes", "--json", cwd=here)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"] == ["01OLD"]
    assert not old.exists()
    assert young.exists()
    assert git(here, "for-each-ref", "--format=%(refname)", "refs/bridle").split() == [
        "refs/bridle/snapshots/01young-task-1"
    ]
    assert git(here, "branch", "--list", "bridle/*") == ""


def test_a_branch_with_commits_of_its_own_stays(here: Path) -> None:
    run(here, "01OLD", OLD)
    git(here, "checkout", "-q", "-b", "bridle/01old")
    git(here, "commit", "-q", "--allow-empty", "-m", "own")
    git(here, "checkout", "-q", "-")
    assert bridle("clean", "--yes", "--keep", "0s", cwd=here).returncode == 0
    assert "bridle/01old" in git(here, "branch", "--list", "bridle/01old")


def test_commits_of_the_user_that_only_an_undone_run_has_keep_it(here: Path) -> None:
    run(here, "01OLD", OLD)
    tree = git(here, "rev-parse", "HEAD^{tree}").strip()
    commit = git(here, "commit-tree", "-p", "HEAD", "-m", "mine", tree).strip()
    git(here, "update-ref", "refs/bridle/undone/01old", commit)
    done = bridle("clean", "--yes", "--json", cwd=here)
    assert json.loads(done.stdout)["runs"] == []
    assert f"only refs/bridle/undone/01old has your commits {commit[:10]}" in done.stderr
    git(here, "branch", "mine", "refs/bridle/undone/01old")
    assert json.loads(bridle("clean", "--yes", "--json", cwd=here).stdout)["runs"] == ["01OLD"]
    assert git(here, "for-each-ref", "refs/bridle") == ""


def test_the_logs_of_a_run_that_stays_stay_too(here: Path) -> None:
    folder = run(here, "01LONG", DAY)
    age(folder / "run.json", OLD + DAY)
    during, before = log(here, "during.ndjson", OLD), log(here, "before.ndjson", OLD + 2 * DAY)
    assert bridle("clean", "--yes", cwd=here).returncode == 0
    assert during.exists()
    assert not before.exists()


def test_old_files_of_sessions_go_unless_they_hold_a_run(here: Path) -> None:
    run(here, "held", 0)
    states = (here / ".a5c/state", here / ".claude/skills/bridle/skills/babysit/state")
    for folder in states:
        for name in ("old", "young", "bound"):
            init = ("session:init", "--session-id", name, "--state-dir", str(folder))
            assert bridle(*init, *(("--run-id", "held") if name == "bound" else ()), cwd=here).returncode == 0
        (folder / "notes.md").write_text("mine\n")
        (folder / "link.md").symlink_to(here / "a.txt")
        age(folder, OLD)
        os.utime(folder / "young.md")
    done = bridle("clean", "--yes", "--json", cwd=here)
    assert (done.returncode, json.loads(done.stdout)["sessions"]) == (0, 2), done.stderr
    for folder in states:
        assert sorted(path.name for path in folder.glob("*.md")) == ["bound.md", "link.md", "notes.md", "young.md"]
        assert not (folder / ".old.lock").exists()


def test_a_run_that_is_running_is_left_alone(here: Path) -> None:
    folder = run(here, "01BUSY", OLD)
    lock = FileLock.hold(folder / LOCK_FILE, holder="bridle drive")
    try:
        age(folder, OLD)
        age(folder / "run.json", OLD + DAY)
        during = log(here, "check.log", OLD + 1, ".ralph/logs/checks")  # `bridle audit` needs it
        done = bridle("clean", "--yes", "--json", cwd=here)
    finally:
        lock.release()
    assert done.returncode == 0, done.stderr
    assert folder.is_dir()
    assert during.exists()
    document = json.loads(done.stdout)
    assert (document["runs"], document["logs"]) == ([], 0)
    assert document["kept"] == [
        f"01BUSY: it is running, in process {os.getpid()}. To remove it, run `bridle stop 01BUSY` first"
    ]


def test_what_a_broken_off_cleaning_left_is_finished(here: Path) -> None:
    half = here / ".a5c/runs" / f"{REMOVED_PREFIX}01HALF"
    half.mkdir(parents=True)
    (half / "run.json").write_text("{}")
    assert bridle("clean", "--yes", cwd=here).returncode == 0
    assert not half.exists()


def test_a_link_in_the_place_of_a_folder_of_ours_is_not_followed(here: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    precious = log(theirs, "a.ndjson", OLD, "claude")
    (here / ".ralph").mkdir()
    (here / ".ralph/logs").symlink_to(theirs)
    linked = here / ".a5c/runs/01LINK"
    linked.parent.mkdir(parents=True)
    (theirs / "run.json").write_text("{}")
    linked.symlink_to(theirs)
    age(theirs, OLD)
    done = bridle("clean", "--yes", "--json", cwd=here)
    assert json.loads(done.stdout)["logs"] == 0
    assert precious.exists()
    assert linked.exists()


def test_without_a_user_to_ask_nothing_is_removed(here: Path) -> None:
    path = log(here, "a.ndjson", OLD)
    done = bridle("clean", cwd=here)
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert path.exists()


def test_a_dry_run_only_says_what_would_go(here: Path) -> None:
    path, folder = log(here, "a.ndjson", OLD), run(here, "01OLD", OLD)
    done = bridle("clean", "--dry-run", "--json", cwd=here)
    assert done.returncode == 0
    assert json.loads(done.stdout)["removed"] is False
    assert "1 log, 1 run and 0 session files" in done.stderr
    assert path.exists()
    assert folder.exists()


def test_a_run_with_changes_of_the_user_is_kept_and_named_with_what_to_do(here: Path) -> None:
    folder, worktree = run(here, "01OLD", OLD), here / ".ralph/worktrees/01old-1"
    git(here, "worktree", "add", "-q", "--detach", str(worktree))
    (worktree / "a.txt").write_text("edited")
    kept = log(here, "a.ndjson", OLD + DAY)
    os.utime(folder / "run.json", (0, 0))
    for option in ("--dry-run", "--yes"):
        done = bridle("clean", option, "--json", cwd=here)
        document = json.loads(done.stdout)
        assert (document["runs"], document["logs"]) == ([], 0)
        (reason,) = document["kept"]
        assert reason.startswith("01OLD: ")
        assert f"(a.txt); commit them, or: git worktree remove --force {worktree}" in reason
        assert f"bridle: kept: {reason}\nbridle: nothing else is older than 30 days\n" in done.stderr
    assert (worktree / "a.txt").read_text() == "edited"
    assert kept.exists()


@pytest.mark.parametrize(("answer", "code", "is_left"), [("y", 0, False), ("n", 2, True), ("", 2, True)])
def test_a_user_is_asked_and_only_yes_means_yes(here: Path, answer: str, code: int, is_left: bool) -> None:
    path = log(here, "a.ndjson", OLD)
    master, slave = pty.openpty()
    os.write(master, f"{answer}\n".encode())
    done = subprocess.run(
        [str(BRIDLE), "clean"], stdin=slave, capture_output=True, cwd=here, timeout=LIMIT_SECONDS, check=False
    )
    os.close(slave)
    os.close(master)
    assert done.returncode == code, done.stderr
    assert path.exists() is is_left


def test_the_age_is_that_of_the_settings_or_of_the_flag(here: Path) -> None:
    path = log(here, "a.ndjson", 10 * DAY)
    assert "nothing is older than 30 days" in bridle("clean", "--yes", cwd=here).stderr
    (here / "bridle.toml").write_text('keep = "9d"\n')
    assert "1 log" in bridle("clean", "--dry-run", cwd=here).stderr
    assert "nothing is older" in bridle("clean", "--dry-run", "--keep", "11d", cwd=here).stderr
    assert path.exists()
    assert bridle("clean", "--keep", "nonsense", cwd=here).returncode == 2


@pytest.mark.parametrize(("keep", "cause"), [("-1s", "got '-1s'"), ("200y", "got '200y'"), ("99999d", "100 years")])
def test_a_duration_that_is_none_is_refused_with_what_it_must_be(keep: str, cause: str, tmp_path: Path) -> None:
    done = bridle("clean", "--keep", keep, cwd=tmp_path)
    assert done.returncode == 2
    assert "--keep must be a duration, such as 0s" in done.stderr
    assert cause in done.stderr


def test_old_runs_of_a_folder_below_are_removed_from_there(here: Path) -> None:
    part = here / "part"
    part.mkdir()
    runs = [run(here, "a", OLD), run(part, "b", OLD), run(here, "same", 0), run(part, "same", OLD)]
    assert json.loads(bridle("clean", "--yes", "--json", cwd=here).stdout)["runs"] == ["a"]
    assert json.loads(bridle("clean", "--yes", "--json", cwd=part).stdout)["runs"] == ["b"]
    assert [folder.is_dir() for folder in runs] == [False, False, True, True]


def test_the_branch_of_a_run_whose_folder_is_gone_is_named(here: Path) -> None:
    git(here, "checkout", "-q", "-b", "bridle/01m7t5p8xb3aga9kkhz90cx4x7")
    for command in ("status", "undo", "resume"):
        done = bridle(command, cwd=here)
        assert done.returncode == 2
        assert "bridle/01m7t5p8xb3aga9kkhz90cx4x7 is checked out, and the folder of its run is gone" in done.stderr
    git(here, "checkout", "-q", "-b", "bridle/notes")
    assert "Start one with: bridle run PLAN.md" in bridle("undo", cwd=here).stderr
