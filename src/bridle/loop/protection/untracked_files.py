"""The user's untracked files: restored if an agent deleted them, reported if it changed them.

No commit contains them, so nothing else could restore them. Untracked nested repositories are only reported: git has no
copy of their files.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.ground import ids
from bridle.loop.effect_results import FileReport
from bridle.loop.protection import baseline, file_states
from bridle.loop.protection.baseline import Baseline
from bridle.loop.protection.grown_files import find_grown
from bridle.loop.protection.tree_changes import Change, changes_since
from bridle.loop.settings.bridle_toml import FILE_NAME
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy import recorded_hooks
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import exact_bytes, marks, snapshot
from bridle.workspace.add_files import NO_SHORTCUTS
from bridle.workspace.marks import Marks
from bridle.workspace.snapshot import Snapshot

# Files in a message: enough to see which they are.
SHOWN_NAMES = 5
DELETED = "your untracked file was deleted"
_UNTRACKED, _LOCAL = "your untracked file", "your local version, which is in no commit,"
# The names of untracked files that snapshots add, whatever ignore rules say.
VANISHED = "bridle-vanished.json"
# The most files that are reported singly.
SHOWN = 20


class LostFiles(Struct, frozen=True):
    """Untracked files that an iteration deleted or changed."""

    before: Snapshot
    deleted: tuple[str, ...]
    changed: tuple[str, ...]
    local: frozenset[str] = frozenset()
    """The tracked files with changes that no commit contains."""
    repositories: tuple[FileReport, ...] = ()
    """Nested repositories of the user that were changed; nothing restores them."""

    def names(self) -> list[str]:
        """Return the deleted files, for the user."""
        more = len(self.deleted) - SHOWN
        return [*self.deleted[:SHOWN], *([f"{more} more of your files"] if more > 0 else [])]

    def reports(self) -> list[FileReport]:
        message = "{} was changed; the earlier version: `git show {}:{}`"
        return [
            FileReport(name, message.format(_LOCAL if name in self.local else _UNTRACKED, self.before.ref, name))
            for name in self.changed[:SHOWN]
        ] + list(self.repositories[:SHOWN])


async def add_hidden(context: RunContext, taken: Snapshot) -> Snapshot:
    """Add the user's untracked files that an agent's ignore rules hide to a snapshot, and return it."""
    git = context.git
    there = [name for name in _vanished(context) if os.path.lexists(context.folder / name)]
    if not there:
        return taken
    async with _index_of(context, taken.tree) as own:
        flags = (*await exact_bytes.flags(git), *NO_SHORTCUTS, "add", "--force", "--ignore-errors")
        paths = _listed(f":(top,literal){name}" for name in there)
        listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
        await git.run(*flags, *listed, stdin=paths, variables=own, accepts=(0, 1))
        tree = await git.text("write-tree", variables=own)
    commit = await snapshot.write(
        git,
        taken.name,
        tree=tree,
        index_tree=taken.index_tree,
        head=taken.head,
        marked=taken.marks,
        why="with hidden files",
    )
    return replace(taken, commit=commit, tree=tree)


async def find_lost(context: RunContext, start: Baseline, before: str, may_edit: Sequence[str]) -> LostFiles | None:
    """Compare the user's files in the snapshots around an iteration; return None if they are unchanged."""
    users = (*start.untracked, *start.local)
    if not users or not before:
        return None
    first = await snapshot.find(context.git, before)
    last = await snapshot.find(context.git, f"{before}-after")
    if first is None or last is None or first.tree == last.tree:
        return None
    own = frozenset(users)
    changes = [change for change in await changes_since(context, first.tree, last.tree, leave=()) if change.path in own]
    changes = [change for change in changes if not any(matches(pattern, change.path) for pattern in may_edit)]
    grown = await find_grown(context, changes)
    changes = [change for change in changes if change.path not in grown]
    repositories = [change for change in changes if change.is_repository]
    gone = [change for change in changes if change.is_gone and change not in repositories]
    _add_vanished(context, [change.path for change in gone])
    hidden = [change for change in gone if os.path.lexists(context.folder / change.path)]
    deleted = tuple(change.path for change in gone if change not in hidden)
    changed = [change.path for change in changes if not (change.is_gone or change.is_new or change.is_repository)]
    changed += [change.path for change in hidden if not _is_unchanged(context, change)]
    reports = [FileReport(change.path, _describe_repository(change)) for change in repositories]
    return LostFiles(first, deleted, tuple(changed), frozenset(start.local), tuple(reports)) if changes else None


