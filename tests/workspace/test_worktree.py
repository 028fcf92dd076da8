"""Worktrees of one repository are added and removed one after the other: git reads the others while it adds one."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from bridle.workspace import worktree
from bridle.workspace.git import Git
from tests.workspace.fixtures.repositories import make_repository


def test_no_two_worktrees_are_added_or_removed_at_once(tmp_path: Path) -> None:
    made = make_repository(tmp_path / "r")
    log, program = tmp_path / "log", tmp_path / "bin" / "git"
    program.parent.mkdir()
    real = shutil.which("git")
    program.write_text(
        f"#!/bin/sh\ncase \"$*\" in *'worktree add'*|*'worktree remove'*) ;; *) exec '{real}' \"$@\";; esac\n"
        f"echo begin >>'{log}'; '{real}' \"$@\"; code=$?; echo end >>'{log}'; exit $code\n"
    )
    program.chmod(0o755)
    git = Git(made.folder, os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"})

    async def add_and_remove(name: str) -> None:
        await worktree.remove(git, await worktree.add(git, name))

    async def all_at_once() -> None:
        await asyncio.gather(*(add_and_remove(f"w{number}") for number in range(3)))

    asyncio.run(all_at_once())
    assert log.read_text().split() == ["begin", "end"] * 6
