"""The user's uncommitted changes of tracked files, with `--allow-dirty`: put aside while the run works, then restored.

They are restored whenever a driver leaves no unfinished work in these files, and put aside again when the next one
begins. So no commit of a task contains them. Untracked files stay where they are.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.errors import UsageError
from bridle.loop.protection import baseline
from bridle.loop.working_copy import left_state
from bridle.loop.working_copy import put_aside as put_aside_note
from bridle.loop.working_copy.put_aside import PutAside
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.git import Git
from bridle.workspace.merge import Conflicts, merge_changes, overlay
from bridle.workspace.partial_tree import tree_without
from bridle.workspace.restore import stage
from bridle.workspace.restore_paths import find_in_the_way, folders_above, is_file, restore_paths
from bridle.workspace.snapshot import Snapshot

# Names in one line for the user.
SHOWN = 5

Undo = Callable[[], Awaitable[None]]


class _Changes(Struct, frozen=True):
    head: str
    tree: str
    """All tracked files, as a commit would contain them."""
    paths: list[str]


async def put_aside(context: RunContext) -> None:
    """Put the user's uncommitted changes aside before a run begins: the files are those of HEAD then."""
    if not context.settings.allow_dirty or context.repository is not None:
        return
    if put_aside_note.find(context.run_folder) is not None:
        await put_aside_again(context)
    else:
        await _put_aside(context, 1)


async def put_aside_again(context: RunContext) -> Undo:
    """Put changes aside that were restored when the last driver ended; there was no unfinished work beside them.

    The caller gets a function that restores them, for a driver that cannot begin.
    """
    state = put_aside_note.find(context.run_folder)
    if state is None:
        return _do_nothing
    if not state.is_moving and not state.is_restored:
        return await _put_applied_aside(context, state)
    if state.is_moving:
        await _finish(context, state)
    else:
        await _put_aside(context, state.number + 1)
    return partial(restore, context)


async def _do_nothing() -> None:
    """Restore nothing, because nothing was put aside."""


async def restore(context: RunContext, *, has_ended: bool = False) -> None:
    """Restore the user's changes, if the run has no unfinished work in tracked files, and nothing conflicts.

    `has_ended`: no driver begins again, so also finish what a killed one had begun to restore.
    """
    git, state = context.git, put_aside_note.find(context.run_folder)
    if state is None or state.is_restored or (state.is_moving and not has_ended):
        return
    saved = await snapshot.find(git, state.name(context.run))
    exact = await snapshot.find(git, _exact_name(context.run, state.number))
    if saved is None or exact is None or saved.head is None:
        return
    where = f"they are put aside: git stash apply --index {saved.ref} (byte for byte in {exact.ref})"
    is_there = await git.branch() == run_branch(context.run) or await git.head() in (saved.head, context.base)
    if not is_there or left_state.unfinished_operations(context.folder):
        context.say(f"your uncommitted changes are not restored, because the run's branch is not checked out; {where}")
        return
    now, start = await _find_changes(context), baseline.find(context)
    if not state.is_moving and not {*now.paths} <= {
        *(start.local if start is not None else ())
    }:  # submodules stay at the user's commit
        context.say(f"your uncommitted changes are restored when the run has no unfinished work; until then {where}")
        return
    wanted = await _merge(git, saved, exact, now.head)
    if isinstance(wanted, Conflicts):
        names = _names(wanted.paths)
        context.say(f"your uncommitted changes conflict with commits of the run in {names}, so {where}")
        return
    if state.is_moving:
        wanted = await _still_missing(git, wanted, now.head)
    others = await _find_others(git, wanted, now.head)
    if others:
        context.say(f"your uncommitted changes are not restored, because of other files ({_names(others)}); {where}")
        return
    put_aside_note.write(context.run_folder, replace(state, is_moving=True))
    missing = await _restore(git, wanted, state.modes, state.intended)
    put_aside_note.write(context.run_folder, PutAside(state.number, is_restored=True))
    if missing:
        context.say(f"not all of your uncommitted changes are restored ({_names(missing)} differ); {where}")
    elif wanted.index is None:
        context.say(f"your uncommitted changes are in the files again, but what was staged is not; {where}")
    else:
        await snapshot.drop(git, saved)
        context.say("your uncommitted changes are in the files again")


class _Wanted(Struct, frozen=True):
    """The files and the index with the user's changes, on the commits of the run."""

    paths: list[str]
    tree: str
    """The user's files byte for byte, or merged with commits of the run."""
    index: str | None
    """None if what was staged conflicts with commits of the run."""


