from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from bridle.ground.files import known_folders
from bridle.workspace.git_folder import git_links, special_files
from tests.workspace.fixtures.repositories import make_repository


def test_folders_of_objects_that_git_removes_meanwhile_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository(tmp_path / "repository").folder
    bulk = repository / ".git/objects/tmp_objdir-bulk-fsync-x"
    for number in range(64):
        (bulk / f"{number:02x}").mkdir(parents=True)
    os.mkfifo(bulk / "pipe")
    listed = os.scandir

    def scandir(folder: str) -> Any:
        entries = listed(folder)
        if folder == str(bulk):
            with entries:
                found = list(entries)
            shutil.rmtree(bulk)
            return nullcontext(found)
        return entries

    monkeypatch.setattr("bridle.workspace.git_folder.git_links.os.scandir", scandir)
    assert special_files.find_in_git_folder(repository) == {}
    assert not bulk.exists()


@pytest.mark.parametrize("place", ["", "refs/heads", "objects/pack", "objects/12"])
def test_what_appears_between_two_looks_is_found(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_folders, "SETTLED_NANOSECONDS", -(10**12))  # all are kept
    git = make_repository(tmp_path / "repository").folder / ".git"
    folder = git / place
    folder.mkdir(exist_ok=True)
    (git / "device").symlink_to("/dev/zero")
    first = special_files.find_in_git_folder(git.parent)
    links = git_links.read(git)
    assert [*first.values()] == [".git/device"]
    before = folder.stat()
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("/etc")
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
    added = special_files.find_in_git_folder(git.parent).keys() - first.keys()
    assert added == {str(folder / "pipe")}
    assert git_links.restore(git, links) == [str(folder / "link").removeprefix(f"{git}/")]
    assert git_links.read(git) == links


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


def test_one_look_serves_all_that_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = make_repository(tmp_path / "repository").folder / ".git"
    (git / "link").symlink_to("/dev/zero")
    os.mkfifo(git / "refs/pipe")
    looks: list[str] = []
    look_through = git_links._look_through

    def count(top: str, *, with_objects: bool) -> list[str]:
        looks.append(top)
        return look_through(top, with_objects=with_objects)

    monkeypatch.setattr(git_links, "_look_through", count)
    with git_links.one_look():
        assert git_links.restore(git, {}) == ["link"]
        assert special_files.clear_git_folder(git.parent) == [".git/refs/pipe"]
    assert looks == [str(git)]
    os.mkfifo(git / "refs/pipe")
    assert special_files.clear_git_folder(git.parent) == [".git/refs/pipe"], "the next look is another one"
