"""What a receipt says about the run's branch as it is now: commits of the user on it, and how to review it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from bridle.errors import Error
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control.foreign_runs import AGREE, FOREIGN, is_untrusted
from bridle.loop.control.push_target import pull_request_commands, pull_request_title, remote_of
from bridle.loop.process.receipt import Receipt
from bridle.loop.run_inputs import RunPlace, plan_in_force, read_place
from bridle.loop.undo import undo_entries
from bridle.loop.working_copy import put_aside, uncommitted_note
from bridle.run.isolation.scope import describe_scope
from bridle.workspace.blocking_git import BlockingGit
from bridle.workspace.git_folder import special_files
from bridle.workspace.inert_git import inert_blocking_git

_TRAILER = "Bridle-Run"
_SNAPSHOTS = "refs/bridle/snapshots/"
# In lines of `found` that are about no work.
_IN_NO_COMMIT = ("in no commit", "a new plan replaces", "protected as they are now", "the run keeps the plan")
_COMMANDS = ("resume", "review", "merge", "undo", "pull_request")


def with_branch_facts(receipt: Receipt, run: Path, environment: Mapping[str, str]) -> Receipt:
    """Return a receipt with what git says now.

    Git is waited for: an event loop calls this in a thread.
    """
    receipt = msgspec.structs.replace(receipt, isolation_scope=describe_scope(receipt.isolation))
    if is_untrusted(run):  # its commands to copy are the repository's too
        return msgspec.structs.replace(receipt, foreign=f"{FOREIGN}. {AGREE}", **dict.fromkeys(_COMMANDS, ""))
    store, aside = FileStore(run, reuses_view=True), put_aside.find(run)
    if undone := undo_entries.describe_undone(store):
        tasks = tuple(msgspec.structs.replace(task, question=None) for task in receipt.tasks)
        return msgspec.structs.replace(receipt, undone=undone, tasks=tasks, **dict.fromkeys(_COMMANDS, ""))
    place = read_place(store)
    repository = Path(place.repository)
    if special_files.find_in_git_folder(repository, with_objects=False):
        return receipt  # git would wait for them; the next driver removes them
    start = shlex.quote(place.came_from or place.base)
    git = _find_git(repository, environment)
    own = _OwnCommits() if git is None else _count_own_commits(receipt, git)
    aside_ref = "" if aside is None or aside.is_restored else _SNAPSHOTS + aside.name(run.name)
    has_left = own.has_branch or bool(place.worktrees or aside_ref)
    remote = remote_of(git) if git is not None and receipt.commits else None
    is_uncommitted = uncommitted_note.exists(run)
    return msgspec.structs.replace(
        receipt,
        uncommitted=is_uncommitted,
        merge="" if is_uncommitted else receipt.merge,
        review=f"git log --stat {start}..{receipt.branch}",
        user_commits=own.users,
        has_user_changes=bool(own.amended or (own.tasks and any(map(_is_in_commits, receipt.found)))),
        undo=receipt.undo if has_left else "",
        pull_request="" if is_uncommitted or remote is None else _pull_request(receipt, place, remote, store),
        put_aside=aside_ref,
    )


def _pull_request(receipt: Receipt, place: RunPlace, remote: str, store: FileStore) -> str:
    title = pull_request_title(plan_in_force(store))
    return pull_request_commands(receipt.branch, place.came_from, remote, title=title, is_draft=place.is_draft)


def _is_in_commits(line: str) -> bool:
    """Return whether what was found between drivers may be in a commit of the run: no plan, and no file left alone."""
    return not any(words in line for words in _IN_NO_COMMIT)


def _find_git(repository: Path, environment: Mapping[str, str]) -> BlockingGit | None:
    """Return a git that runs no program which the repository names; None if git cannot read its configuration."""
    try:
        return inert_blocking_git(repository, environment)
    except (Error, OSError):
        return None


class _OwnCommits(NamedTuple):
    """The commits that only the run's branch has."""

    tasks: int = 0
    amended: int = 0
    """Commits of tasks that were changed since."""
    users: int = 0
    has_branch: bool = True


def _count_own_commits(receipt: Receipt, git: BlockingGit) -> _OwnCommits:
    words = ("log", f"--format=%H %(trailers:key={_TRAILER},valueonly,separator=%x2C)", receipt.branch)
    others = ("--not", f"--exclude={receipt.branch}", "--branches", "--remotes", "--tags")
    try:
        code, text = git.run(*words, *others, "--", accepts=(0, 128))
    except (Error, OSError):
        return _OwnCommits()
    if code != 0:
        return _OwnCommits(has_branch=False)
    lines = [line.split(" ", 1) for line in text.splitlines()]
    runs = [run.strip() for commit, run in lines if commit not in receipt.commits]
    amended = runs.count(receipt.run)
    return _OwnCommits(len(lines) - len(runs), amended, len(runs) - amended)
