"""Rules that show every file to git do not show Bridle's own folders: a rollback would remove the journal."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bridle.ground.git_exclude import ignore_contents
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import TWO_TASKS, assert_replays, run_plan, verdicts

EXPECTED = {"One": "done", "Two": "failed"}
# As in repositories that list what they keep, and one that names the folders.
WHITELIST = "*\n!*/\n!*.json\n!*.md\n!*.log\n!*.lock\n!one\n!two\n!.gitignore\n"
NAMED = "!.a5c\n!.a5c/**\n!.ralph\n!.ralph/**\n"
MAKES_ONE = "if task == 'One': open('one', 'w').close()\nelse: open('two.md', 'w').close()\n"
SHOWS = f"open('.gitignore', 'w').write({NAMED!r})\n{MAKES_ONE}"


def assert_hidden(here: Project) -> None:
    assert ".a5c" not in here.git("status", "--porcelain", "--untracked-files=all")
    assert ".ralph" not in here.git("status", "--porcelain", "--untracked-files=all")
    assert_replays(here)


@pytest.mark.parametrize("options", [(), ("--worktree",), ("--parallel", "2")])
@pytest.mark.parametrize("rules", [WHITELIST, NAMED])
def test_rules_of_the_repository_do_not_show_them(tmp_path: Path, rules: str, options: tuple[str, ...]) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_ONE, **{".gitignore": rules})
    document = run_plan(here, 1, "--tries", "2", *options)
    assert verdicts(document) == EXPECTED
    assert not [task["title"] for task in document["tasks"] if task.get("undone")]
    assert_hidden(here)
    assert here.bridle("undo", "--yes").returncode == 0
    assert (here.folder / ".a5c/runs" / document["run"] / "run.json").exists()


def test_rules_of_an_agent_do_not_show_them(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, SHOWS)
    assert verdicts(run_plan(here, 1, "--tries", "2")) == EXPECTED
    assert_hidden(here)


def test_an_agent_that_removes_the_rules_in_them_does_not_show_them(tmp_path: Path) -> None:
    removes = "import pathlib\nfor folder in ('.ralph', '.a5c/runs'):\n    "
    removes += f"pathlib.Path(folder, '.gitignore').unlink(missing_ok=True)\n{SHOWS}"
    here = make_project(tmp_path, TWO_TASKS, removes)
    assert verdicts(run_plan(here, 1, "--tries", "2", "--sandbox", "off")) == EXPECTED
    assert_hidden(here)


@pytest.mark.parametrize("is_copied", [False, True], ids=["rules removed", "copied to a clone"])
def test_a_run_goes_on_where_its_exclude_list_is_lost(tmp_path: Path, is_copied: bool) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_ONE)
    run_plan(here, 3, "--tries", "2", "--max-iterations", "1")
    if is_copied:
        here.git("clone", "-q", ".", "../clone")
        for name in (".a5c", ".ralph"):
            shutil.copytree(here.folder / name, tmp_path / "clone" / name)
        here = Project(tmp_path / "clone", here.agent_folder)
    shutil.rmtree(here.folder / ".git/info")
    for name in (".a5c/runs", ".ralph"):  # as in runs of earlier versions
        (here.folder / name / ".gitignore").unlink()
    done = here.bridle("resume", "--max-iterations", "10", "--json")
    assert done.returncode == 1, done.stderr
    assert "you added .a5c" not in done.stderr
    assert_hidden(here)


def test_rules_of_the_user_in_the_folder_of_other_tools_stay(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_ONE, **{".ralph/.gitignore": "logs/\nstate/\n", ".ralph/x.md": "x"})
    assert verdicts(run_plan(here, 1, "--tries", "2")) == EXPECTED
    assert (here.folder / ".ralph/.gitignore").read_text() == "logs/\nstate/\n"
    assert here.git("ls-files", ".ralph") == ".ralph/.gitignore\n.ralph/x.md"


def test_what_a_killed_writer_of_the_rules_left_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / ".ralph"
    folder.mkdir()
    (folder / ".gitignore.new").write_bytes(b"")
    ignore_contents(tmp_path)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {".gitignore": "*\n"}
