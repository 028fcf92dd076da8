"""The worktrees of a run: their folders, their files, and a note about each.

The note (complete or not, the setup's key, the files that the setup made) is in git's folder of the worktree and is
removed with it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bridle.errors import DiskError, GitError
from bridle.ground import disk
from bridle.ground.git_folder import common_folder, git_folder
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot, worktree
from bridle.workspace.add_files import NO_SHORTCUTS, add_all
from bridle.workspace.files_index import move_clean_files
from bridle.workspace.git import Git
from bridle.workspace.partial_tree import tree_without
from bridle.workspace.snapshot import staged_tree, tree_of_all
from bridle.workspace.worktree import AGENTS_FOLDER

NOTE = "bridle-copy.json"
# Names the user's working copy, with its untracked files, to checks and agents in a worktree.
REPOSITORY_VARIABLE = "BRIDLE_REPOSITORY"
# Variables with paths of programs and code, which must lead into the worktree.
_PATHS = (
    "PATH",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "NODE_PATH",
    "CONDA_PREFIX",
    "CARGO_TARGET_DIR",
    "PWD",
    "OLDPWD",
)
# In the reflog of a worker's worktree.
MOVED = "bridle: a worker's copy"
_OWN_CHECK = Path(".ralph") / "check"
_CHECK_LIMIT_BYTES = 8 * 1024 * 1024


class CountedUsage(msgspec.Struct, frozen=True):
    """What a worktree's agents used, as far as it is counted in the user's workspace."""

    cost_usd: float = 0.0
    runs: int = 0


class WorktreeNote(msgspec.Struct, frozen=True):
    """What is known about a worktree."""

    is_whole: bool = False
    """Whether it was made completely."""
    setup: str = ""
    """The key of the last successful setup."""
    made: tuple[str, ...] = ()
    """Untracked files that the setup made; they are not part of any task's work."""
    counted: CountedUsage = CountedUsage()


def worktree_name(run: str, worker: int | None = None) -> str:
    return run.lower() if worker is None else f"{run.lower()}-{worker}"


def worktree_folder(repository: Path, run: str, worker: int | None = None) -> Path:
    return repository.resolve() / AGENTS_FOLDER / worktree_name(run, worker)


def in_worktree(context: RunContext, worker: int | None = None) -> RunContext:
    """Return the context for a worktree of the run, which need not exist yet."""
    folder = worktree_folder(context.folder, context.run, worker)
    path = context.plan.path
    if path is not None and Path(path).is_relative_to(context.folder):
        path = str(folder / Path(path).relative_to(context.folder))
    inside = replace(
        context,
        git=context.git_in(folder),
        folder=folder,
        repository=context.folder,
        worker=worker,
        plan=replace(context.plan, path=path),
    )
    return inside.with_variables(
        {
            **redirect_variables(
                {name: context.environment[name] for name in _PATHS if name in context.environment},
                context.folder,
                folder,
            ),
            REPOSITORY_VARIABLE: str(context.folder),
        }
    )


def worker_context(own: RunContext, worker: int) -> RunContext:
    """Return the context for git in a worker's worktree, from that of the run's own one."""
    folder = own.folder.with_name(worktree_name(own.run, worker))
    return replace(own, git=own.git_in(folder), folder=folder, worker=worker)


def is_complete(folder: Path) -> bool:
    """Return whether a worktree exists and was made completely."""
    return read_note(folder).is_whole


def discard_broken(context: RunContext) -> bool:
    """Let a worktree of the run that git cannot use any more be made again; return whether it is one."""
    if context.repository is None or not _is_broken(context.folder):
        return False
    if (path := _note_path(context.folder)) is not None:
        path.unlink(missing_ok=True)
    return True


def _is_broken(folder: Path) -> bool:
    own = git_folder(folder) if (folder / ".git").is_file() else None
    return own is None or not os.path.isfile(f"{own}/HEAD") or not os.path.isdir(f"{common_folder(own)}/objects")


def read_note(folder: Path) -> WorktreeNote:
    """Return the note about a worktree, or an empty one."""
    path = _note_path(folder)
    value = disk.read_json(path) if path is not None else None
    try:
        return msgspec.convert(value or {}, WorktreeNote)
    except msgspec.ValidationError:
        return WorktreeNote()


def write_note(folder: Path, note: WorktreeNote) -> None:
    """Replace the note about a worktree."""
    path = _note_path(folder)
    if path is None:
        raise DiskError(f"{folder} is no longer a worktree", remedy="`bridle resume` creates it again.")
    disk.write_json_atomic(path, msgspec.to_builtins(note))


