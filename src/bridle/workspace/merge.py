"""Merge trees without touching the working copy, so that a conflict changes no file."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from bridle.workspace import private_indexes, snapshot
from bridle.workspace.git import Git
from bridle.workspace.git_folder import read_git_files
from bridle.workspace.git_folder.read_git_files import NeedsGit
from bridle.workspace.git_folder.tree_objects import Trees

# Commits since a task began, of which each is a landed task: more than a run has workers.
_MOST_COMMITS = 100


class Conflicts(Struct, frozen=True):
    """A failed merge: the files in conflict. No file was changed."""

    paths: tuple[str, ...]
    details: str


async def merged_tree(git: Git, ours: str, theirs: str) -> str | Conflicts:
    """Return the tree of a merge of two commits; no file is changed."""
    try:
        return await _merge_without_git(git, ours, theirs)
    except NeedsGit:
        pass
    code, output = await git.run("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs, accepts=(0, 1))
    tree, *rest = output.split("\0")
    return _conflicts(rest) if code == 1 else tree


async def _merge_without_git(git: Git, ours: str, theirs: str) -> str:
    """Return the tree of a merge in which no file was changed on both sides; raise NeedsGit for any other."""
    if not await git.is_plain():
        raise NeedsGit
    trees, base = Trees(git.folder, git.known_trees), _parent_below(git.folder, ours, theirs)
    merged = trees.merge(*(trees.root_of(commit) for commit in (base, ours, theirs)))
    if not merged:
        raise NeedsGit  # git has an object for the tree without files
    return merged


def _parent_below(top: Path, ours: str, theirs: str) -> str:
    """Return the only parent of a commit where it is below another one: it is their merge base."""
    _, parents = read_git_files.read_commit(top, theirs)
    below = ours
    for _ in range(_MOST_COMMITS):
        if (below,) == parents:
            return below
        _, above = read_git_files.read_commit(top, below)
        if len(above) != 1 or below == theirs:
            break
        below = above[0]
    raise NeedsGit


async def merge_changes(git: Git, tree: str, before: str, after: str) -> str | Conflicts:
    """Return a tree with the changes between two other trees."""
    if before == after or tree == before:
        return after if tree == before else tree
    base = await snapshot.commit_tree(git, before, [], "the base of a merge")
    sides = [await snapshot.commit_tree(git, side, [base], "one side of a merge") for side in (tree, after)]
    return await merged_tree(git, *sides)


async def carry(git: Git, tree: str, before: str, after: str) -> str:
    """Return a tree with the changes between two other trees; where they conflict, with whole files of the last."""
    merged = await merge_changes(git, tree, before, after)
    return (
        await overlay(git, tree, after, await snapshot.changes(git, before, after))
        if isinstance(merged, Conflicts)
        else merged
    )


async def overlay(git: Git, tree: str, source: str, paths: Collection[str]) -> str:
    """Return a tree in which these files are as in another tree, or missing as there."""
    if not paths or tree == source:
        return tree
    wanted = frozenset(paths)
    entries = [
        line
        for line in await git.names("ls-tree", "-r", "-z", "--full-tree", source)
        if line.partition("\t")[2] in wanted
    ]
    return await tree_of_entries(git, entries, tree=tree, without=paths)


async def tree_of_entries(
    git: Git, entries: Collection[str], *, tree: str | None = None, without: Collection[str] = ()
) -> str:
    """Return a tree of these lines of `ls-tree`, added to those of `tree` that are not `without`."""
    index = private_indexes.private_index_path(await git.git_path("index"))
    own = {"GIT_INDEX_FILE": str(index)}
    try:
        await git.run("read-tree", tree or "--empty", variables=own)
        listed = b"".join(os.fsencode(path) + b"\0" for path in without)
        await git.run("update-index", "--force-remove", "-z", "--stdin", stdin=listed, variables=own)
        added = b"".join(os.fsencode(entry) + b"\0" for entry in entries)
        await git.run("update-index", "-z", "--index-info", stdin=added, variables=own)
        return await git.text("write-tree", variables=own)
    finally:
        private_indexes.remove_index(index)


def _conflicts(rest: list[str]) -> Conflicts:
    """Parse names up to an empty one, then messages in groups: number of paths, paths, kind, text."""
    end = rest.index("") if "" in rest else len(rest)
    messages = [part.strip() for part in rest[end + 1 :] if part.startswith("CONFLICT")]
    return Conflicts(tuple(dict.fromkeys(rest[:end])), "\n".join(messages))
