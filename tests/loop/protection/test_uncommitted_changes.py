"""With --allow-dirty, uncommitted changes are put aside while a run works, are in no commit, and are restored."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from bridle.errors import UsageError
from bridle.loop.protection import uncommitted_changes
from bridle.loop.working_copy import put_aside
from bridle.loop.working_copy.put_aside import PutAside
from bridle.loop.working_copy.refs import run_branch
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, TWO_TASKS, assert_replays, receipt_of, run_plan, verdicts
from tests.loop.fixtures.repositories import Repository, make_repository

LINES = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"


def make_dirty(folder: Path, git: object) -> None:
    """Change files in every way, staged or not."""
    (folder / "app").write_text(LINES + "user\n")
    (folder / "staged").write_text("staged\n")
    git("add", "staged")  # type: ignore[operator]
    (folder / "staged").write_text("staged\nand not\n")
    (folder / "gone").unlink()
    git("rm", "-q", "--cached", "untracked")  # type: ignore[operator]
    (folder / "notes").write_text("notes\n")


DIRTY = [" M app", " D gone", "AM staged", "D  untracked", "?? notes", "?? untracked"]
# With a file that was added by `git add -N`.
MARKED = [" M app", " D gone", " A later", *DIRTY[2:]]
FILES = {"app": LINES, "gone": "gone\n", "untracked": "kept\n"}


def status(here: Repository | Project) -> list[str]:
    listed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=here.folder, capture_output=True, text=True, check=True, timeout=60
    )
    return listed.stdout.splitlines()


def undo(here: Project, run: str) -> None:
    done = here.bridle("undo", run, "--yes")
    assert done.returncode == 0, done.stderr


def test_no_commit_of_a_task_contains_them_and_undo_leaves_them_in_the_files(tmp_path: Path) -> None:
    agent = MAKES_FILE + "\nif task == 'Two': open('app', 'r+').write('agent')"
    here = make_project(tmp_path, TWO_TASKS, agent, **FILES)
    make_dirty(here.folder, here.git)
    (here.folder / "later").write_text("of the user\n")
    here.git("add", "-N", "later")
    document = run_plan(here, 3, "--allow-dirty", "--max-iterations", "1")
    assert status(here) == MARKED
    assert here.git("show", "--format=", "--name-only", "HEAD") == "one"
    assert "put_aside" not in document

    branch, base = here.git("branch", "--show-current"), "main"
    here.git("checkout", "-q", base)
    here.git("worktree", "add", "-q", str(tmp_path / "other"), branch)
    refused = here.bridle("resume")
    assert "is checked out in another worktree" in refused.stderr
    assert (refused.returncode, status(here), here.git("branch", "--show-current")) == (2, MARKED, base)
    here.git("worktree", "remove", str(tmp_path / "other"))
    here.git("checkout", "-q", branch)

    (here.folder / "gone").write_text("again\n")  # between two drivers
    done = here.bridle("resume", "--json", "--max-iterations", "9")
    document = receipt_of(done, 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert here.git("show", "--format=", "--name-only", "HEAD").split() == ["app", "two"]
    assert here.git("show", "HEAD:app") == "agent" + LINES[5:].rstrip()
    assert (here.folder / "app").read_text() == "agent" + LINES[5:] + "user\n"
    dirty = [line if line != " D gone" else " M gone" for line in MARKED]
    assert status(here) == dirty
    assert_replays(here)

    undo(here, document["run"])
    assert here.git("branch", "--format=%(refname:short)") == "main"
    assert (here.folder / "app").read_text() == LINES + "user\n"
    assert (here.folder / "staged").read_text() == "staged\nand not\n"
    assert status(here) == dirty
    assert here.git("show", ":staged") == "staged"


def test_those_that_conflict_with_the_run_stay_aside_until_undo(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE + "\nopen('app', 'w').write('agent\\n')", app=LINES)
    (here.folder / "app").write_text(LINES + "user\n")
    done = here.bridle("run", "PLAN.md", "--json", "--allow-dirty")
    document = receipt_of(done, 0)
    assert "conflict with commits of the run in app" in done.stderr
    assert status(here) == []
    assert here.git("show", f"{document['put_aside']}:app") == LINES + "user"
    again = here.bridle("run", "PLAN.md")
    assert f"{document['run']} put aside are not in the files; restore them: git stash apply --index" in again.stderr
    undo(here, document["run"])
    assert (here.folder / "app").read_text() == LINES + "user\n"
    assert status(here) == [" M app"]


def test_a_kill_while_they_are_moved_loses_none(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", FILES, allow_dirty=True)
    make_dirty(here.folder, here.git)
    asyncio.run(uncommitted_changes.put_aside(here.context))
    assert status(here) == ["?? notes"]
    # Killed halfway.
    put_aside.write(here.context.run_folder, PutAside(1, is_moving=True))
    here.write({"app": LINES + "user\n"})
    (here.folder / "gone").unlink()
    asyncio.run(uncommitted_changes.put_aside_again(here.context))
    assert status(here) == ["?? notes"]
    asyncio.run(uncommitted_changes.restore(here.context))
    assert status(here) == DIRTY
    assert here.read("app") == LINES + "user\n"
    assert put_aside.find(here.context.run_folder) == PutAside(1, is_restored=True)


def test_converted_files_are_restored_byte_for_byte(tmp_path: Path) -> None:
    files = {".gitattributes": "*.txt text eol=crlf\n", "a.txt": "1\r\n", "b.txt": "1\n"}
    here = make_repository(tmp_path / "r", files, allow_dirty=True)
    here.write({"a.txt": "1\r\nuser\n", "b.txt": "1\nuser\r\n"})
    asyncio.run(uncommitted_changes.put_aside(here.context))
    assert [(here.folder / name).read_bytes() for name in ("a.txt", "b.txt")] == [b"1\r\n", b"1\r\n"]
    asyncio.run(uncommitted_changes.restore(here.context))
    assert [(here.folder / name).read_bytes() for name in ("a.txt", "b.txt")] == [b"1\r\nuser\n", b"1\nuser\r\n"]


def test_work_of_an_agent_that_is_not_finished_is_never_put_aside(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", FILES, allow_dirty=True)
    make_dirty(here.folder, here.git)
    asyncio.run(uncommitted_changes.put_aside(here.context))
    here.write({"app": "agent\n"})
    asyncio.run(uncommitted_changes.restore(here.context))
    asyncio.run(uncommitted_changes.put_aside_again(here.context))
    assert here.read("app") == "agent\n"
    here.git("checkout", "-q", "app")
    asyncio.run(uncommitted_changes.restore(here.context))
    # The user discards the changes; the next driver has nothing to put aside, and its agent is killed.
    here.git("reset", "-q", "--hard")
    asyncio.run(uncommitted_changes.put_aside_again(here.context))
    here.write({"app": "agent\n"})
    asyncio.run(uncommitted_changes.put_aside_again(here.context))
    assert here.read("app") == "agent\n"


def move_and_restore(here: Repository) -> None:
    asyncio.run(uncommitted_changes.put_aside(here.context))
    asyncio.run(uncommitted_changes.restore(here.context))


def put_aside_refs(here: Repository) -> str:
    return here.git("for-each-ref", "--format=%(refname)", "refs/bridle/snapshots/uncommitted-*").strip()


@pytest.mark.parametrize(("before", "after"), [("*.pyc\n", "*.pyc\nmine/\n"), ("*.pyc\nmine/\n", "*.pyc\n")])
def test_files_that_a_changed_ignore_rule_names_are_not_touched(tmp_path: Path, before: str, after: str) -> None:
    here = make_repository(tmp_path / "r", {".gitignore": before}, allow_dirty=True)
    here.write({".gitignore": after, "mine/notes": "notes\n", "loose": "loose\n"})
    asyncio.run(uncommitted_changes.put_aside(here.context))
    assert (here.read(".gitignore"), here.read("mine/notes")) == (before, "notes\n")
    asyncio.run(uncommitted_changes.restore(here.context))
    assert (here.read(".gitignore"), here.read("mine/notes"), here.read("loose")) == (after, "notes\n", "loose\n")
    assert put_aside_refs(here) == ""


@pytest.mark.parametrize("is_staged", [False, True])
def test_a_change_of_a_file_that_the_run_renamed_stays_aside(tmp_path: Path, is_staged: bool) -> None:
    here = make_repository(tmp_path / "r", {"app": LINES}, allow_dirty=True)
    here.write({"app": LINES + "user\n"})
    if is_staged:
        here.git("add", "app")
    asyncio.run(uncommitted_changes.put_aside(here.context))
    here.git("mv", "app", "renamed")
    here.git("checkout", "-q", "-b", run_branch(here.context.run))
    here.git("commit", "-q", "-m", "renamed")
    asyncio.run(uncommitted_changes.restore(here.context))
    assert status(here) == []
    assert here.git("show", f"{put_aside_refs(here)}:app") == LINES + "user\n"


def test_a_file_in_place_of_a_folder_and_a_folder_in_place_of_a_file_are_restored(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"file": "file\n", "folder/a": "a\n"}, allow_dirty=True)
    for name in ("file", "folder/a"):
        (here.folder / name).unlink()
    (here.folder / "folder").rmdir()
    here.write({"file/new": "new\n", "folder": "was a folder\n"})
    dirty = status(here)
    asyncio.run(uncommitted_changes.put_aside(here.context))
    assert (here.read("file"), here.read("folder/a"), status(here)) == ("file\n", "a\n", [])
    asyncio.run(uncommitted_changes.restore(here.context))
    assert (here.read("file/new"), here.read("folder"), status(here)) == ("new\n", "was a folder\n", dirty)
    assert put_aside_refs(here) == ""


def test_an_ignored_file_in_place_of_a_committed_one_refuses_before_anything_moves(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {".gitignore": "*.log\n", "file": "file\n", "app": "1\n"}, allow_dirty=True)
    (here.folder / "file").unlink()
    here.write({"file/a.log": "log\n", "app": "2\n"})
    with pytest.raises(UsageError, match=r"file/a\.log is in the place of file"):
        asyncio.run(uncommitted_changes.put_aside(here.context))
    assert (here.read("file/a.log"), here.read("app"), put_aside_refs(here)) == ("log\n", "2\n", "")


def test_a_file_of_the_agent_in_the_place_of_a_new_one_is_not_overwritten(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"app": "1\n"}, allow_dirty=True)
    here.write({"new": "user\n"})
    here.git("add", "new")
    asyncio.run(uncommitted_changes.put_aside(here.context))
    here.write({"new": "agent\n"})
    asyncio.run(uncommitted_changes.restore(here.context))
    assert here.read("new") == "agent\n"
    assert here.git("show", f"{put_aside_refs(here)}:new") == "user\n"


def test_permissions_are_restored(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"private": "1\n", "fixed": "1\n", "run.sh": "1\n"}, allow_dirty=True)
    here.write({"private": "2\n", "fixed": "2\n", "run.sh": "2\n", "new": "new\n"})
    here.git("add", "new")
    modes = {"private": 0o600, "fixed": 0o400, "run.sh": 0o700, "new": 0o600}
    for name, mode in modes.items():
        (here.folder / name).chmod(mode)
    move_and_restore(here)
    assert {name: (here.folder / name).stat().st_mode & 0o777 for name in modes} == modes
    assert put_aside_refs(here) == ""


def test_changes_that_the_user_applies_beside_unfinished_work_are_put_aside_again(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", FILES, allow_dirty=True)
    here.write({"app": LINES + "user\n", "new": "new\n"})
    here.git("add", "new")
    asyncio.run(uncommitted_changes.put_aside(here.context))
    here.write({"gone": "agent\n"})
    here.git("stash", "apply", "-q", "--index", put_aside_refs(here))
    applied = status(here)
    restore = asyncio.run(uncommitted_changes.put_aside_again(here.context))
    assert status(here) == [" M gone"]

    async def restore_them() -> None:
        await restore()

    asyncio.run(restore_them())
    assert status(here) == applied
    asyncio.run(uncommitted_changes.put_aside_again(here.context))
    here.git("checkout", "-q", "gone")
    asyncio.run(uncommitted_changes.restore(here.context))
    assert (status(here), here.read("app")) == ([" M app", "A  new"], LINES + "user\n")