async def check_out(context: RunContext, head: str, tree: str | None = None, *, is_known: bool = False) -> bool:
    """Check out a commit in a worker's worktree, detached, with the files of `tree` on top.

    `is_known`: the files are as at the last look. Return whether they are so afterwards, with those of the commit.
    """
    if tree is None and await _move_clean_copy(context, head, is_known=is_known):
        return True
    if await context.git.branch() is None:
        await context.git.move_head(head, MOVED)
    else:
        await context.git.run("update-ref", "--no-deref", "-m", MOVED, "HEAD", head)
    await restore_tree(context, tree or f"{head}^{{tree}}")
    return False


async def _move_clean_copy(context: RunContext, head: str, *, is_known: bool) -> bool:
    """Check out a commit where files and index are those of HEAD; return False, without a change, where they are not.

    Git then reads and writes only files that differ between the two commits.
    """
    git = context.git
    now = await git.head()
    if now is None or await git.branch() is not None:
        return False
    files = await tree_of_all(git, as_committed=True, is_known=is_known)
    before, after = await git.tree_of(now), await git.tree_of(head)
    if before != await tree_without(git, files, _made_by_setup(context)) or before != await staged_tree(git):
        return False
    if before != after:
        try:
            await move_clean_files(git, before, after)
        except GitError:  # an ignored file is in the way, or one has changed since the look
            await keep_foreign_changes(context, before, after)
            return False
    if now != head:
        await git.move_head(head, MOVED, old=now)
    return True


def _made_by_setup(context: RunContext) -> tuple[str, ...]:
    return tuple(sorted(read_note(context.folder).made))


async def keep_foreign_changes(context: RunContext, before: str, after: str) -> None:
    """Keep the files of a copy under a ref before they are overwritten, if one is in neither of the trees."""
    git = context.git
    files = await tree_without(git, await tree_of_all(git, as_committed=True), _made_by_setup(context))
    sides = [set(await snapshot.changes(git, side, files)) for side in (before, after)]
    if sides[0].isdisjoint(sides[1]):
        return
    # Its name depends on the files: a second attempt must not overwrite what the first one saved.
    saved = await snapshot.take(git, name=f"{context.run.lower()}-copy-{files}", why="changes in a copy of the run")
    context.say(f"files in {context.folder} had been changed by another program; they are kept as {saved.ref}")


async def restore_tree(context: RunContext, tree: str) -> None:
    """Make the files those of a tree and the index that of HEAD. Ignored files stay, other files are removed."""
    git = context.git
    await add_all(git, {})
    kept_files = read_note(context.folder).made
    if kept_files:
        names = b"".join(os.fsencode(name) + b"\0" for name in kept_files)
        await git.run("update-index", "--force-remove", "-z", "--stdin", stdin=names)
    await git.run(*NO_SHORTCUTS, "read-tree", "--reset", "-u", tree)
    await git.run("read-tree", "HEAD")
    await git.run("update-index", "-q", "--refresh", accepts=(0, 1))


async def of_runs(git: Git, runs: Sequence[str]) -> list[tuple[str, worktree.Worktree]]:
    """Return the worktrees of runs, each with the run."""
    return [
        (run, candidate)
        for candidate in await worktree.list_worktrees(git)
        for run in runs
        if candidate.folder.parent.name == AGENTS_FOLDER.name and _is_of(candidate.name, run.lower())
    ]


async def remove_all(git: Git, runs: Sequence[str]) -> None:
    """Remove the worktrees of runs with their files, but not their branches."""
    for _, found in await of_runs(git, runs):
        await worktree.remove(git, found)


def copy_user_check(repository: Path, folder: Path) -> None:
    """Copy the user's own check, which is usually not committed, into a worktree."""
    source, target = repository / _OWN_CHECK, folder / _OWN_CHECK
    if source.is_file() and not source.is_symlink() and not os.path.lexists(target):
        disk.make_private_folder(target.parent)
        mode = stat.S_IMODE(source.stat().st_mode)
        disk.write_atomic(target, disk.read_bounded(source, _CHECK_LIMIT_BYTES), mode=mode)


def redirect_variables(variables: Mapping[str, str], folder: Path, copy: Path) -> dict[str, str | None]:
    """Return the variables with paths into `folder`, changed to lead into `copy`."""
    changed: dict[str, str | None] = {}
    for name, value in variables.items():
        parts = value.split(os.pathsep)
        redirected = [_redirect(part, str(folder), str(copy)) for part in parts]
        if redirected != parts:
            changed[name] = os.pathsep.join(redirected)
    return changed


def _redirect(part: str, folder: str, copy: str) -> str:
    return copy + part[len(folder) :] if part == folder or part.startswith(folder + "/") else part


def _is_of(name: str, run: str) -> bool:
    """Return whether a worktree of that name belongs to the run or to one of its workers."""
    number = name.removeprefix(f"{run}-")
    return name == run or (number != name and number.isdigit())


def _note_path(folder: Path) -> Path | None:
    """Return the path of a worktree's note, or None if the folder is not a worktree."""
    own = git_folder(folder) if (folder / ".git").is_file() else None
    return Path(own, NOTE) if own is not None and os.path.isdir(own) else None