async def _merge(git: Git, saved: Snapshot, exact: Snapshot, head: str) -> _Wanted | Conflicts:
    before, after = await git.tree_of(saved.head or head), await git.tree_of(head)
    merged = await _merge_in_place(git, after, before, saved.tree)
    if isinstance(merged, Conflicts):
        return merged
    users = await snapshot.changes(git, before, saved.tree)
    combined = set(await snapshot.changes(git, merged, saved.tree))
    tree = await overlay(git, exact.tree, merged, [name for name in users if name in combined])
    index = await _merge_in_place(git, after, before, exact.index_tree)
    return _Wanted(users, tree, None if isinstance(index, Conflicts) else index)


async def _still_missing(git: Git, wanted: _Wanted, head: str) -> _Wanted:
    """Leave out files that are restored, or that the user changed since Bridle was killed: they are not HEAD's."""
    files, staged = await snapshot.tree_of_all(git, as_committed=True), await snapshot.staged_tree(git)
    changed = {*await snapshot.changes(git, head, files)}
    index = wanted.index if staged == await git.tree_of(head) else staged
    return _Wanted([path for path in wanted.paths if path not in changed], wanted.tree, index)


async def _merge_in_place(git: Git, tree: str, before: str, after: str) -> str | Conflicts:
    """Merge changes; those of a file that has another name in `tree`, or is not in it, conflict."""
    merged = await merge_changes(git, tree, before, after)
    if isinstance(merged, Conflicts):
        return merged
    users = await snapshot.changes(git, before, after)
    words = ("diff", "--name-only", "--no-renames", "-z", "--diff-filter=ADT", merged, after)
    moved = {*await git.names(*words)}.intersection(users)
    moved |= {*await snapshot.changes(git, tree, merged)}.difference(users)
    return Conflicts(tuple(sorted(moved)), "") if moved else merged


async def _find_others(git: Git, wanted: _Wanted, head: str) -> list[str]:
    """Return files in the place of the user's that belong neither to the user's changes nor to a commit."""
    found = {name for others in (await find_in_the_way(git, wanted.tree, wanted.paths)).values() for name in others}
    committed = {*await git.names("ls-tree", "-r", "-z", "--name-only", "--full-tree", head)}
    found |= {name for name in wanted.paths if name not in committed and is_file(git.folder, name)}
    return sorted(found)


async def _restore(git: Git, wanted: _Wanted, modes: Mapping[str, int], intended: Sequence[str]) -> list[str]:
    """Write the user's files, and stage what was staged; return the files that are not so afterwards."""
    missing = await restore_paths(git, wanted.tree, wanted.paths)
    _set_modes(git.folder, modes)
    if wanted.index is not None:
        await stage(git, wanted.index)
        await _mark_intended(git, intended)
    return missing


async def _find_intended(git: Git) -> tuple[str, ...]:
    """Return the files that the user marked with `git add -N`: added, but without content in the index."""
    return tuple(await git.names("diff-files", "--name-only", "--diff-filter=A", "-z"))


async def _mark_intended(git: Git, names: Sequence[str]) -> None:
    stdin = b"".join(b":(top,literal)" + os.fsencode(name) + b"\0" for name in names if is_file(git.folder, name))
    if stdin:
        words = ("add", "--intent-to-add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul")
        await git.run(*words, stdin=stdin)


async def _find_changes(context: RunContext) -> _Changes:
    """Find the changes since HEAD in tracked files; those that the user hides by a mark are none."""
    git = context.git
    head = await git.head() or context.base
    committed = await git.names("ls-tree", "-r", "-z", "--name-only", "--full-tree", head)
    others = _without_swapped(await baseline.untracked_files(context), committed)
    tree = await tree_without(git, await snapshot.tree_of_all(git, as_committed=True), tuple(sorted(others)))
    tree = await overlay(git, tree, head, await baseline.local_changes(context))
    return _Changes(head, tree, await snapshot.changes(git, head, tree))


def _without_swapped(untracked: list[str], committed: list[str]) -> list[str]:
    """Leave out untracked files in place of a committed folder, or in a folder in place of a committed file."""
    files = frozenset(committed)
    folders = {above for name in committed for above in folders_above(name)}
    return [name for name in untracked if name not in folders and files.isdisjoint(folders_above(name))]


