"""`bridle undo`: the user's branch and files are as before the run, and its work is under a ref."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.killed_commands import LINES, NAMES, KilledCommand, chosen_points, make_dirty
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_replays,
    in_background,
    run_plan,
    working_copy_state,
)

# Leaves work in a tracked file and a new one, changes an untracked file of the user, and deletes another.
HALF = """
open("base", "a").write("by an agent\\n")
open("half", "w").write("half")
open("notes", "a").write("by an agent\\n")
if os.path.exists("more notes"): os.remove("more notes")
"""


def project(tmp_path: Path, plan: str, agent: str, **files: str) -> Project:
    here = make_project(tmp_path, plan, agent, **{"base": "base\n", **files})
    (here.folder / "notes").write_text("mine\n")
    (here.folder / "more notes").write_bytes(b"\xff mine\n")
    (here.folder / "more notes").chmod(0o600)
    return here


def undo(here: Project, *words: str, code: int = 0) -> dict[str, Any]:
    done = here.bridle("undo", "--json", *words)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    document: dict[str, Any] = json.loads(done.stdout) if code == 0 else {"error": done.stderr}
    return document


def state(here: Project) -> dict[str, Any]:
    return working_copy_state(here) | {"branches": here.git("branch", "--format=%(refname:short) %(objectname)")}


def test_a_run_that_stopped_in_the_middle_of_a_task_is_undone_byte_for_byte(tmp_path: Path) -> None:
    here = project(tmp_path, TWO_TASKS, f"if task == 'One': {MAKES_FILE}\nelse:\n" + HALF.replace("\n", "\n    "))
    before = state(here)
    receipt = run_plan(here, 3, "--max-iterations", "2")
    assert receipt["undo"] == f"bridle undo {receipt['run']}"
    planned = undo(here, "--dry-run")
    assert not planned["undone"]
    assert planned["commits"] == 1
    assert here.git("branch", "--show-current") == receipt["branch"]
    done = undo(here, "--yes")
    assert state(here) == before
    assert done["restored"] == ["notes"]  # the deleted one was restored by the run itself
    kept = done["kept"]
    assert kept == f"refs/bridle/undone/{receipt['run'].lower()}"
    assert here.git("log", "--format=%s", f"main..{kept}").splitlines()[-1] == "One"
    assert here.git("show", f"{kept}:half") == "half"
    assert here.git("ls-tree", "--name-only", kept, "notes") == ""
    assert "by an agent" in here.git("show", f"{done['snapshot']}:notes")
    assert_replays(here)


def test_the_next_agent_is_not_told_of_work_that_was_undone(tmp_path: Path) -> None:
    here = project(tmp_path, TWO_TASKS, f"answer['summary'] = 'made ' + task.lower()\n{MAKES_FILE}")
    run_plan(here, 3, "--max-iterations", "1")
    progress = here.folder / ".ralph" / "progress.md"
    assert "made one" in progress.read_text()
    undo(here, "--yes")
    assert "made one" not in progress.read_text()
    run_plan(here, 3, "--max-iterations", "1")
    assert "made one" not in here.calls()[-1]["prompt"]


def test_undo_twice_says_that_it_is_done_and_the_run_cannot_continue(tmp_path: Path) -> None:
    here = project(tmp_path, TWO_TASKS, MAKES_FILE)
    before = state(here)
    run_plan(here, 3, "--max-iterations", "1")
    kept = undo(here, "--yes")["kept"]
    again = here.bridle("undo", "--yes")
    assert (again.returncode, f"already undone; its work is kept as {kept}" in again.stderr) == (0, True)
    resumed = here.bridle("resume", "--max-iterations", "9")
    assert resumed.returncode == 2
    assert f"was undone; its work is kept as {kept}" in resumed.stderr
    shown = here.bridle("status")
    assert kept in shown.stdout
    assert "bridle resume" not in shown.stdout
    document = json.loads(here.bridle("status", "--json").stdout)
    assert [document[name] for name in ("undo", "merge", "resume")] == ["", "", ""]
    assert state(here) == before
    assert_replays(here)


def test_a_finished_run_is_undone_with_all_uncommitted_changes_of_the_user(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE, **dict.fromkeys(NAMES, LINES))
    make_dirty(here)
    before = state(here)
    run_plan(here, 0, "--allow-dirty")
    done = undo(here, "--yes")
    assert state(here) == before
    assert here.git("log", "--format=%s", f"main..{done['kept']}").splitlines() == ["Two", "One"]
    assert here.git("diff", "--name-only", "main", done["kept"]).splitlines() == ["one", "two"]


def test_changes_of_the_user_since_the_run_began_are_not_lost(tmp_path: Path) -> None:
    here = project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1")
    (here.folder / "notes").write_text("mine, later\n")
    (here.folder / "new notes").write_text("new\n")
    (here.folder / "PLAN.md").write_text(TWO_TASKS + "\n## Three\n")
    (here.folder / "base").write_text("edited\n")
    (here.folder / "own").write_text("own\n")
    here.git("add", "own")
    here.git("commit", "-q", "-m", "own commit", "--", "own")
    own = here.git("rev-parse", "HEAD")
    done = undo(here, "--yes")
    assert done["user_commits"] == [{"commit": own, "subject": "own commit"}]
    assert "new notes" in done["left_alone"]
    assert (here.folder / "notes").read_text() == "mine, later\n"
    assert (here.folder / "new notes").read_text() == "new\n"
    assert "Three" in (here.folder / "PLAN.md").read_text()
    assert (here.folder / "base").read_text() == "base\n"
    assert not (here.folder / "own").exists()
    assert here.git("branch", "--show-current") == "main"
    assert here.git("show", f"{done['kept']}:base") == "edited"
    assert own in here.git("rev-list", done["kept"])


def test_files_that_the_user_added_or_changed_between_drivers_stay(tmp_path: Path) -> None:
    agent = (
        MAKES_FILE
        + """
