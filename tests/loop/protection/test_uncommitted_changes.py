"""With --allow-dirty, uncommitted changes are put aside while a run works, are in no commit, and are restored."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

from bridle.loop.protection import uncommitted_changes
from bridle.loop.working_copy import put_aside
from bridle.loop.working_copy.put_aside import PutAside
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
FILES = {"app": LINES, "gone": "gone\n", "untracked": "kept\n"}


def status(here: Repository | Project) -> list[str]:
    listed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=here.folder, capture_output=True, text=True, check=True, timeout=60
    )
    return listed.stdout.splitlines()


def undo(here: Project, command: str) -> None:
    subprocess.run(command, shell=True, cwd=here.folder, check=True, capture_output=True, timeout=60)  # noqa: S602  # as printed


def test_no_commit_of_a_task_contains_them_and_undo_leaves_them_in_the_files(tmp_path: Path) -> None:
    agent = MAKES_FILE + "\nif task == 'Two': open('app', 'r+').write('agent')"
    here = make_project(tmp_path, TWO_TASKS, agent, **FILES)
    make_dirty(here.folder, here.git)
    document = run_plan(here, 3, "--allow-dirty", "--max-iterations", "1")
    assert status(here) == DIRTY
    assert here.git("show", "--format=", "--name-only", "HEAD") == "one"
    assert "put_aside" not in document

    (here.folder / "gone").write_text("again\n")  # between two drivers
    done = here.bridle("resume", "--json", "--max-iterations", "9")
    document = receipt_of(done, 0)
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert here.git("show", "--format=", "--name-only", "HEAD").split() == ["app", "two"]
    assert here.git("show", "HEAD:app") == "agent" + LINES[5:].rstrip()
    assert (here.folder / "app").read_text() == "agent" + LINES[5:] + "user\n"
    dirty = [line if line != " D gone" else " M gone" for line in DIRTY]
    assert status(here) == dirty
    assert_replays(here)

    undo(here, document["undo"])
    assert here.git("branch", "--format=%(refname:short)") == "main"
    assert (here.folder / "app").read_text() == LINES + "user\n"
    assert (here.folder / "staged").read_text() == "staged\nand not\n"
    assert status(here) == [" M app", " M gone", "?? notes", "?? staged"]  # what was staged is not staged any more


def test_those_that_conflict_with_the_run_stay_aside_until_undo(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE + "\nopen('app', 'w').write('agent\\n')", app=LINES)
    (here.folder / "app").write_text(LINES + "user\n")
    done = here.bridle("run", "PLAN.md", "--json", "--allow-dirty")
    document = receipt_of(done, 0)
    assert "conflict with commits of the run in app" in done.stderr
    assert status(here) == []
    assert here.git("show", f"{document['put_aside']}:app") == LINES + "user"
    undo(here, document["undo"])
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