async def _put_aside(context: RunContext, number: int) -> None:
    git, changes = context.git, await _find_changes(context)
    if not changes.paths and await snapshot.staged_tree(git) == await git.tree_of(changes.head):
        put_aside_note.remove(context.run_folder)
        return
    for path, others in (await find_in_the_way(git, changes.head, changes.paths)).items():
        raise UsageError(
            f"your uncommitted changes cannot be put aside: {_names(others)} is in the place of {path}",
            remedy=f"Commit your changes, or move {_names(others)} elsewhere.",
        )
    exact = await snapshot.take(git, name=_exact_name(context.run, number), why="with uncommitted changes")
    state = PutAside(
        number, modes=_read_modes(context.folder, changes.paths), intended=await _find_intended(context.git)
    )
    name = state.name(context.run)
    # As `git stash` writes them.
    await snapshot.write(
        git,
        name,
        tree=changes.tree,
        index_tree=exact.index_tree,
        head=changes.head,
        marked="",
        why="uncommitted changes",
    )
    put_aside_note.write(context.run_folder, replace(state, is_moving=True))
    await _reset(git, changes.head, changes.paths, await git.tree_of(changes.head))
    put_aside_note.write(context.run_folder, state)
    context.say(f"your uncommitted changes ({_names(changes.paths)}) are put aside as {snapshot.REFS}{name}")


async def _finish(context: RunContext, state: PutAside) -> None:
    """Put the same changes aside that a killed driver had begun to put aside or to restore."""
    git = context.git
    saved = await snapshot.find(git, state.name(context.run))
    if saved is None or saved.head is None:
        return
    now = await snapshot.take(git, name=f"{_exact_name(context.run, state.number)}-again", why="put aside again")
    context.say(f"Bridle was killed while it moved your uncommitted changes; the files as they were are {now.ref}")
    head = await git.head() or saved.head
    paths = await snapshot.changes(git, await git.tree_of(saved.head), saved.tree)
    await _reset(git, head, paths, await git.tree_of(head))
    put_aside_note.write(context.run_folder, replace(state, is_moving=False))


async def _put_applied_aside(context: RunContext, state: PutAside) -> Undo:
    """Put changes aside again that the user has applied beside unfinished work of the run."""
    git = context.git
    saved = await snapshot.find(git, state.name(context.run))
    head = await git.head()
    if saved is None or saved.head is None or head is None:
        return _do_nothing
    before, tree = await git.tree_of(saved.head), await git.tree_of(head)
    merged = await _merge_in_place(git, tree, before, saved.tree)
    if isinstance(merged, Conflicts):
        return _do_nothing
    users = {*await snapshot.changes(git, tree, merged)}
    now = await snapshot.tree_of_all(git, as_committed=True)
    applied = sorted(users.difference(await snapshot.changes(git, now, merged)))
    if not applied:
        return _do_nothing
    kept = await snapshot.take(git, name=f"{_exact_name(context.run, state.number)}-applied", why="put aside again")
    modes, intended = _read_modes(git.folder, applied), await _find_intended(git)
    await _reset(git, head, applied, await overlay(git, kept.index_tree, tree, applied))
    await _mark_intended(git, intended)
    context.say(
        f"your uncommitted changes ({_names(applied)}) are put aside again as {saved.ref}; "
        f"the files as they were are {kept.ref}"
    )

    async def apply_again() -> None:
        if await git.head() == head:
            await _restore(git, _Wanted(applied, kept.tree, kept.index_tree), modes, intended)
            context.say(f"your uncommitted changes ({_names(applied)}) are in the files again")

    return apply_again


async def _reset(git: Git, head: str, paths: list[str], index: str) -> None:
    """Make these files those of a commit; a checkout converts them as the repository says. Then stage a tree."""
    modes = _read_modes(git.folder, paths)
    await restore_paths(git, head, paths, as_committed=True)
    await stage(git, index)
    _set_modes(git.folder, modes)
    await git.run("update-index", "-q", "--refresh", accepts=(0, 1))


def _read_modes(folder: Path, paths: list[str]) -> dict[str, int]:
    """Return the permissions of these files, of which git keeps only whether they may be executed."""
    files = ((name, (folder / name).lstat().st_mode) for name in paths if is_file(folder, name))
    return {name: stat.S_IMODE(mode) for name, mode in files if stat.S_ISREG(mode)}


def _set_modes(folder: Path, modes: Mapping[str, int]) -> None:
    for name, mode in modes.items():
        if is_file(folder, name) and stat.S_ISREG(now := (folder / name).lstat().st_mode):
            may_execute = mode & 0o111 if mode & stat.S_IXUSR else now & 0o111
            (folder / name).chmod(mode & ~0o111 | (may_execute if now & stat.S_IXUSR else 0))


def _exact_name(run: str, number: int) -> str:
    return f"{run.lower()}-aside-{number}"


def _names(paths: list[str] | tuple[str, ...]) -> str:
    more = len(paths) - SHOWN
    return ", ".join(paths[:SHOWN]) + (f" and {more} more" if more > 0 else "")
