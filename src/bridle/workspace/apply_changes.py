"""Apply the changes of another working copy to this one, as if they had been made here.

Nothing is committed, no branch moves and the index stays as it is. On a conflict no file is changed. An application
that was killed can be resumed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from bridle.ground.files import files_below
from bridle.workspace import exact_bytes, private_indexes, snapshot
from bridle.workspace.git import Git
from bridle.workspace.merge import Conflicts, merged_tree
from bridle.workspace.snapshot import Snapshot


class PlannedMerge(Struct, frozen=True):
    """The files that a working copy has, and those that it is to have."""

    head: str | None
    """The commit that was checked out in it."""
    ours: str
    """The tree of all its files when this was planned."""
    tree: str
    """The tree after the merge."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to do."""
        return self.ours != self.tree


class ResumedMerge(Struct, frozen=True):
    """A planned merge that is now complete."""

    before: Snapshot | None
    """The files before it was resumed; None where nothing was left to do."""


async def plan(git: Git, base: str, theirs: str) -> PlannedMerge | Conflicts:
    """Merge `theirs`, the tree of the other working copy, whose changes began at the commit `base`."""
    async with snapshot.index_of_all(git) as variables:
        ours = await git.text(*await exact_bytes.flags(git), "write-tree", variables=variables)
    head = await git.head()
    planned = PlannedMerge(head, ours, theirs)
    if ours != await git.text("rev-parse", f"{base}^{{tree}}"):  # else only the other side has changed anything
        sides = [await snapshot.commit_tree(git, tree, [base], "one side of a merge") for tree in (ours, theirs)]
        tree = await merged_tree(git, *sides)
        if isinstance(tree, Conflicts):
            return tree
        planned = PlannedMerge(head, ours, tree)
    ignored = await _ignored_conflicts(git, planned)
    return Conflicts(ignored, "files that git ignores here would be overwritten") if ignored else planned


async def apply(git: Git, planned: PlannedMerge) -> bool:
    """Change the files; return False, without a change, where they are not those that the merge was planned for."""
    filters = await exact_bytes.flags(git)
    async with snapshot.index_of_all(git) as variables:
        if await git.text(*filters, "write-tree", variables=variables) != planned.ours:
            return False
        await git.run(*filters, "read-tree", "-m", "-u", planned.ours, planned.tree, variables=variables)
    return True


async def resume(git: Git, planned: PlannedMerge, *, name: str | None = None) -> ResumedMerge | None:
    """Complete a merge that was killed; `name` is for the snapshot of the files before.

    Return None where the files were changed since then in another way: the merge must be planned again.
    """
    if await git.head() != planned.head:
        return None
    before = await snapshot.take(git, name=name, why="before a merge was resumed")
    if not await _is_partly_applied(git, planned, before.tree):
        await snapshot.drop(git, before)
        return None
    changed = set(await snapshot.changes(git, planned.ours, planned.tree))
    if changed.isdisjoint(await snapshot.changes(git, before.tree, planned.tree)):
        await snapshot.drop(git, before)
        return ResumedMerge(None)
    for name in await _differing(git, planned, "D"):
        # gone already, or replaced below; no link on the way is followed
        with suppress(OSError), files_below.parent(git.folder, name) as (folder, last):
            os.unlink(last, dir_fd=folder)
    await _write(git, planned.tree, await _differing(git, planned, "d"))
    return ResumedMerge(before)


async def _is_partly_applied(git: Git, planned: PlannedMerge, now: str) -> bool:
    """Return whether each file is as before, as planned, or as a kill leaves it: truncated, or missing."""
    changed = set(await snapshot.changes(git, planned.ours, planned.tree))
    touched = changed & set(await snapshot.changes(git, planned.ours, now))
    partial = touched & set(await snapshot.changes(git, now, planned.tree))
    present = set(await git.names("ls-tree", "-r", "-z", "--name-only", now)) if partial else set()
    for name in partial & present:
        wanted = (await git.run("cat-file", "blob", f"{planned.tree}:{name}", accepts=(0, 128)))[1]
        if not wanted.startswith((await git.run("cat-file", "blob", f"{now}:{name}", accepts=(0, 128)))[1]):
            return False
    return True


async def _differing(git: Git, planned: PlannedMerge, diff_filter: str) -> list[str]:
    """Return the files that the merge deletes (D), adds (A), or leaves present (d)."""
    flags = ("--name-only", "--no-renames", f"--diff-filter={diff_filter}", "-z")
    return await git.names("diff", *flags, planned.ours, planned.tree)


async def _ignored_conflicts(git: Git, planned: PlannedMerge) -> tuple[str, ...]:
    """Return the ignored files that the merge would overwrite; all other files are part of our side."""
    deleted = set(await _differing(git, planned, "D"))
    paths: list[str] = []
    for name in await _differing(git, planned, "A"):
        parts = PurePosixPath(name)
        folders = [str(folder) for folder in parts.parents if str(folder) != "." and str(folder) not in deleted]
        paths += [path for path in folders if os.path.lexists(git.folder / path) and not (git.folder / path).is_dir()]
        if os.path.lexists(git.folder / name) and not _has_only(git.folder / name, deleted, git.folder):
            paths.append(name)
    return tuple(dict.fromkeys(paths))


def _has_only(path: Path, deleted: set[str], top: Path) -> bool:
    """Return whether the path is a folder that has only files that are to be deleted."""
    if path.is_symlink() or not path.is_dir():
        return False
    files = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return all(file.relative_to(top).as_posix() in deleted for file in files)


async def _write(git: Git, tree: str, names: list[str]) -> None:
    """Write these files of a tree, over anything that is there."""
    index = private_indexes.private_index_path(await git.git_path("index"))
    variables = {"GIT_INDEX_FILE": str(index)}
    try:
        await git.run("read-tree", tree, variables=variables)
        stdin = "".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")
        flags = await exact_bytes.flags(git)
        await git.run(*flags, "checkout-index", "--force", "-z", "--stdin", stdin=stdin, variables=variables)
    finally:
        private_indexes.remove_index(index)