def _describe_repository(change: Change) -> str:
    if change.is_gone:
        return "your nested git repository was deleted or moved, and Bridle has no copy of it"
    return f"your nested git repository was changed; before, it was at the commit {change.before}"


def _is_unchanged(context: RunContext, change: Change) -> bool:
    entry = file_states.entry_at(context.folder, change.path, digest=file_states.digest_of(context.base))
    return entry is None or entry.object == change.before  # None: too large to tell


def _vanished(context: RunContext) -> list[str]:
    """Return the user's untracked files that agents have deleted, or hidden by ignore rules."""
    names = context.records.read_json(_vanished_path(context), context.worker)
    return [str(name) for name in names] if isinstance(names, list) else []


def _add_vanished(context: RunContext, names: Sequence[str]) -> None:
    known = _vanished(context)
    if not set(names) <= set(known):
        context.records.write_json(_vanished_path(context), list(dict.fromkeys([*known, *names])), context.worker)


def _vanished_path(context: RunContext) -> Path:
    return context.run_folder / VANISHED


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
    async with _index_of(context, lost.before.tree) as own:
        command = (*await exact_bytes.flags(context.git), "checkout-index", "-q", "-z", "--stdin")
        # 128: a file is in the way
        await context.git.run(*command, stdin=_listed(gone), variables=own, accepts=(0, 1, 128))
    marked = await marks.load(context.git, lost.before.marks) or Marks()
    await marks.set_again(context.git, marked, lost.before.index_tree)
    missing = [name for name in gone if not os.path.lexists(context.folder / name)]
    message = f"your untracked file could not be restored: `git show {lost.before.ref}:{{}}`"
    return [FileReport(name, message.format(name)) for name in missing[:SHOWN]]


@asynccontextmanager
async def _index_of(context: RunContext, tree: str) -> AsyncIterator[dict[str, str]]:
    """Create a private index of a tree; yield the variable that selects it."""
    path = context.run_folder / f"bridle-{ids.new_token()}.index"
    own = {"GIT_INDEX_FILE": str(path)}
    try:
        await context.git.run("read-tree", tree, variables=own)
        yield own
    finally:
        path.unlink(missing_ok=True)


def _listed(names: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def describe_checks(context: RunContext, start: Baseline) -> list[str]:
    """Name the untracked files that define checks: the commits of the run lack them, so a clone fails the checks."""
    own = {str(baseline.plan_path(context)), *recorded_hooks.in_working_copy(context)}
    files = [
        name
        for name in start.untracked
        if start.protected.files.get(name, baseline.PROTECT_SETTING) != baseline.PROTECT_SETTING
        and name not in own
        and Path(name).name != FILE_NAME
        and not name.startswith(f"{baseline.OUR_FOLDER}/")
    ]
    if not files:
        return []
    shown = ", ".join(files[:SHOWN_NAMES]) + (f" and {len(files) - SHOWN_NAMES} more" if files[SHOWN_NAMES:] else "")
    verb, them = ("is", "it") if len(files) == 1 else ("are", "them")
    line = f"{shown} {verb} untracked: the checks use {them}, and no commit of this run contains {them}"
    return [f"{line}; commit {them} too: git add {shlex.join(files[:SHOWN_NAMES])}"]
