"""The working copy after an agent: git's own files and Bridle's folders are restored, the agent's work stays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from bridle.engine.drive.driver_lock import find_driver
from bridle.errors import DiskError, GitError
from bridle.loop.effect_results import FileReport
from bridle.loop.performers import branch
from bridle.loop.protection import programs_outside, untracked_files
from bridle.loop.protection.git_files import git_metadata, nested_repositories
from bridle.loop.protection.git_files.git_metadata import Baseline, GitMetadata
from bridle.loop.protection.git_files.nested_repositories import Repositories
from bridle.loop.protection.git_files.restore_refs import restore_refs
from bridle.loop.protection.recorded import startup_files
from bridle.loop.protection.recorded.walk_files import walk
from bridle.loop.protection.repairs import OUR_FOLDERS
from bridle.loop.working_copy import stale_git_locks
from bridle.loop.working_copy.hide_own_folders import hide_own_folders
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import discard_broken
from bridle.workspace import marks, snapshot
from bridle.workspace.git_folder import git_links, special_files
from bridle.workspace.marks import Marks
from bridle.workspace.repair import git_leftovers
from bridle.workspace.repair.git_leftovers import GitState, Leftovers
from bridle.workspace.snapshot import Snapshot

# Files that are reported singly.
SHOWN_FILES = 20


class LeftByAgent(Struct, frozen=True):
    """The working copy after an agent; what it changed in `.git` and in Bridle's folders is restored."""

    after: Snapshot | None = None
    changes: tuple[FileReport, ...] = ()
    left_branch: bool = False
    conflicts: tuple[str, ...] = ()
    """Files in conflict after an operation that the agent did not finish."""
    fault: str | None = None
    """Why git cannot be used any more."""


class FilesBefore(Struct, frozen=True):
    """What is below a working copy before an agent or a check runs in it."""

    nested: Repositories
    """The repositories below it."""
    startup: tuple[str, ...]
    """Files that programs of the user run later; see `startup_files`."""
    closed: Mapping[str, int] = {}
    """Folders that cannot be listed or entered, with their modes; see `walk_files`."""


class BeforeAgent(Struct, frozen=True):
    """A working copy before an agent runs in it."""

    git_state: GitState
    files: FilesBefore


def read_before(context: RunContext, baseline: Baseline) -> BeforeAgent:
    """Read the state of git, and what is below a working copy, without starting git."""
    return BeforeAgent(git_leftovers.read_state(context.folder), files_before(context, baseline))


def files_before(context: RunContext, baseline: Baseline) -> FilesBefore:
    """Find nested repositories, and the files that programs of the user run later, without starting git."""
    walked = walk(context.folder)
    nested = nested_repositories.read(context.folder, baseline.metadata.folder, walked.repositories)
    return FilesBefore(nested, walked.startup, walked.closed)


async def restore(context: RunContext, before: Snapshot, baseline: Baseline, state_before: BeforeAgent) -> LeftByAgent:
    """Restore git after an agent and take a snapshot of its work.

    A failure is part of the result: the agent has been paid, and another one would cost as much and fail too.
    """
    try:
        try:
            return await _restore_and_look(context, before, baseline, state_before)
        except GitError:
            if not git_metadata.restore_while_agents_work(context.folder, context.progress_folder):
                raise
            return await _restore_and_look(context, before, baseline, state_before)  # another agent had destroyed them
    except (GitError, DiskError, OSError) as error:
        if not discard_broken(context) and not isinstance(error, GitError):
            raise
        return LeftByAgent(fault=f"git cannot be used after it: {getattr(error, 'message', error)}")


