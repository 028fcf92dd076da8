"""The state in which a driver left a working copy: what differs when the next one begins is the user's work.

It is recorded when a driver ends by itself. A later driver that was killed has recorded none: its journal entries show
that it executed effects since.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bridle.engine.entries import effect_attempts
from bridle.ground import disk
from bridle.ground.git_folder import git_folder
from bridle.journal.stores.store import Store
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import marks, snapshot
from bridle.workspace.repair import git_leftovers

FILE = "bridle-left"


class LeftState(msgspec.Struct, frozen=True):
    """The state of a working copy at the end of a driver."""

    seq: int
    """The last entry of the journal."""
    snapshot: str
    operations: tuple[str, ...] = ()
    """Unfinished git operations, such as a merge of an agent."""


async def record(context: RunContext, store: Store) -> None:
    """Record the working copy as a driver leaves it."""
    await snapshot.take(context.git, name=_name(context), why="when a driver ended")
    _write(context, store)


async def record_without_commit(context: RunContext, store: Store) -> str:
    """Record the files, so that the commit which is checked out counts as new to the run; return their tree."""
    git = context.git
    tree, index_tree = await snapshot.tree_of_all(git), await snapshot.staged_tree(git)
    marked = await marks.record(git)
    await snapshot.write(
        git, _name(context), tree=tree, index_tree=index_tree, head=None, marked=marked, why="after lost commits"
    )
    _write(context, store)
    return tree


def _name(context: RunContext) -> str:
    return f"{context.run.lower()}-left{_suffix(context)}"


def _suffix(context: RunContext) -> str:
    return "" if context.worker is None else f"-{context.worker}"


def _write(context: RunContext, store: Store) -> None:
    left = LeftState(store.position().seq, _name(context), tuple(unfinished_operations(context.folder)))
    disk.write_json_atomic(_path(context), msgspec.to_builtins(left))


def _path(context: RunContext) -> Path:
    return context.run_folder / f"{FILE}{_suffix(context)}.json"


def find(context: RunContext, store: Store) -> LeftState | None:
    """Return the state in which the last driver left the working copy; None where it was killed."""
    value = disk.read_json(_path(context))
    try:
        left = None if value is None else msgspec.convert(value, LeftState)
    except msgspec.ValidationError:
        return None
    started = (entry.seq for entry in store.state().notes if entry.type == effect_attempts.STARTED)
    return None if left is None or max(started, default=0) > left.seq else left


def unfinished_operations(folder: Path) -> dict[str, Path]:
    """Return the git operations that are not finished, each with the file that notes it."""
    own = git_folder(folder)
    return {} if own is None else git_leftovers.unfinished_operations(Path(own))
