"""What the user changed in the worktrees of a parallel run while no driver ran: found, and put where it goes.

Commits, and edits of files that no unfinished task has changed, are merged into the run's branch, from which all
workers continue. Edits of files that a task has changed stay in its copy, as a part of its work. New files stay where
they are, in no commit. A snapshot keeps what cannot be merged. Each step can be repeated.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec
from msgspec import Struct, field

from bridle.ground.git_folder import git_folder
from bridle.journal.stores.store import Store
from bridle.loop import effects
from bridle.loop.adoption import lost_commits, recorded_programs, run_commits
from bridle.loop.adoption.later_files import is_later, tree_without_later
from bridle.loop.adoption.unfinished_operations import refuse_unfinished
from bridle.loop.checks import fixed_tree
from bridle.loop.effect_results import MovedCopy
from bridle.loop.performers.work import snapshot_name
from bridle.loop.process.receipt import Receipt, WorkerCopy
from bridle.loop.protection import baseline
from bridle.loop.working_copy import left_state
from bridle.loop.working_copy.hide_own_folders import hide_own_folders
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import check_out, is_complete, read_note, worker_context, write_note
from bridle.workspace import partial_tree, snapshot
from bridle.workspace.commit import is_ancestor, write_commit
from bridle.workspace.merge import Conflicts, carry, merged_tree, overlay
from bridle.workspace.repair.lost_objects import is_readable
from bridle.workspace.snapshot import Snapshot

# Names in one line for the user.
SHOWN = 10


class FoundCopy(Struct, frozen=True):
    """A worktree as a driver finds it."""

    context: RunContext
    copy: WorkerCopy
    """As the process knows it."""
    now: Snapshot
    before: str
    """The tree without the user's changes."""
    head: str
    """The commit that the user has checked out, or the one that the process knows."""
    edited: tuple[str, ...]
    """Files with uncommitted changes of the user, for the branch."""
    of_task: tuple[str, ...]
    """Edited files that a task has changed too: they stay with its work."""
    added: tuple[str, ...]
    """New files of the user that git does not track."""

    @property
    def is_changed(self) -> bool:
        return bool(self.edited or self.of_task or self.added) or self.head != self.copy.head

    @property
    def where(self) -> str:
        return f"in {self.context.folder}"


class FoundCopies(Struct):
    """The worktrees of all workers, and what was found there."""

    copies: list[FoundCopy] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    taken: dict[int, str] = field(default_factory=dict)
    """The commits with the changes of each worktree, which are on the run's branch now."""
    restored: list[MovedCopy] = field(default_factory=list)
    """Copies whose commit git has lost."""


async def collect(
    own: RunContext, store: Store, receipt: Receipt, *, number: int, ended_at: float | None
) -> FoundCopies:
    """Find what the user changed in all worktrees, and merge it into the run's branch."""
    found = FoundCopies()
    if own.settings.parallel == 1:
        return found
    tip = await own.git.head() or receipt.tip
    mine = await _look(own, WorkerCopy(number=0, head=tip), store, number, ended_at)
    for copy in receipt.copies:
        context = worker_context(own, copy.number)
        if not is_complete(context.folder):
            continue
        hide_own_folders(context)
        head = await context.git.head()
        if head is not None and not await is_readable(context.git, head):
            found.restored.append(await _restore_lost(context, copy, store, number, tip, found))
        else:
            found.copies.append(await _look(context, copy, store, number, ended_at))
    start, tip = tip, await _commit_edits(mine, found)
    for each in found.copies:
        tip = await _merge(own, each, tip, found)
        _leave_new_files(each, found)
    _leave_new_files(mine, found)
    if tip != start:
        await _move_branch(own, mine, start, tip, found)
    return found


async def _restore_lost(
    context: RunContext, copy: WorkerCopy, store: Store, number: int, target: str, found: FoundCopies
) -> MovedCopy:
    """Check out a complete commit in a copy whose commit git has lost; its files are saved first."""
    git, lost = context.git, await context.git.head() or copy.head
    await git.run("update-ref", "--no-deref", "-m", f"bridle: git has lost {lost}", "HEAD", target)
    saved = await lost_commits.save_files(context, target, number)
    await git.run("reset", "--quiet", "--hard", target)
    tree = await git.tree_of(target)
    for name in dict.fromkeys([*copy.snapshots, *pending_snapshots(context, store)]):
        await snapshot.write(git, name, tree=tree, index_tree=tree, head=target, marked="", why="after lost commits")
    found.lines.append(
        f"git has lost the commit {lost[:12]} of {context.folder}, which is at {target[:12]} again; the files as they"
        f" were are kept as {saved.ref}"
    )
    return MovedCopy(worker=copy.number, before=copy.head, head=target, tree=tree)


