"""The tree of an index is what `git write-tree` writes; an index or object that is not plain is left to git."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from bridle.workspace.git_folder.index_tree import write_tree
from bridle.workspace.git_folder.read_git_files import NeedsGit
from bridle.workspace.git_folder.write_git_files import write_commit
from tests.workspace.fixtures.repositories import git, make_repository, write


def _written(folder: Path) -> str:
    return write_tree(folder, (folder / ".git/index").read_bytes(), 40)


@pytest.mark.parametrize("seed", range(6))
def test_the_tree_is_that_of_git_after_any_changes(tmp_path: Path, seed: int) -> None:
    folder = make_repository(tmp_path / "r").folder
    chance = random.Random(seed)  # noqa: S311  # a seed names the case
    for _ in range(6):
        for _ in range(chance.randrange(1, 6)):
            parts = [chance.choice("abc") + chance.choice(("", "-x", ".d", "0")) for _ in range(chance.randrange(1, 4))]
            path = folder.joinpath("top" + str(len(parts)), *parts)
            path.mkdir(parents=True, exist_ok=True) if not path.exists() else None
            (path / "file").write_text(str(chance.random()))
        for path in sorted(folder.glob("top*/*")):
            if chance.random() < 0.2:
                shutil.rmtree(path)
        git(folder, "add", "-A")
        tree = _written(folder)
        assert git(folder, "fsck", "--strict", "--no-dangling") == ""
        if chance.random() < 0.5:  # the index then knows these trees
            assert git(folder, "write-tree").strip() == tree
        else:
            shutil.copy2(folder / ".git/index", folder / "copy")
            assert git(folder, "write-tree").strip() == tree
            shutil.move(folder / "copy", folder / ".git/index")


def test_links_programs_and_nested_repositories_are_in_it(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "r").folder
    write(folder, {"run": "#!/bin/sh\n"})
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("a.txt")
    make_repository(folder / "nested")
    git(folder, "add", "-A")
    tree = _written(folder)
    assert git(folder, "write-tree").strip() == tree


def test_what_is_not_plain_is_left_to_git(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "r").folder
    write(folder, {"new.txt": "new\n", "sub/new.txt": "new too\n"})
    git(folder, "add", "-A")
    index = folder / ".git/index"
    data = index.read_bytes()
    blob = git(folder, "rev-parse", ":new.txt").strip()
    path = folder / ".git/objects" / blob[:2] / blob[2:]
    kept = path.rename(tmp_path / "kept")
    with pytest.raises(NeedsGit):  # git refuses it, and names the file
        write_tree(folder, data, 40)
    kept.rename(path)
    write(folder, {"later.txt": "\n"})
    git(folder, "add", "--intent-to-add", "later.txt")
    with pytest.raises(NeedsGit):
        _written(folder)
    index.write_bytes(data)
    git(folder, "update-index", "--index-version", "4")
    with pytest.raises(NeedsGit):
        _written(folder)
    index.write_bytes(data)
    first = git(folder, "rev-parse", "HEAD:a.txt").strip()
    lines = f"0 {'0' * 40}\ta.txt\n100644 {first} 1\ta.txt\n100644 {blob} 2\ta.txt\n"
    (tmp_path / "lines").write_text(lines)
    with (tmp_path / "lines").open() as given:
        subprocess.run(["git", "update-index", "--index-info"], cwd=folder, stdin=given, check=True, timeout=60)
    with pytest.raises(NeedsGit):
        _written(folder)


def test_very_deep_folders_are_left_to_git(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "r").folder
    (folder / "/".join("d" * 300)).mkdir(parents=True)
    write(folder, {"/".join("d" * 300) + "/file": "deep\n"})
    git(folder, "add", "-A")
    with pytest.raises(NeedsGit):
        _written(folder)


def test_packed_objects_are_found(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "r").folder
    git(folder, "gc", "-q")
    write(folder, {"new.txt": "new\n"})
    git(folder, "add", "-A")
    tree = _written(folder)
    assert git(folder, "write-tree").strip() == tree
    assert (folder / ".git/objects" / tree[:2] / tree[2:]).stat().st_mode & 0o777 == 0o444


def test_objects_that_are_there_get_a_new_time(tmp_path: Path) -> None:
    """As with git: a garbage collection removes old ones that no ref needs, and may be at work now."""
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"new.txt": "new\n"})
    git(repo.folder, "add", "-A")
    tree = _written(repo.folder)
    commit = write_commit(repo.folder, tree, [], "a <a> 1 +0000", "a <a> 1 +0000", "one")
    paths = [repo.folder / ".git/objects" / name[:2] / name[2:] for name in (tree, commit)]
    for path in paths:
        os.utime(path, (1, 1))
    assert _written(repo.folder) == tree
    assert write_commit(repo.folder, tree, [], "a <a> 1 +0000", "a <a> 1 +0000", "one") == commit
    assert all(path.stat().st_mtime > 1 for path in paths)
