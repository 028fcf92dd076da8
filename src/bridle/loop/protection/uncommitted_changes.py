"""The user's uncommitted changes of tracked files, with `--allow-dirty`: put aside while the run works, then restored.

They are restored whenever a driver leaves no unfinished work in these files, and put aside again when the next one
begins. So no commit of a task contains them. Untracked files stay where they are.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

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
from bridle.workspace.restore import restore_files, stage
from bridle.workspace.snapshot import Snapshot

# Names in one line for the user.
SHOWN = 5


@dataclass(frozen=True)
class _Changes:
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


async def put_aside_again(context: RunContext) -> None:
    """Put changes aside that were restored when the last driver ended; there was no unfinished work beside them."""
    state = put_aside_note.find(context.run_folder)
    if state is not None and state.is_moving:
        await _finish(context, state)
    elif state is not None and state.is_restored:
        await _put_aside(context, state.number + 1)


async def restore(context: RunContext) -> None:
    """Restore the user's changes, if the run has no unfinished work in tracked files, and nothing conflicts."""
    git, state = context.git, put_aside_note.find(context.run_folder)
    if state is None or state.is_restored or state.is_moving:
        return
    saved = await snapshot.find(git, state.name(context.run))
    exact = await snapshot.find(git, _exact_name(context.run, state.number))
    if saved is None or exact is None or saved.head is None:
        return
    where = f"they are put aside: git stash apply --index {saved.ref}"
    is_there = await git.branch() == run_branch(context.run) or await git.head() == saved.head
    if not is_there or left_state.unfinished_operations(context.folder):
        context.say(f"your uncommitted changes are not restored, because the run's branch is not checked out; {where}")
        return
    now = await _find_changes(context)
    if now.paths:
        context.say(f"your uncommitted changes are restored when the run has no unfinished work; until then {where}")
        return
    merged = await merge_changes(git, await git.tree_of(now.head), await git.tree_of(saved.head), saved.tree)
    if isinstance(merged, Conflicts):
        names = _names(merged.paths)
        context.say(f"your uncommitted changes conflict with commits of the run in {names}, so {where}")
        return
    put_aside_note.write(context.run_folder, PutAside(state.number, is_moving=True))
    await _restore(git, saved, exact, merged, now.head)
    put_aside_note.write(context.run_folder, PutAside(state.number, is_restored=True))
    await snapshot.drop(git, saved)
    context.say("your uncommitted changes are in the files again")


async def _restore(git: Git, saved: Snapshot, exact: Snapshot, merged: str, head: str) -> None:
    """Write the user's files byte for byte, or merged with commits of the run; stage what was staged."""
    before = await git.tree_of(saved.head or head)
    users = await snapshot.changes(git, before, saved.tree)
    combined = set(await snapshot.changes(git, merged, saved.tree))
    tree = await overlay(git, await snapshot.tree_of_all(git), merged, [name for name in users if name in combined])
    tree = await overlay(git, tree, exact.tree, [name for name in users if name not in combined])
    await restore_files(git, tree)
    index = await merge_changes(git, await git.tree_of(head), before, exact.index_tree)
    if isinstance(index, str):
        await stage(git, index)


async def _find_changes(context: RunContext) -> _Changes:
    """Find the changes since HEAD in tracked files; those that the user hides by a mark are none."""
    git = context.git
    head = await git.head() or context.base
    others = tuple(sorted(await baseline.untracked_files(context)))
    tree = await tree_without(git, await snapshot.tree_of_all(git, as_committed=True), others)
    tree = await overlay(git, tree, head, await baseline.local_changes(context))
    return _Changes(head, tree, await snapshot.changes(git, head, tree))


async def _put_aside(context: RunContext, number: int) -> None:
    git, changes = context.git, await _find_changes(context)
    if not changes.paths and await snapshot.staged_tree(git) == await git.tree_of(changes.head):
        put_aside_note.remove(context.run_folder)
        return
    exact = await snapshot.take(git, name=_exact_name(context.run, number), why="with uncommitted changes")
    name = PutAside(number).name(context.run)
    # As `git stash` writes them.
    await snapshot.write(
        git, name, tree=changes.tree, index_tree=exact.index_tree, head=changes.head, why="uncommitted changes"
    )
    put_aside_note.write(context.run_folder, PutAside(number, is_moving=True))
    await _reset(git, exact, changes.head, changes.paths)
    put_aside_note.write(context.run_folder, PutAside(number))
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
    await _reset(git, now, head, await snapshot.changes(git, await git.tree_of(saved.head), saved.tree))
    put_aside_note.write(context.run_folder, PutAside(state.number))


async def _reset(git: Git, now: Snapshot, head: str, paths: list[str]) -> None:
    """Make these files, and the index, those of a commit; a checkout converts them as the repository says."""
    await restore_files(git, await overlay(git, now.tree, head, paths))
    await stage(git, await git.tree_of(head))
    wanted, lines = {*paths}, await git.names("ls-tree", "-r", "-z", "--full-tree", head)
    entries = [line.partition("\t") for line in lines]
    files = [name for facts, _, name in entries if name in wanted and " blob " in facts]
    if files:
        listed = b"".join(os.fsencode(name) + b"\0" for name in files)
        await git.run("checkout-index", "--force", "--quiet", "-z", "--stdin", stdin=listed)
    await git.run("update-index", "-q", "--refresh", accepts=(0, 1))


def _exact_name(run: str, number: int) -> str:
    return f"{run.lower()}-aside-{number}"


def _names(paths: list[str] | tuple[str, ...]) -> str:
    more = len(paths) - SHOWN
    return ", ".join(paths[:SHOWN]) + (f" and {more} more" if more > 0 else "")
