"""What a receipt says about the run's branch as it is now: commits of the user on it, and how to review and undo it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from bridle.errors import Error
from bridle.ground import disk
from bridle.ground.git_folder import find_common_folder
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control.foreign_runs import AGREE, FOREIGN, is_untrusted
from bridle.loop.process.receipt import Receipt
from bridle.loop.run_inputs import read_place
from bridle.loop.working_copy import put_aside
from bridle.loop.working_copy.recorded_untracked import untracked_in
from bridle.run.isolation.scope import describe_scope
from bridle.workspace import special_files
from bridle.workspace.blocking_git import BlockingGit
from bridle.workspace.inert_git import inert_blocking_git

# Undo renames the branch to this where it has work of the user.
UNDONE = "undone/"
_TRAILER = "Bridle-Run"
_CONFIG_BYTES = 1024 * 1024
_SNAPSHOTS = "refs/bridle/snapshots/"
# Git would start another git in each submodule, which runs programs that the configuration there names.
_INSIDE_SUBMODULES = "--ignore-submodules=dirty"
# More would make a command that is too long to copy.
_STAGED_LIMIT = 20


def with_branch_facts(receipt: Receipt, run: Path, environment: Mapping[str, str]) -> Receipt:
    """Return a receipt with what git says now. The undo command keeps commits and uncommitted changes of the user.

    It keeps unfinished work of an agent in a stash. Git is waited for: an event loop calls this in a thread.
    """
    receipt = msgspec.structs.replace(receipt, isolation_scope=describe_scope(receipt.isolation))
    if is_untrusted(run):  # its commands to copy are the repository's too
        none = dict.fromkeys(("resume", "review", "merge", "undo"), "")
        return msgspec.structs.replace(receipt, foreign=f"{FOREIGN}. {AGREE}", **none)
    store, aside = FileStore(run, reuses_view=True), put_aside.find(run)
    place = read_place(store)
    repository = Path(place.repository)
    if special_files.find_in_git_folder(repository, with_objects=False):
        return receipt  # git would wait for them; the next driver removes them
    start = shlex.quote(place.came_from or place.base)
    git = _find_git(repository, environment)
    own = _OwnCommits() if git is None else _count_own_commits(receipt, git)
    has_changes = bool(own.amended or (receipt.found and own.tasks))
    undo, ref = receipt.undo, ""
    if own.users or has_changes:
        kept = f"{UNDONE}{run.name.lower()}"
        undo = undo.replace(f"git branch -D {receipt.branch}", f"git branch -m {receipt.branch} {kept}")
    if aside is not None and aside.is_restored:
        # With uncommitted changes, which git merges unless some are staged.
        undo = undo.replace(f"git checkout {start} ", f"git reset -q && git checkout -m {start} ")
        undo += "" if git is None else _stage_again(receipt.branch, place.came_from or place.base, git)
    elif aside is not None:
        ref = _SNAPSHOTS + aside.name(run.name)
        undo = f"{undo} && git stash apply --index {ref}"
    if not place.worktrees and store.position().end is None and (aside is None or not aside.is_restored):
        unfinished = [] if git is None else _unfinished_work(receipt.branch, run, git)
        undo = _stash(run.name, unfinished) + undo
    if _may_have_checkout_hook(repository, environment):  # if it fails, git reports a failed checkout
        undo = undo.replace("git checkout ", "git -c core.hooksPath=/dev/null checkout ")
    review = f"git log --stat {start}..{receipt.branch}"
    return msgspec.structs.replace(
        receipt, undo=undo, review=review, user_commits=own.users, has_user_changes=has_changes, put_aside=ref
    )


def _find_git(repository: Path, environment: Mapping[str, str]) -> BlockingGit | None:
    """Return a git that runs no program which the repository names; None if git cannot read its configuration."""
    try:
        return inert_blocking_git(repository, environment)
    except (Error, OSError):
        return None


def _unfinished_work(branch: str, run: Path, git: BlockingGit) -> list[str]:
    """Return the files with uncommitted work on the run's branch, without untracked ones of the user."""
    try:
        if git.branch() != branch:
            return []
        lines = git.names("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", _INSIDE_SUBMODULES)
    except (Error, OSError):
        return []
    users = untracked_in(run)
    return [line[3:] for line in lines if line[3:].rstrip("/") not in users]


def _stage_again(branch: str, start: str, git: BlockingGit) -> str:
    """Return the command that stages what is staged now in files that the run did not change; it follows others."""
    try:
        if git.branch() != branch:
            return ""
        fields = git.names("diff-index", "--cached", "--no-renames", "--no-abbrev", "-z", "HEAD")
        intended = git.names("diff-files", "--name-only", "--diff-filter=A", "-z", _INSIDE_SUBMODULES)
        changed = {*git.names("diff", "--name-only", "--no-renames", "-z", start, branch)}
    except (Error, OSError):
        return ""
    staged = [(facts.split(), name) for facts, name in zip(fields[::2], fields[1::2], strict=True)]
    staged = [(facts, name) for facts, name in staged if name not in changed and name not in intended]
    if len(staged) + len(intended) > _STAGED_LIMIT:
        return ""
    entries = [
        f"git rm -q --cached {shlex.quote(f':(top,literal){name}')}"
        if facts[4] == "D"
        else f"git update-index --add --cacheinfo {facts[1]},{facts[3]},{shlex.quote(name)}"
        for facts, name in staged
    ]
    marked = " ".join(shlex.quote(f":(top,literal){name}") for name in intended)
    return "".join(f" && {command}" for command in (*entries, *([f"git add -N -f {marked}"] if marked else ())))


def _stash(run: str, names: Sequence[str]) -> str:
    """Return the command that moves the work in these files into a stash, for other commands to follow."""
    if not names:
        return ""
    paths = " ".join(shlex.quote(f":(top,literal){name}") for name in names)
    return f"git stash push -q -u -m {shlex.quote(f'unfinished work of {run}')} -- {paths} && "


def _may_have_checkout_hook(repository: Path, environment: Mapping[str, str]) -> bool:
    """Return whether a hook may run at a checkout: one in the usual place, or any where settings name another."""
    common = find_common_folder(repository)
    if common is None:
        return False
    home = environment.get("HOME", "")
    configs = (common / "config", Path(home, ".gitconfig"), Path(home, ".config/git/config"))
    has_other_place = any(b"hookspath" in (disk.read_part(path, _CONFIG_BYTES) or b"").lower() for path in configs)
    return has_other_place or os.access(common / "hooks/post-checkout", os.X_OK)


class _OwnCommits(NamedTuple):
    """The commits that only the run's branch has."""

    tasks: int = 0
    amended: int = 0
    """Those that a task has made, and that are not as it made them."""
    users: int = 0


def _count_own_commits(receipt: Receipt, git: BlockingGit) -> _OwnCommits:
    words = ("log", f"--format=%H %(trailers:key={_TRAILER},valueonly,separator=%x2C)", receipt.branch)
    others = ("--not", f"--exclude={receipt.branch}", "--branches", "--remotes", "--tags")
    try:
        code, text = git.run(*words, *others, "--", accepts=(0, 128))
    except (Error, OSError):
        return _OwnCommits()
    lines = [line.split(" ", 1) for line in text.splitlines()] if code == 0 else []
    runs = [run.strip() for commit, run in lines if commit not in receipt.commits]
    amended = runs.count(receipt.run)
    return _OwnCommits(len(lines) - len(runs), amended, len(runs) - amended)
