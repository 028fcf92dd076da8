"""What a receipt says about the run's branch as it is now: commits of the user on it, and how to review and undo it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from bridle.errors import Error
from bridle.journal.stores.file_store import FileStore
from bridle.loop.process.receipt import Receipt
from bridle.loop.run_inputs import read_inputs
from bridle.loop.working_copy import put_aside
from bridle.workspace.inert_git import inert_git

# Undo renames the branch to this where it has work of the user.
UNDONE = "undone/"
_TRAILER = "Bridle-Run"
_SNAPSHOTS = "refs/bridle/snapshots/"


async def with_branch_facts(receipt: Receipt, run: Path, environment: Mapping[str, str]) -> Receipt:
    """Return a receipt with what git says now. The undo command keeps commits and uncommitted changes of the user."""
    inputs, aside = read_inputs(FileStore(run)), put_aside.find(run)
    start = shlex.quote(inputs.came_from or inputs.base)
    own = await _count_own_commits(receipt, Path(inputs.repository), environment)
    has_changes = bool(own.amended or (receipt.found and own.tasks))
    undo, ref = receipt.undo, ""
    if own.users or has_changes:
        kept = f"{UNDONE}{run.name.lower()}"
        undo = undo.replace(f"git branch -D {receipt.branch}", f"git branch -m {receipt.branch} {kept}")
    if aside is not None and aside.is_restored:
        # With uncommitted changes, which git merges unless some are staged.
        undo = undo.replace(f"git checkout {start} ", f"git reset -q && git checkout -m {start} ")
    elif aside is not None:
        ref = _SNAPSHOTS + aside.name(run.name)
        undo = f"{undo} && git stash apply --index {ref}"
    review = f"git log --stat {start}..{receipt.branch}"
    return msgspec.structs.replace(
        receipt, undo=undo, review=review, user_commits=own.users, has_user_changes=has_changes, put_aside=ref
    )


class _OwnCommits(NamedTuple):
    """The commits that only the run's branch has."""

    tasks: int = 0
    amended: int = 0
    """Those that a task has made, and that are not as it made them."""
    users: int = 0


async def _count_own_commits(receipt: Receipt, repository: Path, environment: Mapping[str, str]) -> _OwnCommits:
    words = ("log", f"--format=%H %(trailers:key={_TRAILER},valueonly,separator=%x2C)", receipt.branch)
    others = ("--not", f"--exclude={receipt.branch}", "--branches", "--remotes", "--tags")
    try:
        git = await inert_git(repository, environment)
        code, text = await git.run(*words, *others, "--", accepts=(0, 128))
    except (Error, OSError):
        return _OwnCommits()
    lines = [line.split(" ", 1) for line in text.splitlines()] if code == 0 else []
    runs = [run.strip() for commit, run in lines if commit not in receipt.commits]
    amended = runs.count(receipt.run)
    return _OwnCommits(len(lines) - len(runs), amended, len(runs) - amended)