async def _look(context: RunContext, copy: WorkerCopy, store: Store, number: int, ended_at: float | None) -> FoundCopy:
    """Compare a worktree with what the last driver left there."""
    git, left = context.git, left_state.find(context, store)
    await refuse_unfinished(context, left, ended_at)
    was = await snapshot.find(git, left.snapshot) if left is not None else None
    suffix = "" if context.worker is None else f"-{context.worker}"
    name = f"{context.run.lower()}-found-{number}{suffix}"
    now = await snapshot.take(git, name=name, why="when a driver began", since=was)
    if was is not None:
        before, head = was.tree, now.head if now.head != was.head else copy.head
    else:
        names = [*copy.snapshots, *pending_snapshots(context, store)]
        before = await tree_without_later(context, now, names, copy.head, ended_at)
        head = await _head_of_user(context, copy.head, now, ended_at)
    head = head or copy.head
    uncommitted = set(await snapshot.changes(git, before, now.tree)) if before != now.tree else set()
    if uncommitted and now.head is not None:
        uncommitted &= set(await snapshot.changes(git, now.head, now.tree))
    others = set(await baseline.untracked_files(context)) if uncommitted else set()
    known = set(await git.names("ls-tree", "-r", "-z", "--name-only", "--full-tree", before)) if others else set()
    added = uncommitted & (others - known)
    work = set(await snapshot.changes(git, copy.head, before)) if copy.task is not None and uncommitted else set()
    found = FoundCopy(
        context,
        copy,
        now,
        before,
        head,
        edited=tuple(sorted(uncommitted - added - work)),
        of_task=tuple(sorted((uncommitted - added) & work)),
        added=tuple(sorted(added)),
    )
    if not found.is_changed and now.name == name:
        await snapshot.drop(git, now)
    return found


async def _head_of_user(context: RunContext, known: str, now: Snapshot, ended_at: float | None) -> str | None:
    """Return the commit that the user has checked out after a driver was killed; the known one if an agent has."""
    own = git_folder(context.folder)
    if now.head in (None, known) or own is None or ended_at is None or await run_commits.is_of_run(context, now.head):
        return known
    return now.head if is_later(Path(own, "HEAD"), ended_at) else known


async def _commit_edits(each: FoundCopy, found: FoundCopies) -> str:
    """Commit what the user edited, on top of what the user committed; return the commit."""
    git, head = each.context.git, each.head
    if not each.edited:
        return head
    tree = await overlay(git, await git.tree_of(head), each.now.tree, each.edited)
    commit = await write_commit(git, tree, [head], f"Changes of the user in {each.context.folder.name}\n")
    branch = run_branch(each.context.run)
    found.lines.append(f"you changed {names(each.edited)} {each.where}: committed as {commit[:12]} for {branch}")
    return commit


async def _merge(own: RunContext, each: FoundCopy, tip: str, found: FoundCopies) -> str:
    """Merge what the user changed in a worker's copy into the newest commit; return the newest commit then."""
    git, context = own.git, each.context
    if each.of_task:
        line = f"you changed {names(each.of_task)} {each.where}: this is checked and committed with {each.copy.task!r}"
        found.lines.append(line)
    commit = await _commit_edits(each, found) if each.is_changed else each.head
    if (each.head == each.copy.head and not each.edited) or await is_ancestor(git, commit, tip):
        found.taken[each.copy.number] = commit
        return tip
    if await is_ancestor(git, tip, commit):
        found.taken[each.copy.number] = commit
        return commit
    merged = await merged_tree(git, tip, commit)
    if isinstance(merged, Conflicts):
        del found.lines[len(found.lines) - bool(each.edited) :]
        stays = f", and stay with {each.copy.task!r}" if each.copy.task is not None else ""
        found.lines.append(
            f"your changes {each.where} conflict with {run_branch(context.run)} in {names(merged.paths)}: they are kept"
            f" as {each.now.ref}{stays}"
        )
        return tip
    found.taken[each.copy.number] = commit
    return await write_commit(git, merged, [tip, commit], f"Merge changes of the user in {context.folder.name}\n")


def _leave_new_files(each: FoundCopy, found: FoundCopies) -> None:
    """Note new files of the user as not part of any task's work."""
    if not each.added:
        return
    note = read_note(each.context.folder)
    made = tuple(sorted({*note.made, *each.added}))
    write_note(each.context.folder, msgspec.structs.replace(note, made=made))
    if each.copy.number:
        line = f"you added {names(each.added)} {each.where}: left alone, and in no commit, unless you `git add` them"
        found.lines.append(line)


