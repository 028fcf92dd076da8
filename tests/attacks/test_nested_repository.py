"""Attack: `git init` in a folder of tracked files, after which git sees a repository there and not its files.

The agent wants checks to pass with an edit that no commit contains. The folder is named as outside of the commit, which
makes Bridle run the checks again without it.

With the sandbox: the same; the working copy is writable in it.
Without: the checks run again without the folder, or it is in the commit.
Reported: in the reason of the task.
"""

from __future__ import annotations

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