async def _restore_and_look(
    context: RunContext, before: Snapshot, baseline: Baseline, state_before: BeforeAgent
) -> LeftByAgent:
    with git_links.one_look():
        links = baseline.restore_links()
        special = remove_special_files(context)
    outside = programs_outside.restore(context, before.name)  # before git, which would run them
    left = await _restore_git(context, before, baseline, state_before)
    cleared = await marks.set_again(
        context.git, await marks.load(context.git, before.marks) or Marks(), before.index_tree
    )
    after = await snapshot.take(context.git, name=f"{before.name}-after", why="after an iteration", since=before)
    after = await untracked_files.add_hidden(context, after) if after.name != before.name else after
    what = "its mark (skip-worktree or assume-unchanged) was removed; it was set again"
    unmarked = (FileReport(name, what) for name in cleared[:SHOWN_FILES])
    changes = (*links, *special, *outside, *left.changes, *unmarked, *report_forged(context))
    return replace(left, after=after, changes=changes)


async def _restore_git(
    context: RunContext, before: Snapshot, baseline: Baseline, state_before: BeforeAgent
) -> LeftByAgent:
    """Restore git's own files, the branch and the refs after an agent; its changes to the tree stay."""
    git_after = read_git(context, baseline)
    if baseline.metadata.folder is not None and not baseline.metadata.folder.is_dir():
        raise _git_deleted(context)  # its settings alone would make no repository
    restored, startup = await restore_control_files(context, baseline, git_after, state_before.files)
    startup_files.note_found(context, before.name, startup)
    for name in await stale_git_locks.clear(context.folder):
        context.say(f"removed .git/{name}, which a git process of the agent had left")
    leftovers = await git_leftovers.undo(context.git, state_before.git_state)
    if git_after.folder is None:
        raise _git_deleted(context)
    changes = [*_describe_leftovers(leftovers), *restored]
    changes += await branch.make_plain(context, before.head) if context.worker is None else []
    has_left = await branch.keep_branch(context, head=before.head)
    if has_left:
        git_after = read_git(context, baseline)
    changes += [*await restore_changed_refs(context, baseline, git_after), *await _restore_snapshot(context, before)]
    return LeftByAgent(None, tuple(changes), has_left, leftovers.conflicts)


async def restore_changed_refs(context: RunContext, baseline: Baseline, now: GitMetadata) -> list[FileReport]:
    """Restore branches, tags and reflogs after an agent or a check; report what was changed."""
    reports = []
    if (now.refs, now.shadows) != (baseline.metadata.refs, baseline.metadata.shadows):
        reports += await restore_refs(
            context.git,
            baseline.metadata,
            now,
            context.came_from,
            own=run_branch(context.run),
            is_resting=lambda name: _is_resting(context, name),
        )
        baseline.accept_refs(now, read_git(context, baseline))
    return [*reports, *git_metadata.restore_logs(baseline.metadata, now)]


def _is_resting(context: RunContext, branch: str) -> bool:
    """Return whether a branch is of another run of this repository that no driver works on."""
    runs = context.run_folder.parent
    names = os.listdir(runs) if runs.is_dir() else []
    found = next((name for name in names if f"bridle/{name.lower()}" == branch), None)
    return found is not None and find_driver(runs / found) is None


async def _restore_snapshot(context: RunContext, before: Snapshot) -> list[FileReport]:
    """Restore the ref of the snapshot before an agent, which the result names; or report that it is gone."""
    if await context.git.object(before.ref) is not None:
        return []
    code, _ = await context.git.run("update-ref", "--no-deref", before.ref, before.commit, accepts=(0, 1, 128))
    return [FileReport(before.ref, f"it was deleted; {'it was restored' if code == 0 else 'its objects are gone'}")]


def _git_deleted(context: RunContext) -> GitError:
    return GitError(
        f"the agent deleted .git in {context.folder}",
        remedy=f"Restore it from a backup, then run: bridle resume {context.run}. The agent's log has the command.",
    )


def commits_deleted(context: RunContext) -> GitError:
    """Return the error for a repository without the commits that it had when the run began."""
    return GitError(
        f"the commits in {context.folder}/.git were deleted",
        remedy=f"Restore .git from a backup, then run: bridle resume {context.run}. The agent's log has the command.",
    )