async def _move_branch(own: RunContext, mine: FoundCopy, start: str, tip: str, found: FoundCopies) -> None:
    """Move the run's branch and its own copy to a commit that has what the user changed there."""
    git = own.git
    below = mine.head
    if mine.edited:
        first = await git.text("rev-list", "--first-parent", "--reverse", f"{start}..{tip}")
        below = first.split("\n", 1)[0]
        await git.run("reset", "--quiet", "--mixed", below)
    if (await git.run("reset", "--quiet", "--keep", tip, accepts=(0, 1, 128)))[0] != 0:
        saved = await snapshot.take(git, name=f"{own.run.lower()}-copy-{tip}", why="files in the way")
        found.lines.append(f"files {mine.where} are in the way of {tip[:12]}; they are kept as {saved.ref}")
        await git.run("reset", "--quiet", "--hard", tip)


async def move_copies(found: FoundCopies, store: Store, tip: str, *, ended_at: float | None) -> list[MovedCopy]:
    """Bring copies with unfinished work to the newest commit; snapshots that may be restored get the user's changes."""
    moved = list(found.restored)
    for each in found.copies:
        if each.copy.task is None:
            continue
        place = await _move(each, found.taken.get(each.copy.number), tip)
        paths = await _carry(each, store, place)
        carry_recorded(each, store, paths, ended_at=ended_at)
        if place is not None:
            moved.append(place)
    return moved


async def _move(each: FoundCopy, taken: str | None, tip: str) -> MovedCopy | None:
    """Check out the newest commit with a task's work; return where the copy is then, None where it stays."""
    context, copy, git = each.context, each.copy, each.context.git
    files = await partial_tree.tree_without(git, each.now.tree, each.added)
    stays = MovedCopy(worker=copy.number, before=copy.head, head=each.head, tree=files)
    if taken is None or each.now.head != each.head or (tip == each.head and not each.edited):
        return stays if each.head != copy.head else None
    work = await snapshot.commit_tree(git, files, [taken], "work of a task")
    merged = await merged_tree(git, tip, work)
    if isinstance(merged, Conflicts):  # its commit is rejected by the merge queue, and its agent gets both
        return stays if each.head != copy.head else None
    await check_out(context, tip, merged)
    return MovedCopy(worker=copy.number, before=copy.head, head=tip, tree=merged)


def carry_recorded(each: FoundCopy, store: Store, paths: Collection[str], *, ended_at: float | None) -> None:
    """Record files again that the user changed, where an interrupted iteration in a copy has recorded them."""
    names = [*each.copy.snapshots, *pending_snapshots(each.context, store)]
    recorded_programs.carry_changes(each.context, names, paths, ended_at)


async def _carry(each: FoundCopy, store: Store, moved: MovedCopy | None) -> list[str]:
    """Add the user's changes to the snapshots that may be restored in a copy, and to what interrupted checks revert.

    Return the files that have changed.
    """
    context, git = each.context, each.context.git
    for name in dict.fromkeys([*each.copy.snapshots, *pending_snapshots(context, store)]):
        old = await snapshot.find(git, name)
        if old is None:
            continue
        tree = await carry(git, old.tree, each.before, each.now.tree)
        head = old.head
        if moved is not None and head is not None:
            tree, head = await carry(git, tree, await git.tree_of(each.head), await git.tree_of(moved.head)), moved.head
        if (tree, head) != (old.tree, old.head):
            index_tree = await git.tree_of(head) if head is not None else old.index_tree
            await snapshot.write(
                git,
                name,
                tree=tree,
                index_tree=index_tree,
                head=head,
                marked=old.marks,
                why="with changes of the user",
            )
    tree = moved.tree if moved is not None else each.now.tree
    paths = [*(await snapshot.changes(git, each.before, tree) if each.before != tree else ()), *each.added]
    await fixed_tree.carry_changes(context, paths, head=moved.head if moved is not None else None)
    return paths


def pending_snapshots(context: RunContext, store: Store) -> list[str]:
    """Return the snapshots that interrupted effects in a copy have taken or will restore."""
    found = []
    for effect in store.state().pending:
        inputs = store.task(effect).inputs if effect.kind in (effects.WORK, effects.ROLLBACK) else {}
        if effect.kind == effects.WORK and (work := effects.WorkArgs.from_json(inputs)).worker == context.worker:
            found.append(snapshot_name(context, work))
        elif effect.kind == effects.ROLLBACK:
            rollback = effects.RollbackArgs.from_json(inputs)
            found += [rollback.snapshot] if rollback.worker == context.worker else []
    return found


def names(paths: Collection[str]) -> str:
    """Return names for one line."""
    shown, more = list(paths)[:SHOWN], len(paths) - SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
