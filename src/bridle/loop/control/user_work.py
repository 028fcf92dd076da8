"""Finds what the user would lose with an old run: changes in its worktrees, and changes that were put aside for it."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Iterator, Sequence

from bridle.errors import GitError
from bridle.loop.undo.undo_entries import UNDONE
from bridle.loop.working_copy import put_aside
from bridle.loop.working_copy.refs import KEPT
from bridle.loop.working_copy.run_worktrees import of_runs, read_note
from bridle.workspace.git import FALLBACK_ADDRESS, Git
from bridle.workspace.snapshot import REFS
from bridle.workspace.worktree import Worktree

# Files and commits that are named.
SHOWN = 3


async def find(git: Git, runs: Sequence[str]) -> dict[str, str]:
    """Return the runs that must stay, each with the reason and what to do."""
    reasons: dict[str, list[str]] = {run: [] for run in runs}
    if not runs:
        return {}
    for run, folder in await of_runs(git, runs):
        reasons[run] += [reason async for reason in _in_worktree(git, folder)]
    refs = (await git.text("for-each-ref", "--format=%(refname)", REFS)).splitlines()
    for run in runs:
        reasons[run] += _put_aside(refs, run)
        reasons[run] += [reason async for reason in _undone(git, run)]
    return {run: "; ".join(found) for run, found in reasons.items() if found}


async def _in_worktree(git: Git, worktree: Worktree) -> AsyncIterator[str]:
    folder = shlex.quote(str(worktree.folder))
    removal = f"git worktree remove --force {folder}"
    try:
        names = await _uncommitted(worktree) if worktree.folder.is_dir() else []
        commits = await _on_no_branch(git, worktree)
    except GitError as error:
        yield f"git cannot read {folder} ({error.message}); if you need nothing in it: {removal}"
        return
    if names:
        yield f"{folder} has changes that are not committed ({_list(names)}); commit them, or: {removal}"
    if commits:
        short = [commit[:10] for commit in commits]
        keep = f"git branch NAME {short[0]}"
        yield f"{folder} has commits that are on no branch ({_list(short)}); keep them: {keep}, or: {removal}"


async def _uncommitted(worktree: Worktree) -> list[str]:
    """List changed and untracked files, without ignored files and those that the setup made."""
    git = Git(worktree.folder)
    words = ("-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none")
    names = [entry[3:] for entry in await git.names("status", "--porcelain", *words)]
    made = set(read_note(worktree.folder).made)
    return [name for name in names if name not in made]


async def _on_no_branch(git: Git, worktree: Worktree) -> list[str]:
    """List commits that would be lost with the worktree; those of the run's tasks are kept by refs of their own."""
    refs = ("--branches", "--remotes", "--tags", f"--glob={KEPT}*")
    code, text = await git.run("rev-list", f"worktrees/{worktree.name}/HEAD", "--not", *refs, "--", accepts=(0, 128))
    return text.split() if code == 0 else []


async def _undone(git: Git, run: str) -> AsyncIterator[str]:
    """Yield the refs of an undone run that alone have commits of the user."""
    listed = await git.text("for-each-ref", "--format=%(refname)", f"{UNDONE}{run.lower()}*")
    for ref in listed.splitlines():
        words = ("--format=%H%x1f%ce%x1f%(trailers:key=Bridle-Run,valueonly,separator=%x2C)", ref)
        others = ("--not", "--branches", "--remotes", "--tags", "--")
        fields = [line.split("\x1f") for line in (await git.text("log", *words, *others)).splitlines()]
        own = [commit[:10] for commit, address, made_by in fields if not made_by and address != FALLBACK_ADDRESS]
        if own:
            keep = f"git branch NAME {ref}"
            yield f"only {ref} has your commits {_list(own)}; keep them: {keep}, or: git update-ref -d {ref}"


def _put_aside(refs: Sequence[str], run: str) -> Iterator[str]:
    for ref in refs:
        if put_aside.is_of(ref.removeprefix(REFS), run):
            yield (
                f"your uncommitted changes are put aside as {ref}; "
                f"restore them (git stash apply --index {ref}), then: git update-ref -d {ref}"
            )


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
