"""Attack: a file of 400 GB that takes no space: git would hash it for an hour, and no limit of the run counts then.

It is found when git takes long; git is ended, the file is reported, and no commit contains it.

With the sandbox: the same; the working copy is writable.
Without: git is ended, and the file is left out.
Reported: in the receipt, by name.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from bridle.workspace import add_files, git_command
from tests.loop.fixtures.repositories import make_repository

# A limit that only a git that hashes such a file reaches.
LIMIT_SECONDS = 100.0


def test_git_does_not_hash_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(add_files, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(git_command, "LIMIT_SECONDS", LIMIT_SECONDS)
    here = make_repository(tmp_path / "r", {"a": "1\n"}, checks=("test -s big.bin && grep -q 2 a",))
    here.start()
    here.write({"a": "2\n", "big.bin": ""})
    os.truncate(here.folder / "big.bin", 400 * 1024**3)
    assert add_files.find_huge_files(here.folder) == ["big.bin"]
    result = here.protect()
    assert {report["path"]: report["what"] for report in result["reported"]} == {
        "big.bin": "git cannot add it: checks see it, but the commit does not contain it"
    }
    assert result["outside"] == ["big.bin"]
    assert here.git("ls-tree", "--name-only", result["tree"]).split() == ["a"]
    assert not list((here.folder / ".git").rglob("*.lock"))


def test_a_file_is_huge_by_its_size_or_by_its_holes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small").write_bytes(b"x" * 4096)
    (tmp_path / "holes").write_bytes(b"")
    os.truncate(tmp_path / "holes", 2 * add_files.SPARSE_BYTES)
    assert add_files.find_huge_files(tmp_path) == ["holes"]
    monkeypatch.setattr(add_files, "HUGE_BYTES", 4095)
    assert sorted(add_files.find_huge_files(tmp_path)) == ["holes", "small"]


def test_a_stopped_driver_ends_git_at_once(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a": "1\n"})
    here.write({"big.bin": ""})
    os.truncate(here.folder / "big.bin", 400 * 1024**3)

    async def stop() -> None:
        adding = asyncio.ensure_future(add_files.add_all(here.context.git, {}))
        await asyncio.wait({adding}, timeout=0.5)
        adding.cancel()
        await asyncio.wait({adding}, timeout=LIMIT_SECONDS)
        assert adding.cancelled()

    asyncio.run(stop())
    assert not (here.folder / ".git" / "index.lock").exists()


def test_it_is_left_out_of_the_next_looks_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(add_files, "PATIENCE_SECONDS", 0.2)
    here = make_repository(tmp_path / "r", {"a": "1\n"})
    here.write({"big.bin": ""})
    git = here.context.git
    adds: list[str] = []
    run = git.run

    async def count(*words: str, **more: Any) -> tuple[int, str]:
        adds.extend(word for word in words if word == "add")
        return await run(*words, **more)

    monkeypatch.setattr(git, "run", count)
    numbers = []
    for size in (400 * 1024**3, 401 * 1024**3, 10):  # while it is huge, git does not begin to hash it
        os.truncate(here.folder / "big.bin", size)
        adds.clear()
        asyncio.run(add_files.add_all(git, {}))
        numbers.append((len(adds), git.left_out))
    assert numbers == [(2, ("big.bin",)), (1, ("big.bin",)), (1, ())]
    assert here.git("ls-files").split() == ["a", "big.bin"]
