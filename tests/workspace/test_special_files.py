from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from bridle.workspace import special_files
from tests.workspace.fixtures.repositories import make_repository


def test_folders_of_objects_that_git_removes_meanwhile_are_passed_over(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository").folder
    objects = repository / ".git/objects"
    folders = [objects / "tmp_objdir-bulk-fsync-x" / f"{number:02x}" for number in range(64)]
    for folder in folders:
        folder.mkdir(parents=True)
    os.mkfifo(folders[0].parent / "pipe")
    found = special_files._special_files(str(objects), 0.0)
    assert next(found) == str(folders[0].parent / "pipe")
    shutil.rmtree(folders[0].parent)
    assert list(found) == []


def test_a_named_pipe_is_removed_once_by_two_that_find_it(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository").folder
    os.mkfifo(repository / ".git/pipe")
    assert special_files.clear_git_folder(repository) == [".git/pipe"]
    assert special_files.clear_git_folder(repository) == []
    special_files.unblock(str(repository / ".git/pipe"), removes=True)


def test_folders_may_be_nested_deeper_than_functions(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository").folder
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(repository / ".git/refs")
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.fchdir(before)
        os.close(before)
    try:
        assert special_files.find_in_git_folder(repository) == {}
    finally:  # shutil.rmtree, with which pytest removes old folders, recurses
        subprocess.run(["rm", "-rf", str(repository / ".git/refs/d")], check=True, timeout=60)
