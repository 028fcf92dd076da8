"""All that checks could have used and that a clone of the commit does not have: whether they need it is found out.

That is what appeared during the run: ignored files, folders without files, special files; and files that a checkout
would write differently, or that make would not make again. What the user had before belongs to the user's environment.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bridle.loop.checks import bare_folders, ignored_files
from bridle.loop.checks.fixed_tree import CheckedTree, work_tree
from bridle.loop.checks.unlike_checkout import unlike_checkout
from bridle.loop.checks.without_files import NotInCommit
from bridle.loop.protection import baseline
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.git_folder import read_git_files

BARE_FOLDER = "git stores no folder without files"
SPECIAL_FILE = "git stores no such file"
UP_TO_DATE = "make does not run its recipe while it is up to date"
# Files in a folder: enough to see what it is for.
SHOWN_NAMES = 3
# A program can have more, but not any number.
ARGUMENTS = 1_000


@asynccontextmanager
async def not_in_commit(
    context: RunContext, tree: CheckedTree, changed: Sequence[str], earlier: Mapping[str, bytes]
) -> AsyncIterator[list[NotInCommit]]:
    """Yield all of it.

    `changed` are files of no commit that are known to be changed by agents, `earlier` the content that some of them
    had before.
    """
    if not ignored_files.is_recorded(context):
        yield [NotInCommit(name, instead=earlier.get(name)) for name in changed]
        return
    ignored = tree.ignored if tree.ignored is not None else await ignored_files.list_ignored(context)
    found = {name: NotInCommit(name) for name in await ignored_files.find_new(context, ignored)}
    found |= {name: NotInCommit(name, instead=earlier.get(name)) for name in await _left(context, tree, changed)}
    found |= {name: NotInCommit(name, UP_TO_DATE) for name in _made_by_make(context, ignored)}
    mine = ignored_files.of_user(context)
    for name in bare_folders.find_new(context, ignored):
        if not name.endswith("/"):
            found[name] = NotInCommit(name, SPECIAL_FILE)
        elif not any(one.startswith(name) for one in mine):
            below = [other for other in found if other.startswith(name)]
            why = f"all its files are ignored ({', '.join(below[:SHOWN_NAMES])})" if below else BARE_FOLDER
            found = {other: one for other, one in found.items() if other not in below}
            found[name] = NotInCommit(name, why)
    for wanted in (tree.work, tree.exact):
        if (
            not read_git_files.has_loose_object(context.folder, wanted)
            and await context.git.object(f"{wanted}^{{tree}}") is None
        ):
            await work_tree(context)  # a check has collected garbage: a look stores the same trees again
            await snapshot.tree_of_all(context.git, is_known=True)
            break
    async with unlike_checkout(context, tree.work, tree.exact) as differing:
        folders = tuple(f"{name.rstrip('/')}/" for name in found)  # a clone has nothing of them
        shown = [one for one in differing if not one.name.startswith(folders)]
        found |= {one.name: NotInCommit(one.name, one.why, one.checked_out) for one in shown}
        yield list(found.values())


def _made_by_make(context: RunContext, ignored: Sequence[str]) -> list[str]:
    """Return the ignored files written during the run that a recipe of a check makes. An agent can forge them."""
    start, since = baseline.find(context), baseline.began(context)
    names = start.protected.made if start is not None and since is not None else ()
    files = frozenset(ignored)
    folders = tuple(name for name in ignored if name.endswith("/"))
    hidden = [name for name in names if name in files or name.startswith(folders)]
    return [name for name in hidden if _changed_at(context.folder / name) >= (since or 0.0)]


def _changed_at(path: Path) -> float:
    """Return when a file was written or its times were set, which no program can choose; minus 1 without a file."""
    try:
        return path.lstat().st_ctime
    except OSError:
        return -1.0


async def _left(context: RunContext, tree: CheckedTree, names: Sequence[str]) -> list[str]:
    """Return the names without those that a later iteration has made part of the work.

    Files that the user hides from git by a mark stay: the work has them as they were committed.
    """
    start = baseline.find(context)
    paths = [name.rstrip("/") for name in names]
    words = (tree.work, "--", *paths) if len(paths) <= ARGUMENTS else ("-r", "-t", tree.work)
    listed = await context.git.names("ls-tree", "-z", "--full-tree", *words) if paths else []
    entries = [line.partition("\t") for line in listed]
    committed = {path for facts, _, path in entries if facts.split()[1] != "commit"}  # else a nested repository
    committed -= {*(start.local if start is not None else ())}
    return [name for name in names if name.rstrip("/") not in committed]
