"""The person's own files, which are in no commit: put back where an agent deleted them, and told where it changed them.

Nothing else could bring them back, and no commit of the work holds what was done to them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from bridle.ground import ids
from bridle.loop.protection.reports import Report
from bridle.loop.protection.tree_changes import changes_since
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.snapshot import Snapshot

DELETED = "it was deleted, and it is yours: it is in no commit"
# Names that are told one by one; an agent that deletes more has emptied a folder.
SHOWN = 20


@dataclass(frozen=True)
class Lost:
    """Files of the person's that an iteration deleted or changed."""

    before: Snapshot
    deleted: tuple[str, ...]
    changed: tuple[str, ...]

    def names(self) -> list[str]:
        """What was deleted, for people."""
        more = len(self.deleted) - SHOWN
        return [*self.deleted[:SHOWN], *([f"{more} more files of yours"] if more > 0 else [])]

    def reports(self) -> list[Report]:
        """What a person should know of files that were changed."""
        words = "it is yours and in no commit; it was changed, and was before as in `git show {}:{}`"
        return [Report(name, words.format(self.before.ref, name)) for name in self.changed[:SHOWN]]


async def lost(context: RunContext, untracked: Sequence[str], before: str, may_edit: Sequence[str]) -> Lost | None:
    """What an iteration did to these files, by the snapshots around it; None where it let them be."""
    if not untracked or not before:
        return None
    around = [await snapshot.find(context.git, name) for name in (before, f"{before}-after")]
    first, last = around
    if first is None or last is None or first.tree == last.tree:
        return None
    own = {name for name in untracked if not any(matches(pattern, name) for pattern in may_edit)}
    found = [one for one in await changes_since(context, first.tree, last.tree, leave=()) if one.path in own]
    deleted = tuple(one.path for one in found if one.is_gone)
    changed = tuple(one.path for one in found if not one.is_gone and not one.is_new)
    return Lost(first, deleted, changed) if found else None


async def put_back(context: RunContext, found: Lost) -> list[Report]:
    """Write what was deleted, byte for byte; what stands there by now is left alone, and what could not be is told."""
    gone = [name for name in found.deleted if not os.path.lexists(context.folder / name)]
    if not gone:
        return []
    path = context.run_folder / f"bridle-{ids.new_token()}.index"
    own = {"GIT_INDEX_FILE": str(path)}
    try:
        await context.git.run("read-tree", found.before.tree, variables=own)
        words = (*await snapshot.no_filters(context.git), "checkout-index", "-q", "-z", "--stdin")
        given = b"".join(os.fsencode(name) + b"\0" for name in gone)
        await context.git.run(*words, given=given, variables=own, accepts=(0, 1, 128))  # 128: something is in the way
    finally:
        path.unlink(missing_ok=True)
    left = [name for name in gone if not os.path.lexists(context.folder / name)]
    words_of = f"it is yours and could not be put back: `git show {found.before.ref}:{{}}`"
    return [Report(name, words_of.format(name)) for name in left[:SHOWN]]
