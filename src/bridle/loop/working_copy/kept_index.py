"""The index of a working copy while a hook of the user runs: afterwards it is as it was, byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from bridle.ground import disk
from bridle.loop.working_copy import stale_git_locks
from bridle.workspace import private_indexes
from bridle.workspace.git import Git
from bridle.workspace.git_folder import index_file
from bridle.workspace.restore import put_index

# A million files have an index of 100 MB.
_LIMIT_BYTES = 512 * 1024 * 1024


class KeptIndex(Struct, frozen=True):
    """An index, and what git must know of its file."""

    path: Path
    data: bytes | None = None
    """None where there is no index."""
    facts: os.stat_result | None = None


async def read(git: Git) -> KeptIndex:
    """Read the index before a hook runs."""
    path = await git.index_path()
    if index_file.identify(path) is None:
        return KeptIndex(path)
    return KeptIndex(path, disk.read_bounded(path, _LIMIT_BYTES), path.stat())


async def restore(folder: Path, before: KeptIndex) -> KeptIndex:
    """Restore the index without starting git; return the one that was there.

    What is not a file stays: git cannot read it, and that is undone as after a check.
    """
    path = before.path
    if index_file.identify(path) is None and os.path.lexists(path):
        return before
    left = disk.read_if_exists(path, _LIMIT_BYTES)
    if left == before.data:
        return before
    await stale_git_locks.clear(folder)
    if before.data is None or before.facts is None:
        path.unlink(missing_ok=True)
    else:
        await put_index(path, before.data, before.facts)
    return KeptIndex(path, left)


async def changed_names(git: Git, before: KeptIndex, after: KeptIndex) -> list[str]:
    """Return the files whose entries differ; the index itself where git cannot read one."""
    if after.data == before.data:
        return []
    old, new = await _entries(git, before), await _entries(git, after)
    if old is None or new is None:
        return [".git/index"]
    return sorted({line.partition("\t")[2] for line in old ^ new})


async def _entries(git: Git, index: KeptIndex) -> set[str] | None:
    """Return the entries with their marks, modes, objects and names."""
    if index.data is None:
        return set()
    path = private_indexes.private_index_path(index.path)
    try:
        disk.write_private(path, index.data)
        words = ("ls-files", "-v", "--stage", "-z")
        code, text = await git.run(*words, variables={"GIT_INDEX_FILE": str(path)}, accepts=(0, 128))
    finally:
        private_indexes.remove_index(path)
    return None if code else set(text.split("\0")) - {""}
