"""What the user changed in a run's working copy while no driver ran: found and adopted before a driver begins.

The user's commits stay where they are, and the run continues on top of them. Files that the user changed become part of
the baseline and of every snapshot that the run may restore. So nothing that follows reverts them.

Each step can be repeated; the journal's note is written last. Its number is in the first result of the driver, which
delivers it to the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bridle.errors import DiskError, Error
from bridle.ground import disk
from bridle.journal.stores.store import Store
from bridle.loop import effects, user_messages
from bridle.loop.adoption import added_files, lost_commits, recorded_programs, run_commits, worker_changes
from bridle.loop.adoption.later_files import tree_without_later
from bridle.loop.adoption.lost_commits import Loss
from bridle.loop.adoption.unfinished_operations import refuse_unfinished
from bridle.loop.adoption.worker_changes import pending_snapshots
from bridle.loop.checks import environment, fixed_tree
from bridle.loop.checks.without_files import put_back
from bridle.loop.effect_results import MovedCopy, UserChanges
from bridle.loop.performers.branch import return_to_branch
from bridle.loop.performers.delivery import Delivery
from bridle.loop.plan.read_plan import LIMIT_BYTES
from bridle.loop.plan.tick_boxes import tick_text
from bridle.loop.process.receipt import Receipt
from bridle.loop.process.task_state import VERIFIED
from bridle.loop.protection import baseline, uncommitted_changes
from bridle.loop.protection.baseline import Baseline
from bridle.loop.protection.found_lines import FoundFiles, describe_added, describe_files
from bridle.loop.working_copy import kept_index, left_state, output_names, start_state
from bridle.loop.working_copy.hide_own_folders import hide_own_folders
from bridle.loop.working_copy.left_state import LeftState
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import marks, snapshot
from bridle.workspace.merge import carry, overlay
from bridle.workspace.snapshot import Snapshot

FOUND = "BRIDLE_LOOP_FOUND"


class _State(Struct, frozen=True):
    """A working copy before and after the user's changes."""

    now: Snapshot
    was: Snapshot | None
    """As the last driver left it; None where it was killed."""
    before: str
    """The tree without the user's changes."""
    known_tip: str
    tip: str
    paths: list[str]
    """The files that the user changed, committed or not."""
    committed: list[str]
    """The files that differ in commits of the user."""
    untracked: list[str]
    """The files that the user removed from git, and not from the folder."""
    loss: Loss | None = None
    """The commits that git has lost."""


def adopted(store: Store) -> int:
    """Return how often changes of the user were adopted."""
    return len(_notes(store))


async def adopt(
    context: RunContext, store: Store, receipt: Receipt, *, ended_at: float | None, has_new_plan: bool = False
) -> Delivery:
    """Find and adopt what the user changed since the last driver, whose agents ended at that time.

    `has_new_plan`: the checks of the context's plan are not those of the baseline.
    """
    hide_own_folders(context)
    if ended_at is not None:
        await environment.add_of_user(context, since=ended_at)  # without the files that are put back: an agent's
    context = replace(context, moved_back=tuple(put_back(context)))
    left = left_state.find(context, store)
    # Before anything is checked out: a rebase leaves no branch checked out.
    await refuse_unfinished(context, left, ended_at)
    await kept_index.recover(context)
    restore = await uncommitted_changes.put_aside_again(context)
    try:
        return await _adopt(context, store, receipt, left, ended_at, has_new_plan=has_new_plan)
    except Error:
        await restore()
        raise


