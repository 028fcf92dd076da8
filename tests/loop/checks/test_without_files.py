"""What a clone does not have is moved out of the working copy while checks run, and put back whatever they do."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from bridle.loop.checks.without_files import NotInCommit, put_back, without_files
from tests.loop.fixtures.repositories import make_repository

FILES = {"a/b.cfg": "1\n", "a/c.cfg": "2\n", "crlf.txt": "3\r\n"}


def test_folders_files_and_special_files_are_put_back_also_after_a_kill(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"kept.txt": "kept\n"}, untracked=FILES)
    os.mkfifo(here.folder / "pipe")
    (tmp_path / "gone").write_text("a clone has it\n")
    files = [
        NotInCommit("a/b.cfg"),
        NotInCommit("a/", "all its files are ignored"),
        NotInCommit("pipe"),
        NotInCommit("crlf.txt", instead=b"3\n"),
        NotInCommit("sub/gone.txt", instead=tmp_path / "gone"),
        NotInCommit("nothing"),
    ]
    for is_killed in (False, True):
        with without_files(here.context, files) as is_possible:
            assert is_possible
            assert sorted(os.listdir(here.folder)) == [".a5c", ".git", "crlf.txt", "kept.txt", "sub"]
            assert (here.folder / "crlf.txt").read_bytes() == b"3\n"
            here.write({"a/b.cfg": "of the check\n", "a/new.cfg": "of the check\n", "pipe": "of the check\n"})
            if is_killed:
                moved = {path: path.rename(tmp_path / path.name) for path in here.context.run_folder.glob("*moved*")}
        if is_killed:  # a driver that begins finds what was moved
            for path, place in moved.items():
                place.rename(path)
            put_back(here.context)
        assert {name: (here.folder / name).read_bytes().decode() for name in FILES} == FILES
        assert sorted(os.listdir(here.folder / "a")) == ["b.cfg", "c.cfg"]
        assert stat.S_ISFIFO((here.folder / "pipe").lstat().st_mode)
        assert not (here.folder / "sub/gone.txt").exists()
        assert list(here.context.run_folder.glob("*moved*")) == []
