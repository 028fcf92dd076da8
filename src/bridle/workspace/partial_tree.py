"""The tree of a commit without some of the files of a working copy. An index is kept to derive the next one from."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from bridle.workspace import private_indexes
from bridle.workspace.git import Git
from bridle.workspace.git_folder import index_file, read_git_files
from bridle.workspace.git_folder.index_file import Identity

# The mode by which `git update-index --index-info` removes an entry.
_REMOVED = "0" * 6


class PartialTree:
    """An index without these files, and the tree that it was derived from."""

    def __init__(self, git: Git, left_out: tuple[str, ...], path: Path) -> None:
        self._git, self._path = git, path
        self._identity: Identity | None = None
        self._whole = ""
        self._left_out = left_out
        self.tree = ""
        weakref.finalize(self, private_indexes.remove_index, path)

    def drop(self) -> None:
        private_indexes.remove_index(self._path)

    async def derive(self, whole: str) -> str:
        """Return the tree without the files."""
        if whole == self._whole and self._has(self.tree):
            return self.tree
        is_kept = self._identity is not None and index_file.identify(self._path) == self._identity
        is_kept = is_kept and self._has(self._whole) and self._has(self.tree)  # git may have collected garbage
        self._identity = None  # a git that fails leaves it unusable
        if not is_kept:
            private_indexes.remove_index(self._path)
            await self._git.run("read-tree", whole, variables=self._variables)
            listed = b"".join(os.fsencode(name) + b"\0" for name in self._left_out)
            await self._git.run(
                "update-index", "--force-remove", "-z", "--stdin", stdin=listed, variables=self._variables
            )
        elif not await self._update(whole):
            self._whole, self._identity = whole, index_file.identify(self._path)
            return self.tree
        self.tree = await self._git.text("write-tree", variables=self._variables)
        self._whole, self._identity = whole, index_file.identify(self._path)
        return self.tree

    def _has(self, tree: str) -> bool:
        return read_git_files.has_loose_object(self._git.folder, tree)

    @property
    def _variables(self) -> dict[str, str]:
        return {"GIT_INDEX_FILE": str(self._path)}

    async def _update(self, whole: str) -> bool:
        """Apply the changes between the last tree and this one; return whether there were any."""
        words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", self._whole, whole)
        fields = await self._git.names(*words)
        left_out = frozenset(self._left_out)
        removed: list[bytes] = []
        added: list[bytes] = []
        for facts, name in zip(fields[::2], fields[1::2], strict=True):
            _, mode, _, blob, _ = facts.split()
            if name not in left_out:
                line = f"{mode} {blob}\t".encode() + os.fsencode(name)
                (removed if mode == _REMOVED else added).append(line)
        # Removed ones first: a file may have become a folder.
        stdin = b"".join(line + b"\0" for line in (*removed, *added))
        if stdin:
            await self._git.run("update-index", "-z", "--index-info", stdin=stdin, variables=self._variables)
        return bool(stdin)


async def tree_without(git: Git, whole: str, left_out: tuple[str, ...]) -> str:
    """Return a tree without these files."""
    if not left_out:
        return whole
    partial: PartialTree | None = git.partial_trees.get(left_out)
    if partial is None:
        for other in git.partial_trees.values():
            other.drop()
        path = private_indexes.private_index_path(await git.index_path())
        partial = PartialTree(git, left_out, path)
        git.partial_trees = {left_out: partial}
    return await partial.derive(whole)
