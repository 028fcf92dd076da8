"""The user's untracked files: restored if an agent deleted them, reported if it changed them.

No commit contains them, so nothing else could restore them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from bridle.ground import ids
from bridle.loop.effect_results import FileReport
from bridle.loop.protection import baseline
from bridle.loop.protection.grown_files import find_grown
from bridle.loop.protection.tree_changes import changes_since
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import exact_bytes, snapshot
from bridle.workspace.snapshot import Snapshot

DELETED = "your untracked file was deleted"
# The most files that are reported singly.
SHOWN = 20


@dataclass(frozen=True)
class LostFiles:
    """Untracked files that an iteration deleted or changed."""

    before: Snapshot
    deleted: tuple[str, ...]
    changed: tuple[str, ...]

    def names(self) -> list[str]:
        """Return the deleted files, for the user."""
        more = len(self.deleted) - SHOWN
        return [*self.deleted[:SHOWN], *([f"{more} more of your files"] if more > 0 else [])]

    def reports(self) -> list[FileReport]:
        message = "your untracked file was changed; the earlier version: `git show {}:{}`"
        return [FileReport(name, message.format(self.before.ref, name)) for name in self.changed[:SHOWN]]


async def find_lost(
    context: RunContext, untracked: Sequence[str], before: str, may_edit: Sequence[str]
) -> LostFiles | None:
    """Compare the snapshots around an iteration; return None if these files are unchanged."""
    if not untracked or not before:
        return None
    first = await snapshot.find(context.git, before)
    last = await snapshot.find(context.git, f"{before}-after")
    if first is None or last is None or first.tree == last.tree:
        return None
    own = {name for name in untracked if not any(matches(pattern, name) for pattern in may_edit)}
    changes = [change for change in await changes_since(context, first.tree, last.tree, leave=()) if change.path in own]
    grown = await find_grown(context, changes)
    changes = [change for change in changes if change.path not in grown]
    deleted = tuple(change.path for change in changes if change.is_gone)
    changed = tuple(change.path for change in changes if not change.is_gone and not change.is_new)
    return LostFiles(first, deleted, changed) if changes else None


async def find_left_alone(context: RunContext, before: str, after: str) -> list[str]:
    """Return the user's files that a return to the tree `before` does not change.

    A tree has no file that the output of Bridle itself went to; it would be deleted. Files that a program of the user
    appends to would be cut.
    """
    start = baseline.find(context)
    if start is None or not start.untracked:
        return []
    own = frozenset(start.untracked)
    changes = [change for change in await changes_since(context, before, after, leave=()) if change.path in own]
    return [*(change.path for change in changes if change.is_new), *sorted(await find_grown(context, changes))]


async def restore(context: RunContext, lost: LostFiles) -> list[FileReport]:
    """Restore the deleted files, except where a new file exists; report those that failed."""
    gone = [name for name in lost.deleted if not os.path.lexists(context.folder / name)]
    if not gone:
        return []
    path = context.run_folder / f"bridle-{ids.new_token()}.index"
    own = {"GIT_INDEX_FILE": str(path)}
    try:
        await context.git.run("read-tree", lost.before.tree, variables=own)
        command = (*await exact_bytes.flags(context.git), "checkout-index", "-q", "-z", "--stdin")
        listed = b"".join(os.fsencode(name) + b"\0" for name in gone)
        await context.git.run(*command, stdin=listed, variables=own, accepts=(0, 1, 128))  # 128: a file is in the way
    finally:
        path.unlink(missing_ok=True)
    missing = [name for name in gone if not os.path.lexists(context.folder / name)]
    message = f"your untracked file could not be restored: `git show {lost.before.ref}:{{}}`"
    return [FileReport(name, message.format(name)) for name in missing[:SHOWN]]