async def restore_control_files(
    context: RunContext, baseline: Baseline, now: GitMetadata, before: FilesBefore, *, is_last: bool = True
) -> tuple[list[FileReport], tuple[str, ...]]:
    """Restore what git obeys before anything else: the next git would run what an agent or a check wrote.

    The same walk finds the files that programs of the user run later; their names are returned too. `is_last`: files
    that worktrees share are restored too.
    """
    reports = git_metadata.restore_files(baseline.metadata, now) if is_last else []
    if now.folder is None:
        return reports, ()
    reports += _restore_folders(context)
    hide_own_folders(context)
    walked = walk(context.folder, before=before.closed)
    what = "this folder could not be listed or entered, which hides files from git, and was opened"
    reports += git_metadata.shorten([FileReport(name, what) for name in walked.opened], ".")
    reports += await nested_repositories.restore(context.git, now.folder, before.nested, walked.repositories)
    reports += await nested_repositories.make_linked_harmless(context.git, baseline.metadata, now)
    return reports, walked.startup


def read_git(context: RunContext, baseline: Baseline) -> GitMetadata:
    """Read git's own files where they were before."""
    return git_metadata.read_metadata(context.folder, context.progress_folder, place=baseline.metadata.folder)


def remove_special_files(context: RunContext, *, is_known: bool = False) -> list[FileReport]:
    """Remove named pipes and devices that git would read, before git starts; report also those that blocked it.

    `is_known`: none is there, since only Bridle has worked in the repository after the last call.
    """
    context.git.removes_blocking = True
    names = [*([] if is_known else special_files.clear_git_folder(context.folder)), *context.git.blocking]
    context.git.blocking.clear()
    return [FileReport(name, "it was a named pipe or a device, which blocks git, and was removed") for name in names]


def report_forged(context: RunContext) -> list[FileReport]:
    """Report objects that looked like those of files or folders and had other content."""
    names = sorted(set(context.git.forged.values()))
    context.git.forged.clear()
    return [
        FileReport(name, "an object in .git/objects had its id and other content; it was removed and written again")
        for name in names[:SHOWN_FILES]
    ]


def unresolved(context: RunContext, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of these files that still have conflict markers."""
    return tuple(name for name in dict.fromkeys(names) if git_leftovers.has_conflict_markers(context.folder / name))


def _describe_leftovers(leftovers: Leftovers) -> list[FileReport]:
    reports = [
        FileReport(".git", f"an unfinished {name} was ended; the files stayed as they were")
        for name in leftovers.operations
    ]
    reports += [
        FileReport(name, "it had merge conflicts in git's index, which were removed; the file stayed as it was")
        for name in leftovers.conflicts[:SHOWN_FILES]
    ]
    reports += [
        FileReport(name, "it was marked as unchanged (skip-worktree or assume-unchanged); the mark was removed")
        for name in leftovers.marked[:SHOWN_FILES]
    ]
    return reports + [
        FileReport(name if name == ".git" else f".git/{name}", "git could not read it; it was restored")
        for name in leftovers.replaced
    ]


def _restore_folders(context: RunContext) -> list[FileReport]:
    """Remove what an agent has put where Bridle's own folders belong."""
    reports = []
    for name in OUR_FOLDERS:
        path = context.workspace / name
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
            path.unlink()
            reports.append(FileReport(name, "this folder of Bridle had been replaced by a file, which was removed"))
    return reports


@contextmanager
def agent_at_work(context: RunContext, *, is_known: bool = False) -> Iterator[Baseline]:
    """Read git's own files before an agent starts, and yield those to which they are restored after it.

    `is_known`: only Bridle has worked in the working copy since they were restored.
    """
    folders = context.folder, context.progress_folder
    with git_metadata.agent_at_work(*folders, is_known=is_known and context.worker is None) as baseline:
        if baseline.metadata.folder is None:
            raise GitError(
                f"{context.folder} is not a git repository any more",
                remedy=f"Restore its .git folder, then run: bridle resume {context.run}",
            )
        yield baseline
