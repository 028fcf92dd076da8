"""Untracked files of the user that the user has added to git since a driver ended.

An agent or a check that staged or committed such a file before it was killed does not decide that it is tracked.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from bridle.loop.adoption.later_files import changed_at
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.git import Git
from bridle.workspace.git_folder import read_git_files
from bridle.workspace.snapshot import Snapshot


class AddedFiles(Struct, frozen=True):
    """Files that are in git now."""

    users: frozenset[str]
    """Files that the user has added."""
    agents: tuple[str, ...]
    """Untracked files of the user that are in a commit of the branch, and in none of the user."""


async def find_added(
    context: RunContext, untracked: frozenset[str], *, was: Snapshot | None, now: Snapshot, base: str, tip: str
) -> AddedFiles:
    """Return which of these files were added since; `base`: the newest commit below `tip` that is not the user's."""
    git = context.git
    before, after = (was.index_tree, now.index_tree) if was is not None else (base, tip)
    users = frozenset(await _added(git, before, after)) & untracked
    committed = await git.names("ls-tree", "-r", "-z", "--name-only", "--full-tree", tip)
    return AddedFiles(users, tuple(sorted(untracked.intersection(committed) - users)))


async def find_base(context: RunContext, known: str, tip: str, *, was_working: bool, ended_at: float | None) -> str:
    """Return the newest commit below `tip` that was made before the agents of a killed driver had ended."""
    if known == tip or not was_working:
        return known
    git, base = context.git, known
    for commit in (await git.text("rev-list", "--first-parent", "--reverse", f"{known}..{tip}")).split():
        if ended_at is not None and await _written_at(git, commit) > ended_at:
            break
        base = commit
    return base


async def _written_at(git: Git, commit: str) -> float:
    """Return when a commit was written: from its file, or from itself where it is packed."""
    try:
        return changed_at(Path(read_git_files.git_folders(git.folder)[1], "objects", commit[:2], commit[2:]))
    except (read_git_files.NeedsGit, OSError):
        return float(await git.text("log", "-1", "--format=%ct", commit))


async def _added(git: Git, before: str, after: str) -> list[str]:
    return await git.names("diff", "--name-only", "--no-renames", "--diff-filter=A", "-z", before, after)
