"""Write the tree of an index: without git if it is small and plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.workspace.git import Git
from bridle.workspace.git_folder import index_content, index_tree
from bridle.workspace.git_folder.read_git_files import NeedsGit


async def write_tree(
    git: Git, index: Path, flags: Sequence[str], variables: Mapping[str, str], *, id_length: int
) -> str:
    """Return the tree of an index, which is durable; `flags` and `variables` are those of a git that works with it."""
    try:
        if not await git.is_plain():
            raise NeedsGit
        data = disk.read_bounded(index, index_content.LIMIT_INDEX_BYTES)
        return index_tree.write_tree(git.folder, data, id_length)
    except (NeedsGit, DiskError):  # there is no index without files
        return await git.text(*flags, "write-tree", variables=variables)
