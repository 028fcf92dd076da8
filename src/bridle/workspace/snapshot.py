"""Snapshots of a working copy, with untracked files and the index, under refs of Bridle's own.

Ignored files are never part of a snapshot or changed by a restore. Taking one changes neither the files nor the index.
Of a repository inside the working copy only the commit that is checked out is recorded.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bridle.errors import GitError
from bridle.ground import clock, disk, ids
from bridle.ground.descendants import census
from bridle.workspace import exact_bytes, read_git_files, ref_lock
from bridle.workspace.add_files import NO_SHORTCUTS, add_all, clear_marks
from bridle.workspace.git import FALLBACK_ADDRESS, FALLBACK_NAME, Git, check_branch

K = TypeVar("K")

REFS = "refs/bridle/snapshots/"

# The header of an index of version 2; later versions can hold more.
_PLAIN_INDEX = b"DIRC\0\0\0\2"
# A loop alternates between a few.
_CACHE_SIZE = 8

_PRIVATE_INDEX = re.compile(r"bridle-(\d+)-[0-9a-f]{32}\.index(?:\.lock)?")
_AUTHOR = {
    "GIT_AUTHOR_NAME": FALLBACK_NAME,
    "GIT_AUTHOR_EMAIL": FALLBACK_ADDRESS,
    "GIT_COMMITTER_NAME": FALLBACK_NAME,
    "GIT_COMMITTER_EMAIL": FALLBACK_ADDRESS,
}


@dataclass(frozen=True)
class Snapshot:
    """The recorded state of a working copy."""

    name: str
    commit: str
    """A commit whose tree is all files; its parents are the commit that was checked out, and the index."""
    tree: str
    index_tree: str
    head: str | None
    branch: str | None

    @property
    def ref(self) -> str:
        """The ref that keeps it from garbage collection."""
        return REFS + self.name


async def take(git: Git, *, name: str | None = None, why: str = "snapshot", since: Snapshot | None = None) -> Snapshot:
    """Record the working copy; return `since` where nothing has changed since that snapshot."""
    name = ids.check_id(name, what="snapshot") if name is not None else ids.new_id()
    head, branch = await git.head(), await git.branch()
    async with _private_index(git) as own:
        index_tree = await _index_tree(git, own)
        await own.fill(await exact_bytes.flags(git))
        tree = await own.tree()
    if since is not None and (since.tree, since.index_tree, since.head) == (tree, index_tree, head):
        return since
    commit = await write(git, name, tree=tree, index_tree=index_tree, head=head, why=why)
    return Snapshot(name, commit, tree, index_tree, head, branch)


async def write(git: Git, name: str, *, tree: str, index_tree: str, head: str | None, why: str) -> str:
    """Write a snapshot of these trees, also over one of that name; return its commit."""
    index_commit = await commit_tree(git, index_tree, [head] if head else [], "the index")
    commit = await commit_tree(git, tree, [parent for parent in (head, index_commit) if parent], why)
    await _write_ref(git, REFS + name, commit)
    return commit


async def _write_ref(git: Git, ref: str, commit: str) -> None:
    await ref_lock.remove_stale(git, ref)
    try:
        if not await git.is_plain():
            raise read_git_files.NeedsGit
        read_git_files.write_ref(git.folder, ref, commit)
    except read_git_files.NeedsGit:
        await git.run("update-ref", ref, commit)


async def tree_of_all(git: Git, *, as_committed: bool = False) -> str:
    """Return the tree of everything in the working copy that is not ignored; see `index_of_all`."""
    async with _private_index(git) as own:
        await own.fill([] if as_committed else await exact_bytes.flags(git))
        return await own.tree()


async def tree_of_index(git: Git, variables: Mapping[str, str]) -> str:
    """Return the tree of an index that `index_of_all` created."""
    return await _PrivateIndex(git, path := Path(variables["GIT_INDEX_FILE"]), path).tree()


async def staged_tree(git: Git) -> str:
    async with _private_index(git) as own:
        return await own.tree()


async def find(git: Git, name: str) -> Snapshot | None:
    """Return the snapshot of that name; None where there is none."""
    ids.check_id(name, what="snapshot")
    commit = await git.object(f"{REFS}{name}^{{commit}}")
    if commit is None:
        return None
    *heads, index = await git.parents_of(commit)
    tree, index_tree = [await git.tree_of(parent) for parent in (commit, index)]
    return Snapshot(name, commit, tree, index_tree, heads[0] if heads else None, None)


async def replace_tree(git: Git, snapshot: Snapshot, tree: str) -> None:
    """Let the ref of a snapshot keep another tree."""
    parents = list(await git.parents_of(snapshot.commit))
    await _write_ref(git, snapshot.ref, await commit_tree(git, tree, parents, "snapshot"))


async def changes(git: Git, before: str, after: str) -> list[str]:
    """Return the files that differ between two trees or commits."""
    return await git.names("diff", "--name-only", "--no-renames", "-z", before, after)


async def drop(git: Git, snapshot: Snapshot) -> None:
    git.commits.clear()
    await ref_lock.remove_stale(git, snapshot.ref)
    await git.run("update-ref", "-d", snapshot.ref, snapshot.commit)


async def keep_as_branch(git: Git, snapshot: Snapshot, name: str, why: str) -> str:
    """Put the files of a snapshot on a branch, for the user to review; return the commit."""
    commit = snapshot.head
    if commit is None or snapshot.tree != await git.tree_of(commit):
        commit = await commit_tree(git, snapshot.tree, [snapshot.head] if snapshot.head else [], why)
    await git.run("update-ref", f"refs/heads/{check_branch(name)}", commit)
    return commit


@asynccontextmanager
async def index_of_all(
    git: Git, *, as_committed: bool = False, at: Path | None = None
) -> AsyncIterator[dict[str, str]]:
    """Create a private index of all files of the working copy; yield the variable that selects it.

    `as_committed`: with the conversions that a commit makes, so that its tree is that of a commit; else byte for byte.
    `at`: the path of the index, for a caller that resumes after a crash.
    """
    async with _private_index(git, at=at) as own:
        await own.fill([] if as_committed else await exact_bytes.flags(git))
        yield own.variables


class _PrivateIndex:
    """A private copy of the index; written to a file only when git needs it."""

    def __init__(self, git: Git, path: Path, real: Path) -> None:
        self._git = git
        self._path = path
        self._read = _read_index(real)
        """The content to copy; None where it is written, or there is no index."""
        data = self._read[0] if self._read is not None else None
        self._data = data
        self._flags: tuple[str, ...] = ()
        """Those that it was filled with: a git that writes an index may compare files with it."""
        self._digest = _digest(data)
        """The key of its tree in the cache."""
        # An intent-to-add entry is in no tree, and git does not report adding it; version 2 has no such entries.
        self._is_plain = data is not None and data[:8] == _PLAIN_INDEX
        if path == real:
            self._read = None

    @property
    def variables(self) -> dict[str, str]:
        """The variable that selects this index; writes its file."""
        if self._read is not None:
            (data, facts), self._read = self._read, None
            disk.write_private(self._path, data)
            # Git trusts its cached stat data only if the index is newer than the file; a copy with a newer time would
            # hide a change made in the same second.
            os.utime(self._path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        return {"GIT_INDEX_FILE": str(self._path)}

    def remove(self) -> None:
        if self._read is None:
            remove_index(self._path)

    async def tree(self) -> str:
        """Return its tree; run git only for an index that is not cached."""
        cached = self._git.trees.get(self._digest) if self._digest is not None else None
        if cached is not None and read_git_files.has_loose_object(self._git.folder, cached):
            return cached
        tree = await self._git.text(*self._flags, "write-tree", variables=self.variables)
        if self._digest is not None:
            _cache(self._git.trees, self._digest, tree)
        return tree

    async def fill(self, flags: Sequence[str]) -> None:
        """Add all files of the working copy."""
        self._flags = tuple(flags)
        if self._data is not None and b"link" in self._data:  # the extension of a split index, or a name
            await self._git.run(*NO_SHORTCUTS, "update-index", "--no-split-index", variables=self.variables)
        is_changed = False
        if self._digest is None or self._digest not in self._git.unmarked:
            has_marks = await clear_marks(self._git, self.variables)
            if self._digest is not None and not has_marks:
                self._git.unmarked = frozenset({self._digest})
        if flags and await exact_bytes.may_convert(self._git, self._data):
            is_changed = await exact_bytes.forget_converted(self._git, self.variables)
        is_changed |= bool(await add_all(self._git, self.variables, flags))
        if is_changed or not self._is_plain:
            self._digest = _digest(self._path.read_bytes() if self._path.exists() else None)


def _digest(data: bytes | None) -> bytes | None:
    return hashlib.sha256(data).digest() if data is not None else None


@asynccontextmanager
async def _private_index(git: Git, *, at: Path | None = None) -> AsyncIterator[_PrivateIndex]:
    real = await git.index_path()
    if at is not None:
        remove_index(at)  # of a killed process; a lock that its git left would block ours
    index = _PrivateIndex(git, at or private_index_path(real), real)
    try:
        yield index
    finally:
        index.remove()


def remove_index(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".lock").unlink(missing_ok=True)


def _read_index(real: Path) -> tuple[bytes, os.stat_result] | None:
    """Return the index and its stat data; None where there is none. With it git need not read unchanged files again."""
    try:
        facts = real.stat()
        return real.read_bytes(), facts
    except FileNotFoundError:
        return None


def _cache(cache: dict[K, str], key: K, value: str) -> None:
    while len(cache) >= _CACHE_SIZE:
        del cache[next(iter(cache))]
    cache[key] = value


def private_index_path(real: Path) -> Path:
    """Return a new path for a private index; its name has our process id."""
    return real.with_name(f"bridle-{os.getpid()}-{ids.new_token()}.index")


async def clear_indexes(git: Git) -> None:
    """Remove the private indexes that killed processes left."""
    folder = (await git.index_path()).parent
    for name in os.listdir(folder):
        owner = _PRIVATE_INDEX.fullmatch(name)
        entry = census.find_process(int(owner[1])) if owner is not None else None
        if owner is not None and (entry is None or not entry.is_alive):
            (folder / name).unlink(missing_ok=True)


async def commit_tree(git: Git, tree: str, parents: list[str], why: str) -> str:
    """Write a commit that is on no branch; return the cached one where it is the same."""
    key = (tree, *parents, why)
    if key not in git.commits or not read_git_files.has_loose_object(git.folder, git.commits[key]):
        _cache(git.commits, key, await _commit_tree(git, tree, parents, f"bridle: {why}"))
    return git.commits[key]


async def _commit_tree(git: Git, tree: str, parents: list[str], text: str) -> str:
    author = f"{FALLBACK_NAME} <{FALLBACK_ADDRESS}>"
    try:
        if not await git.is_plain():
            raise read_git_files.NeedsGit
        return read_git_files.write_commit(git.folder, tree, parents, author, int(clock.now().timestamp()), text)
    except read_git_files.NeedsGit:
        arguments = [argument for parent in parents for argument in ("-p", parent)]
        return (await git.text("commit-tree", tree, *arguments, "-m", text, variables=_AUTHOR)).strip()


async def _index_tree(git: Git, own: _PrivateIndex) -> str:
    """Return the tree of the index; raise GitError for one with unmerged entries."""
    try:
        return await own.tree()
    except GitError as error:
        if not await git.names("diff", "--name-only", "--diff-filter=U", "-z"):
            raise
        raise GitError(
            f"{git.folder} has an unfinished merge or rebase with conflicts",
            remedy="Finish it (git merge --continue) or abort it (git merge --abort).",
        ) from error
