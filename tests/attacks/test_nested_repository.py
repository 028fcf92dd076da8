"""Attack: `git init` in a folder of tracked files, after which git sees a repository there and not its files.

The agent wants checks to pass with an edit that no commit contains. The folder is named as outside of the commit, which
makes Bridle run the checks again without it.

With the sandbox: the same; the working copy is writable in it.
Without: the checks run again without the folder, or it is in the commit.
Reported: in the reason of the task.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.loop.fixtures.repositories import make_repository, reopen
from tests.workspace.fixtures.repositories import git


@pytest.mark.parametrize("is_tracked", [True, False])
@pytest.mark.parametrize("has_commit", [False, True])
def test_its_files_are_outside_of_the_commit_or_in_it(tmp_path: Path, *, has_commit: bool, is_tracked: bool) -> None:
    here = make_repository(tmp_path / "r", {"src/a.py": "A = 0\n", "b.py": "B = 0\n"}, checks=("true",))
    here.start()
    git(here.folder / "src", "init", "-q")
    here.write({"src/a.py": "A = 1\n", "b.py": "B = 1\n"})
    if has_commit:
        git(here.folder / "src", "add", "-A")
        git(here.folder / "src", "commit", "-q", "-m", "x")
    if not is_tracked:  # git adds the files of a folder while its index has them, as that of a driver still has
        here.git("rm", "-r", "-q", "--cached", "src")
        here = reopen(here.folder)
    result = here.protect()
    names = here.git("ls-tree", "-r", "--name-only", result["tree"]).split()
    is_in_commit = "src/a.py" in names and here.git("show", f"{result['tree']}:src/a.py") == "A = 1\n"
    is_outside = "src" in [name.rstrip("/") for name in result.get("outside", ())]
    assert (is_in_commit, is_outside) == (is_tracked, not is_tracked), (names, result)


def test_a_new_folder_with_a_repository_is_named(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"b.py": "B = 0\n"}, checks=("test -f new/a.py",))
    here.start()
    here.write({"new/a.py": "A = 1\n"})
    git(here.folder / "new", "init", "-q")
    git(here.folder / "new", "add", "-A")
    git(here.folder / "new", "commit", "-q", "-m", "x")
    result = here.protect()
    assert "new/a.py" not in here.git("ls-tree", "-r", "--name-only", result["tree"]).split()
    assert [name.rstrip("/") for name in result["outside"]] == ["new"]


def commit_in(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")


@pytest.mark.parametrize("settings", ["", '[submodule "new"]\n\tpath = new\n\turl = ./new\n'])
def test_a_declaration_of_the_agent_makes_it_no_submodule(tmp_path: Path, settings: str) -> None:
    here = make_repository(tmp_path / "r", {"b.py": "B = 0\n"}, checks=("test -f new/a.py",))
    here.start()
    here.write({"new/a.py": "A = 1\n", ".gitmodules": settings})
    git(here.folder / "new", "init", "-q")
    commit_in(here.folder / "new")
    result = here.protect()
    assert result["outside"] == ["new"]
    assert "new" in [report["path"] for report in result["reported"]]


@pytest.mark.parametrize("deed", ["commits", "leaves uncommitted", "removes the repository", "did it before"])
def test_work_of_a_later_task_in_it_is_outside_of_the_commit(tmp_path: Path, deed: str) -> None:
    """Attack: a task leaves a nested repository that its checks do not need, and a later task does its work in it.

    Git compares only the commit of the repository, or nothing if its `.git` is gone.

    With the sandbox: the same; the working copy is writable in it.
    Without: the checks of every later task run again without the folder.
    Reported: in the reason of the task.
    """
    here = make_repository(tmp_path / "r", {"b.py": "B = 0\n"}, checks=("test -f app/a.py",))
    here.start()
    app = here.folder / "app"
    git(here.folder, "init", "-q", "app")
    if deed == "did it before":
        here.write({"app/a.py": "A = 1\n"})
    commit_in(app)
    assert here.protect()["outside"] == ["app"]
    here.commit("One")
    here.write({"b.py": "B = 1\n", "app/a.py": "A = 1\n"})
    if deed == "commits":
        commit_in(app)
    elif deed == "removes the repository":
        shutil.rmtree(app / ".git")
    result = here.protect(iteration=2)
    assert result["outside"] == ["app"]
    assert not here.git("ls-tree", "-r", "--name-only", result["tree"]).split().count("app/a.py")


def test_one_of_a_commit_between_two_tasks_is_named_too(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"b.py": "B = 0\n"}, checks=("true",))
    here.start()
    for name in ("app", "lib"):
        here.write({f"{name}/a.py": "A = 1\n", "b.py": f"# {name}\n"})
        git(here.folder, "init", "-q", name)
        commit_in(here.folder / name)
        if name == "app":
            assert here.protect()["outside"] == ["app"]
        here.commit(name)
    here.write({"b.py": "B = 1\n"})
    assert here.protect(iteration=2)["outside"] == ["app", "lib"]


def test_files_in_a_submodule_that_is_not_checked_out_are_outside_of_the_commit(tmp_path: Path) -> None:
    """Attack: work in the empty folder of a submodule, which git does not look into.

    With the sandbox: the same; the working copy is writable in it.
    Without: the checks run again without the folder.
    Reported: in the receipt, and in the reason of the task.
    """
    settings = '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n'
    here = make_repository(tmp_path / "r", {".gitmodules": settings, "b.py": "B = 0\n"}, checks=("test -f sub/a.py",))
    here.git("update-index", "--add", "--cacheinfo", f"160000,{here.git('rev-parse', 'HEAD').strip()},sub")
    here.git("commit", "-q", "-m", "a submodule")
    (here.folder / "sub").mkdir()
    here.start()
    assert "outside" not in here.protect()
    here.write({"sub/a.py": "A = 1\n", "b.py": "B = 1\n"})
    result = here.protect(iteration=2)
    assert result["outside"] == ["sub"]
    assert [report["path"] for report in result["reported"]] == ["sub"]