async def _adopt(
    context: RunContext,
    store: Store,
    receipt: Receipt,
    left: LeftState | None,
    ended_at: float | None,
    *,
    has_new_plan: bool,
) -> Delivery:
    notes = _notes(store)
    known_tip = _known_tip(receipt, notes)
    loss = await lost_commits.find(context, receipt, [note.tip for note in notes])
    await run_commits.restore_branch(context, known_tip)
    if loss is not None:
        loss = await _go_back(context, store, receipt, loss, len(notes) + 1, left=left, ended_at=ended_at)
        left = left_state.find(context, store)
    await return_to_branch(context)
    context = replace(context, changes_adopted=len(notes))
    undelivered = notes[-1] if notes and notes[-1].number > receipt.changes_known else None
    number = len(notes) + 1
    workers = await worker_changes.collect(context, store, receipt, number=number, ended_at=ended_at)
    state = await _find(
        context,
        store,
        receipt,
        known_tip,
        left,
        number=number,
        ended_at=ended_at,
        loss=loss,
        is_changed=bool(workers.lines) or has_new_plan,
    )
    snapshots = [*receipt.snapshots, *pending_snapshots(context, store)]
    is_parallel = context.settings.parallel > 1
    if state is None:
        for copy in workers.copies:
            worker_changes.carry_recorded(copy, store, (), ended_at=ended_at)
        if not is_parallel:
            recorded_programs.carry_changes(context, snapshots, (), ended_at)
        return Delivery(undelivered)
    new_untracked = await _new_untracked(context, state)
    moved: list[MovedCopy] = []
    if is_parallel:
        moved = await worker_changes.move_copies(workers, store, state.tip, ended_at=ended_at)
    else:
        await _carry_snapshots(context, snapshots, state)
        await fixed_tree.carry_changes(context, state.paths)
        recorded_programs.carry_changes(context, snapshots, state.paths, ended_at)
    # Since the tip of the process: it may not know yet what an earlier driver has found.
    known_tip = receipt.tip or state.known_tip
    commits, gone = await run_commits.locate(context, receipt, known=known_tip, tip=state.tip)
    known = baseline.find(context)
    base = await added_files.find_base(
        context, state.known_tip, state.tip, was_working=_works(context, store), ended_at=ended_at
    )
    untracked = frozenset(known.untracked if known is not None else ())
    added = await added_files.find_added(context, untracked, was=state.was, now=state.now, base=base, tip=state.tip)
    start = await baseline.adopt(
        context,
        state.paths,
        () if is_parallel else new_untracked,
        state.tip,
        added=added.users,
        before=state.before,
        with_new_marks=state.was is not None,
        has_new_plan=has_new_plan,
    )
    if not is_parallel:
        await start_state.add_changes(context, state.now.tree, await _in_no_commit(context, state, known, start))
        if state.was is not None:
            await start_state.add_marks(context, state.was.marks, state.now.marks)
    lines = list(workers.lines)
    if loss is None and state.tip != state.known_tip:
        lines.append(await run_commits.describe_move(context, run_branch(context.run), state.known_tip, state.tip))
    files = FoundFiles(
        state.before, state.now.tree, state.tip, state.paths, state.committed, new_untracked, state.untracked
    )
    lines += await describe_files(context, files, start, has_new_plan=has_new_plan)
    lines += describe_added(added.agents)
    lost = gone if loss is not None else await run_commits.find_lost(context, receipt, gone)
    reverted = await run_commits.find_reverted(context, receipt, known=known_tip, tip=state.tip)
    described = _describe_commits(receipt, commits, gone=gone, lost=lost, reverted=reverted)
    earlier = undelivered.lines if undelivered is not None else ()
    lines += [line for line in described if line not in earlier]
    found = UserChanges(
        number=number,
        before=receipt.tip,
        tip=state.tip,
        commits=commits,
        gone=tuple(dict.fromkeys([*gone, *reverted])),
        lost=tuple(lost),
        copies=_join_copies(undelivered, moved),
        lines=(*earlier, *(loss.lines if loss else ()), *lines),
    )
    user_messages.send(store, FOUND, {**msgspec.to_builtins(found), "snapshot": state.now.ref})
    for line in lines:
        context.say(line)
    return Delivery(found)


def _describe_commits(
    receipt: Receipt,
    commits: Mapping[str, str],
    *,
    gone: Sequence[str],
    lost: Sequence[str],
    reverted: Sequence[str],
) -> list[str]:
    """Return a line for each task whose commit was changed, removed, reverted or lost; `lost` are some of `gone`."""
    ids = {task.title: task.commit or "" for task in receipt.tasks}
    return [
        *(f"the commit of {title!r} is {commit[:12]} now" for title, commit in commits.items()),
        *(f"the commit of {title!r} is not on the branch any more" for title in gone if title not in lost),
        *(f"the commit of {title!r} is reverted: the task is open again" for title in reverted),
        *(f"the commit {ids[title][:12]} of {title!r} is lost: the task is done again" for title in lost),
    ]


