"""The index of a working copy while a hook of the user runs: afterwards it is as it was, byte for byte.

A file in the run's folder has it while the hook runs: if Bridle is killed too, the next driver restores it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from bridle.errors import GitError
from bridle.ground import disk
from bridle.loop.working_copy import stale_git_locks
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import private_indexes, snapshot
from bridle.workspace.git import Git
from bridle.workspace.git_folder import index_file
from bridle.workspace.merge import overlay
from bridle.workspace.restore import put_index, stage

FILE = "bridle-hook"
# A million files have an index of 100 MB.
_LIMIT_BYTES = 512 * 1024 * 1024
# Names in one line.
_SHOWN = 10


class KeptIndex(Struct, frozen=True):
    """An index, and what git must know of its file."""

    path: Path
    data: bytes | None = None
    """None where there is no index."""
    facts: os.stat_result | None = None
    head: str | None = None
    """The commit that was checked out."""


class _Header(Struct, frozen=True):
    """The first line of the file in the run's folder, which has the times of the index; the index follows."""

    head: str | None
    is_there: bool


async def keep(context: RunContext) -> KeptIndex:
    """Read the index before a hook runs, and keep it in the run's folder until it is restored."""
    await recover(context)
    kept = await _read(context.git)
    header = msgspec.json.encode(_Header(kept.head, is_there=kept.data is not None))
    disk.write_atomic(_file(context), header + b"\n" + (kept.data or b""))
    if kept.facts is not None:
        os.utime(_file(context), ns=(kept.facts.st_atime_ns, kept.facts.st_mtime_ns))
    return kept


async def _read(git: Git) -> KeptIndex:
    path, head = await git.index_path(), await git.head()
    if index_file.identify(path) is None:
        return KeptIndex(path, head=head)
    return KeptIndex(path, disk.read_bounded(path, _LIMIT_BYTES), path.stat(), head)


async def restore(context: RunContext, before: KeptIndex) -> KeptIndex:
    """Restore the index without starting git; return the one that was there."""
    left = await _restore(context.folder, before)
    _file(context).unlink(missing_ok=True)
    return left


async def _restore(folder: Path, before: KeptIndex) -> KeptIndex:
    """Restore an index. What is not a file stays: git cannot read it, and that is undone as after a check."""
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


async def recover(context: RunContext) -> None:
    """Restore the index that a hook had changed when Bridle was killed; a snapshot keeps the one that was there.

    On top of a commit of the user, only the files that this commit has not changed are restored in the index.
    """
    file = _file(context)
    if not os.path.lexists(file):
        return
    git, before = context.git, await _load(context)
    if before is not None and await changed_names(git, before, found := await _read(git)):
        await stale_git_locks.clear(context.folder)
        where = await _keep_found(context, found)
        if found.head == before.head or found.head is None or before.head is None:
            await _restore(context.folder, before)
            names = await changed_names(git, before, found)
        else:
            names = await _restore_others(git, before, found)
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        context.say(
            f"a git hook was interrupted; what was staged since ({shown}) is reverted in the index, and kept as {where}"
        )
    file.unlink()


async def _load(context: RunContext) -> KeptIndex | None:
    facts = _file(context).stat()
    header, _, data = disk.read_bounded(_file(context), _LIMIT_BYTES).partition(b"\n")
    try:
        kept = msgspec.json.decode(header, type=_Header)
    except msgspec.DecodeError:
        return None
    return KeptIndex(await context.git.index_path(), data if kept.is_there else None, facts, kept.head)


async def _keep_found(context: RunContext, found: KeptIndex) -> str:
    """Keep an index in a snapshot; return its ref, or the path of a copy where git cannot read it."""
    digest = hashlib.sha256(found.data or b"").hexdigest()[:12]
    try:
        name = f"{context.run.lower()}-hook-{digest}"
        return f"{(await snapshot.take(context.git, name=name, why='left by an interrupted git hook')).ref}^2"
    except GitError:
        copy = context.run_folder / f"{FILE}-{digest}.index"
        disk.write_atomic(copy, found.data or b"")
        return str(copy)


async def _restore_others(git: Git, before: KeptIndex, found: KeptIndex) -> list[str]:
    """Restore the entries that commits since have not changed; return their names."""
    old, new = await _tree(git, before), await snapshot.staged_tree(git)
    committed = await snapshot.changes(git, str(before.head), str(found.head))
    names = sorted({*await snapshot.changes(git, old, new)}.difference(committed))
    await stage(git, await overlay(git, new, old, names))
    return names


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


async def _tree(git: Git, index: KeptIndex) -> str:
    path = private_indexes.private_index_path(index.path)
    try:
        if index.data is not None:
            disk.write_private(path, index.data)
        return await git.text("write-tree", variables={"GIT_INDEX_FILE": str(path)})
    finally:
        private_indexes.remove_index(path)


def _file(context: RunContext) -> Path:
    suffix = "" if context.worker is None else f"-{context.worker}"
    return context.run_folder / f"{FILE}{suffix}.index"