for name in ("draft", "notes", "local"):
    if os.path.exists(name): open(name, "a").write("by an agent\\n")
"""
    )
    here = project(tmp_path, TWO_TASKS, agent, local="default\n")
    here.git("update-index", "--skip-worktree", "local")
    run_plan(here, 3, "--max-iterations", "1")
    for name in ("draft", "notes", "local"):
        (here.folder / name).write_text("mine, later\n")
    (here.folder / "more notes").unlink()
    assert here.bridle("resume", "--max-iterations", "9").returncode == 0
    assert (here.folder / "draft").read_text() == "mine, later\nby an agent\n"
    (here.folder / "newer").write_text("after the run\n")

    undo(here, "--yes")
    for name in ("draft", "notes", "local"):
        assert (here.folder / name).read_text() == "mine, later\n"
    assert (here.folder / "newer").read_text() == "after the run\n"
    assert here.git("status", "--porcelain").splitlines() == ["?? draft", "?? newer", "?? notes"]
    assert here.git("ls-files", "-v", "local") == "S local"
    assert_replays(here)


def test_ticks_are_undone_too(tmp_path: Path) -> None:
    here = project(tmp_path, ONE_TASK, MAKES_FILE)
    before = state(here)
    run_plan(here, 0, "--tick")
    assert state(here)["files"]["PLAN.md"] != before["files"]["PLAN.md"]
    undo(here, "--yes")
    assert state(here) == before


@pytest.mark.parametrize("options", [("--worktree",), ("--parallel", "2")])
def test_worktrees_are_removed_and_changes_in_them_are_kept(tmp_path: Path, options: tuple[str, ...]) -> None:
    here = project(tmp_path, TWO_TASKS, MAKES_FILE)
    before = state(here)
    receipt = run_plan(here, 3, *options, "--max-iterations", "1")
    (Path(receipt["worktree"]) / "mine").write_text("mine\n")
    done = undo(here, "--yes")
    assert state(here) == before
    assert done["worktrees"]
    assert here.git("worktree", "list").count("\n") == 0
    assert here.git("log", "--format=%s", f"main..{done['kept']}") == "One"
    assert here.git("show", f"refs/bridle/undone/{receipt['run'].lower()}-files:mine") == "mine"


def test_a_merged_run_is_explained_and_nothing_is_changed(tmp_path: Path) -> None:
    here = project(tmp_path, TWO_TASKS, MAKES_FILE)
    receipt = run_plan(here, 0)
    here.execute(["sh", "-c", receipt["merge"]])
    before = state(here)
    refused = undo(here, "--yes", code=2)["error"]
    assert "you merged" in refused
    assert "git revert --no-edit" in refused
    assert state(here) == before
    assert here.git("for-each-ref", "refs/bridle/undone") == ""


def test_a_branch_that_was_pushed_is_named_with_the_command_that_removes_it(tmp_path: Path) -> None:
    here = project(tmp_path / "here", TWO_TASKS, MAKES_FILE)
    here.execute(["git", "init", "-q", "--bare", str(tmp_path / "remote.git")])
    here.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    here.git("push", "-q", "origin", "main")
    branch = run_plan(here, 0)["branch"]
    assert not [step for step in undo(here, "--dry-run")["steps"] if "pushed" in step]
    here.git("push", "-q", "origin", branch)
    here.git("remote", "set-url", "origin", str(tmp_path / "nowhere"))  # no remote is asked
    said = undo(here, "--yes")
    command = f"git push origin --delete {branch}"
    (step,) = (step for step in said["steps"] if "pushed" in step)
    assert step == f"leave origin/{branch}, which was pushed and has commits of the run; to remove it there: {command}"


def test_other_places_of_the_user_stay(tmp_path: Path) -> None:
    here = project(tmp_path, TWO_TASKS, MAKES_FILE)
    receipt = run_plan(here, 0)
    here.git("checkout", "-q", "-b", "mine", "main")
    (here.folder / "base").write_text("at work elsewhere\n")
    before = working_copy_state(here)
    done = undo(here, "--yes")
    assert working_copy_state(here) == before
    assert here.git("branch", "--list", receipt["branch"]) == ""
    assert here.git("log", "--format=%s", f"main..{done['kept']}").splitlines() == ["Two", "One"]


def test_a_branch_that_has_moved_or_is_gone_leaves_the_files_as_they_were(tmp_path: Path) -> None:
    here = project(tmp_path, TWO_TASKS, MAKES_FILE)
    files = state(here)["files"]
    run_plan(here, 0)
    tree = here.git("rev-parse", "main^{tree}")
    later = here.git("commit-tree", "-p", "main", "-m", "later", tree)
    here.git("update-ref", "refs/heads/main", later)
    assert "has new commits" in here.bridle("undo", "--yes").stderr
    assert (here.git("branch", "--show-current"), here.git("rev-parse", "HEAD")) == ("main", later)
    assert state(here)["files"] == files


def test_a_run_at_work_is_not_undone_and_offers_neither_undo_nor_merge(tmp_path: Path) -> None:
    here = project(tmp_path, TWO_TASKS, "while not os.path.exists('go'): time.sleep(0.01)\n" + MAKES_FILE)
    with in_background(here, "run", "PLAN.md", "--json") as child:
        while not here.calls():
            assert child.poll() is None
        shown = json.loads(here.bridle("status", "--json").stdout)
        assert (shown["undo"], shown["merge"]) == ("", "")
        assert "is running" in undo(here, "--yes", code=2)["error"]
        (here.folder / "go").touch()
        assert child.wait(60) == 0


def test_an_agent_cannot_undo_its_run(tmp_path: Path) -> None:
    called = f"subprocess.run([{str(BRIDLE)!r}, 'undo', '--yes'], capture_output=True, text=True)"
    here = project(tmp_path, ONE_TASK, f"{MAKES_FILE}\nimport subprocess\nopen('said', 'w').write({called}.stderr)")
    run_plan(here, 0)
    assert "steers a run" in (here.folder / "said").read_text()


def test_without_a_terminal_undo_needs_yes(tmp_path: Path) -> None:
    here = project(tmp_path, ONE_TASK, MAKES_FILE)
    receipt = run_plan(here, 0)
    assert "--yes" in undo(here, code=2)["error"]
    assert here.git("branch", "--show-current") == receipt["branch"]


def test_undo_that_is_killed_at_any_git_command_is_finished_by_the_next(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE, **dict.fromkeys(NAMES, LINES))
    make_dirty(here)
    before = state(here)
    receipt = run_plan(here, 3, "--allow-dirty", "--max-iterations", "1")
    killed = KilledCommand(here, ("undo", "--yes", "--json"), tmp_path)
    killed.prepare()
    total = killed.run(None)
    assert state(here) == before
    for point in chosen_points(total):
        killed.run(point)
        undo(here, "--yes")
        assert state(here) == before, point
        kept = f"refs/bridle/undone/{receipt['run'].lower()}"
        assert here.git("log", "--format=%s", f"main..{kept}") == "One", point
    assert_replays(here)