def _join_copies(undelivered: UserChanges | None, moved: Sequence[MovedCopy]) -> tuple[MovedCopy, ...]:
    """Return how copies were moved, also by an earlier driver whose note the process does not know yet."""
    before = undelivered.copies if undelivered is not None else ()
    return tuple({copy.worker: copy for copy in (*before, *moved)}.values())


def _notes(store: Store) -> list[UserChanges]:
    return [msgspec.convert(entry.data, UserChanges) for entry in store.state().notes if entry.type == FOUND]


def _known_tip(receipt: Receipt, notes: Sequence[UserChanges]) -> str:
    """Return the newest commit that the run knows, with those that its process does not know yet."""
    tip = receipt.tip
    for note in notes:
        tip = note.tip if note.before == tip else tip
    return tip


async def _find(
    context: RunContext,
    store: Store,
    receipt: Receipt,
    known_tip: str,
    left: LeftState | None,
    *,
    number: int,
    ended_at: float | None,
    loss: Loss | None,
    is_changed: bool,
) -> _State | None:
    """Return the user's changes, or None."""
    git = context.git
    was = await snapshot.find(git, left.snapshot) if left is not None else None
    name = f"{context.run.lower()}-found-{number}"
    now = await snapshot.take(git, name=name, why="when a driver began", since=was)
    if was is not None:
        before, tip = was.tree, now.head if now.head != was.head else known_tip
    else:
        before = await _without_changes_since(context, store, receipt, now, ended_at)
        tip = await run_commits.find_tip(context, known_tip, was_working=_works(context, store), ended_at=ended_at)
    tip = tip or known_tip
    paths = await snapshot.changes(git, before, now.tree) if before != now.tree else []
    outputs = output_names.read(context)
    paths = [path for path in paths if path not in outputs]
    if (plan := baseline.plan_path(context)) in paths and await _is_ticked(context, receipt, before, str(plan)):
        paths.remove(str(plan))
    untracked = await _removed_from_git(context, was, now) if was is not None else []
    committed = await run_commits.changed_files(context, known_tip, tip) if tip != known_tip else []
    paths = list(dict.fromkeys([*paths, *committed]))
    has_new_marks = was is not None and was.marks != now.marks
    is_changed = is_changed or has_new_marks or loss is not None
    if not paths and not untracked and tip == known_tip and not is_changed:
        if now.name == name:
            await snapshot.drop(git, now)
        return None
    paths = list(dict.fromkeys([*paths, *untracked]))
    return _State(now, was, before, known_tip, tip, paths, committed, untracked, loss)


async def _removed_from_git(context: RunContext, was: Snapshot, now: Snapshot) -> list[str]:
    """Return the files that the user removed from the index or in a commit, and that are still there."""
    if was.index_tree == now.index_tree:
        return []
    removed = await context.git.names(
        "diff", "--name-only", "--no-renames", "--diff-filter=D", "-z", was.index_tree, now.index_tree
    )
    return [name for name in removed if os.path.lexists(context.folder / name)]


async def _go_back(
    context: RunContext,
    store: Store,
    receipt: Receipt,
    loss: Loss,
    number: int,
    *,
    left: LeftState | None,
    ended_at: float | None,
) -> Loss:
    """Go back to the newest complete commit of the run; what the user changed since the last driver stays."""
    git = context.git
    await lost_commits.move_branch(context, loss)
    await return_to_branch(context)
    saved = await lost_commits.save_files(context, loss.target, number)
    loss = replace(loss, lines=(*loss.lines, f"the files as they were are kept as {saved.ref}"))
    for line in loss.lines:
        context.say(line)
    was = await snapshot.find(git, left.snapshot) if left is not None else None
    known = msgspec.structs.replace(receipt, tip=loss.target)
    before = was.tree if was is not None else await _without_changes_since(context, store, known, saved, ended_at)
    await lost_commits.put_back(context, store, loss, saved, await snapshot.changes(git, before, saved.tree))
    return loss


