"""Joining: what was changed in another working copy comes into this one, as if it had been done here.

Nothing is committed, no branch moves and the index stays as it is. Where both sides have changed the same lines,
nothing is touched and the files are named. A join that was killed half way can be finished.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bridle.workspace import snapshot
from bridle.workspace.git import Git
from bridle.workspace.merge import Conflicts, merged_tree
from bridle.workspace.snapshot import Snapshot


@dataclass(frozen=True)
class Join:
    """What is to become of a working copy."""

    head: str | None
    """The commit that was checked out in it."""
    ours: str
    """The tree of all its files, as they were."""
    tree: str
    """The tree that they shall be."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to do."""
        return self.ours != self.tree


@dataclass(frozen=True)
class Finished:
    """A join that is done now."""

    kept: Snapshot | None
    """What was there before; None where nothing was left to do."""


async def plan(git: Git, base: str, theirs: str) -> Join | Conflicts:
    """Look at what joining would do: `base` is a commit that both sides began with, `theirs` the other's tree now."""
    async with snapshot.index_of_all(git) as variables:
        ours = await git.text("write-tree", variables=variables)
    head = await git.head()
    found = Join(head, ours, theirs)
    if ours != await git.text("rev-parse", f"{base}^{{tree}}"):  # else nobody but them has changed anything
        sides = [await snapshot.commit_tree(git, tree, [base], "one side of a join") for tree in (ours, theirs)]
        tree = await merged_tree(git, *sides)
        if isinstance(tree, Conflicts):
            return tree
        found = Join(head, ours, tree)
    in_the_way = await _in_the_way(git, found)
    return Conflicts(in_the_way, "these are files that git ignores here") if in_the_way else found


async def carry_out(git: Git, join: Join) -> bool:
    """Do it; False where the files are not what the plan was made for, and nothing was touched."""
    filters = await snapshot.no_filters(git)
    async with snapshot.index_of_all(git) as variables:
        if await git.text("write-tree", variables=variables) != join.ours:
            return False
        await git.run(*filters, "read-tree", "-m", "-u", join.ours, join.tree, variables=variables)
    return True


async def finish(git: Git, join: Join, *, name: str | None = None) -> Finished | None:
    """Go on with a join that may have been killed half way; `name` is for the snapshot of what was there before.

    None where something else has happened to these files since: then it must be planned anew.
    """
    if await git.head() != join.head:
        return None
    kept = await snapshot.take(git, name=name, why="before a join was finished")
    if not await _is_half_way(git, join, kept.tree):
        await snapshot.drop(git, kept)
        return None
    concerned = set(await snapshot.changes(git, join.ours, join.tree))
    if concerned.isdisjoint(await snapshot.changes(git, kept.tree, join.tree)):
        await snapshot.drop(git, kept)
        return Finished(None)
    for name in await _differing(git, join, "D"):
        with suppress(OSError):  # gone already, or what stands there now is put in order below
            (git.folder / name).unlink()
    await _write(git, join.tree, await _differing(git, join, "d"))
    return Finished(kept)


async def _is_half_way(git: Git, join: Join, now: str) -> bool:
    """Whether each file is as it was, as it shall be, or what a kill leaves in between: cut off, or gone."""
    concerned = set(await snapshot.changes(git, join.ours, join.tree))
    touched = concerned & set(await snapshot.changes(git, join.ours, now))
    odd = touched & set(await snapshot.changes(git, now, join.tree))
    there = set(await git.names("ls-tree", "-r", "-z", "--name-only", now)) if odd else set()
    for name in odd & there:
        wanted = (await git.run("cat-file", "blob", f"{join.tree}:{name}", accepts=(0, 128)))[1]
        if not wanted.startswith((await git.run("cat-file", "blob", f"{now}:{name}", accepts=(0, 128)))[1]):
            return False
    return True


async def _differing(git: Git, join: Join, how: str) -> list[str]:
    """The files that a join changes: those that go (D), those that come (A), those that are there after it (d)."""
    flags = ("--name-only", "--no-renames", f"--diff-filter={how}", "-z")
    return await git.names("diff", *flags, join.ours, join.tree)


async def _in_the_way(git: Git, join: Join) -> tuple[str, ...]:
    """Files that git ignores and would overwrite all the same: all others are on our side of the join."""
    going = set(await _differing(git, join, "D"))
    found: list[str] = []
    for name in await _differing(git, join, "A"):
        parts = PurePosixPath(name)
        folders = [str(folder) for folder in parts.parents if str(folder) != "." and str(folder) not in going]
        found += [one for one in folders if os.path.lexists(git.folder / one) and not (git.folder / one).is_dir()]
        if os.path.lexists(git.folder / name) and not _holds_only(git.folder / name, going, git.folder):
            found.append(name)
    return tuple(dict.fromkeys(found))


def _holds_only(path: Path, going: set[str], top: Path) -> bool:
    """Whether this is a folder, where a file shall be, with nothing in it but files that go."""
    if path.is_symlink() or not path.is_dir():
        return False
    files = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return all(file.relative_to(top).as_posix() in going for file in files)


async def _write(git: Git, tree: str, names: list[str]) -> None:
    """Make these files what they are in a tree, whatever stands in their place."""
    own = snapshot.own_index_path(await git.git_path("index"))
    variables = {"GIT_INDEX_FILE": str(own)}
    try:
        await git.run("read-tree", tree, variables=variables)
        given = "".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")
        flags = await snapshot.no_filters(git)
        await git.run(*flags, "checkout-index", "--force", "-z", "--stdin", given=given, variables=variables)
    finally:
        own.unlink(missing_ok=True)
        own.with_name(own.name + ".lock").unlink(missing_ok=True)