async def _is_ticked(context: RunContext, receipt: Receipt, before: str, plan: str) -> bool:
    """Return whether the plan differs from an earlier tree only by the ticks of Bridle itself."""
    done = [task.title for task in receipt.tasks if task.verdict in VERIFIED]
    code, text = await context.git.run("cat-file", "blob", f"{before}:{plan}", accepts=(0, 128))
    if not context.settings.tick or code != 0:
        return False
    try:
        return tick_text(Path(plan), text, done)[0].encode() == disk.read_bounded(context.folder / plan, LIMIT_BYTES)
    except (DiskError, UnicodeEncodeError):
        return False


def _works(context: RunContext, store: Store) -> bool:
    """Return whether an agent, or code of an agent in a check, may have run there when the last driver was killed."""
    kinds = {effect.kind for effect in store.position().pending.values()}
    return effects.CHECK in kinds or (context.settings.parallel == 1 and effects.WORK in kinds)


async def _without_changes_since(
    context: RunContext, store: Store, receipt: Receipt, now: Snapshot, ended_at: float | None
) -> str:
    """Return the current tree without the files that were written after all agents of a killed driver had ended."""
    names = [] if context.settings.parallel > 1 else [*receipt.snapshots, *pending_snapshots(context, store)]
    return await tree_without_later(context, now, names, receipt.tip, ended_at)


async def _new_untracked(context: RunContext, state: _State) -> list[str]:
    """Return the untracked files that the user has added or removed from git; those of agents were there before."""
    others = await baseline.untracked_files(context)
    words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", state.before)
    known = set(await context.git.names(*words)) - set(state.untracked) if others else set()
    known.update(output_names.read(context))
    # A repository without a commit is in no tree.
    known.update(name for name in context.git.left_out if (context.folder / name).is_dir())
    return [name for name in others if name not in known]


async def _in_no_commit(context: RunContext, state: _State, known: Baseline | None, start: Baseline) -> list[str]:
    """Return the files that the user changed, added or removed, and that no commit contains."""
    untracked = {*start.untracked, *(known.untracked if known is not None else ())}
    untracked -= {*await context.git.names("ls-tree", "-r", "-z", "--name-only", "--full-tree", context.base)}
    folders = {name for name in start.local if (context.folder / name).is_dir()}  # submodules
    own = untracked | ({*start.local} - folders)
    return [name for name in state.paths if name in own]


async def _carry_snapshots(context: RunContext, snapshots: Sequence[str], state: _State) -> None:
    """Add the user's changes to every snapshot that the run may restore."""
    git = context.git
    committed = await run_commits.changed_files(context, state.known_tip, state.tip)
    staged = await snapshot.changes(git, state.was.index_tree, state.now.index_tree) if state.was is not None else []
    for name in dict.fromkeys(snapshots):
        old = await snapshot.find(git, name)
        if old is None and state.loss is None:
            continue
        tree = state.now.tree  # without the files of lost commits
        if old is not None and state.loss is None:
            tree = await carry(git, old.tree, state.before, state.now.tree)
            tree = await overlay(git, tree, state.now.tree, committed)
        is_moved = state.tip != state.known_tip
        index_tree = await git.tree_of(state.tip) if old is None or is_moved else old.index_tree
        if state.was is not None and state.loss is None:
            index_tree = await overlay(git, index_tree, state.now.index_tree, staged)
        await snapshot.write(
            git,
            name,
            tree=tree,
            index_tree=index_tree,
            head=state.tip if old is None or is_moved else old.head,
            marked=await _carry_marks(context, state, old) if old is not None else state.now.marks,
            why="with changes of the user",
        )


async def _carry_marks(context: RunContext, state: _State, old: Snapshot) -> str:
    """Return the marks of a snapshot with those that the user has set or cleared since a driver ended."""
    return (
        old.marks if state.was is None else await marks.carry(context.git, old.marks, state.was.marks, state.now.marks)
    )
