"""A snapshot: everything in a working copy, untracked files and the index included, kept under a ref of our own.

Ignored files are in no snapshot and are touched by no restore. Taking one changes neither the files nor the index.
A repository inside the working copy is kept as the commit it is at, not with its files.
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
from bridle.workspace import read_git_files, ref_lock
from bridle.workspace.git import FALLBACK_ADDRESS, FALLBACK_NAME, Git, check_branch

K = TypeVar("K")

REFS = "refs/bridle/snapshots/"

# Settings under which git looks at the files themselves, whatever the repository has been told to take for granted.
HONEST = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.ignoreStat=false"),
    *("-c", "core.checkStat=default"),
    *("-c", "core.trustctime=true"),
    *("-c", "advice.addEmbeddedRepo=false"),
)

# What git says about a repository inside the working copy that has nothing to point at yet, and about a file that may
# not be read, such as one that a container wrote as somebody else.
_CANNOT_ADD = re.compile(r"error: '(.+?)' does not have a commit checked out|error: unable to index file '(.+?)'")
# More of them than a slip of the hand explains.
_NESTED_LIMIT = 16

_FILTER = re.compile(r"filter\..*\.(?:clean|smudge|process|required)", re.DOTALL)
# How an index of the second version begins; later ones can hold more.
_PLAIN_INDEX = b"DIRC\0\0\0\2"
# As many as a loop goes to and fro between.
_REMEMBERED = 8

_OWN_INDEX = re.compile(r"bridle-(\d+)-[0-9a-f]{32}\.index(?:\.lock)?")
_WHO = {
    "GIT_AUTHOR_NAME": FALLBACK_NAME,
    "GIT_AUTHOR_EMAIL": FALLBACK_ADDRESS,
    "GIT_COMMITTER_NAME": FALLBACK_NAME,
    "GIT_COMMITTER_EMAIL": FALLBACK_ADDRESS,
}


@dataclass(frozen=True)
class Snapshot:
    """What a working copy was like."""

    name: str
    commit: str
    """A commit whose tree is all files; its parents are the commit that was checked out, and the index."""
    tree: str
    index_tree: str
    head: str | None
    branch: str | None

    @property
    def ref(self) -> str:
        """What keeps it from being collected."""
        return REFS + self.name


async def take(git: Git, *, name: str | None = None, why: str = "snapshot", since: Snapshot | None = None) -> Snapshot:
    """Keep everything as it is now; where that is as in the snapshot `since`, that one is given back."""
    name = ids.check_id(name, what="snapshot") if name is not None else ids.new_id()
    head, branch = await git.head(), await git.branch()
    async with _own_index(git) as own:
        index_tree = await _staged(git, own)
        await own.fill(await no_filters(git))
        tree = await own.tree()
    if since is not None and (since.tree, since.index_tree, since.head) == (tree, index_tree, head):
        return since
    index_commit = await commit_tree(git, index_tree, [head] if head else [], "the index")
    commit = await commit_tree(git, tree, [parent for parent in (head, index_commit) if parent], why)
    await _hold(git, REFS + name, commit)
    return Snapshot(name, commit, tree, index_tree, head, branch)


async def _hold(git: Git, ref: str, commit: str) -> None:
    await ref_lock.free(git, ref)
    try:
        if not await git.is_plain():
            raise read_git_files.Unclear
        read_git_files.write_ref(git.folder, ref, commit)
    except read_git_files.Unclear:
        await git.run("update-ref", ref, commit)


async def tree_of_all(git: Git, *, as_committed: bool = False) -> str:
    """The tree of everything in the working copy that is not ignored; see `index_of_all`."""
    async with _own_index(git) as own:
        await own.fill([] if as_committed else await no_filters(git))
        return await own.tree()


async def tree_of_index(git: Git, variables: Mapping[str, str]) -> str:
    """The tree of an index of our own, as `index_of_all` gives it."""
    return await _OwnIndex(git, path := Path(variables["GIT_INDEX_FILE"]), path).tree()


async def staged_tree(git: Git) -> str:
    """The tree of what is staged."""
    async with _own_index(git) as own:
        return await own.tree()


async def find(git: Git, name: str) -> Snapshot | None:
    """The snapshot of that name; None where there is none."""
    ids.check_id(name, what="snapshot")
    commit = await git.object(f"{REFS}{name}^{{commit}}")
    if commit is None:
        return None
    *heads, index = await git.parents_of(commit)
    tree, index_tree = [await git.tree_of(one) for one in (commit, index)]
    return Snapshot(name, commit, tree, index_tree, heads[0] if heads else None, None)


async def restore(git: Git, snapshot: Snapshot, *, moves_head: bool = True) -> None:
    """Make files and index what they were; with `moves_head`, also the branch that is checked out.

    Whatever was there before the restore and is in no commit is gone: take a snapshot first to keep it.
    """
    filters = await no_filters(git)
    if moves_head and snapshot.head is not None and await git.head() != snapshot.head:
        await git.run("update-ref", "-m", "bridle: restore", "HEAD", snapshot.head)
    # All that is there now counts as tracked for a moment, so that what the snapshot does not have is removed.
    await add_all(git, {}, filters)
    await git.run(*filters, "read-tree", "--reset", "-u", snapshot.tree)
    await git.run("read-tree", "--reset", snapshot.index_tree)
    await git.run(*filters, "update-index", "-q", "--refresh", accepts=(0, 1))


async def changes(git: Git, before: str, after: str) -> list[str]:
    """The names of files that differ between two trees or commits."""
    return await git.names("diff", "--name-only", "--no-renames", "-z", before, after)


async def drop(git: Git, snapshot: Snapshot) -> None:
    """Let it be collected."""
    git.commits.clear()
    await ref_lock.free(git, snapshot.ref)
    await git.run("update-ref", "-d", snapshot.ref, snapshot.commit)


async def keep_as_branch(git: Git, snapshot: Snapshot, name: str, why: str) -> str:
    """Put what a snapshot holds on a branch, for a person to look at and to merge; gives the commit."""
    commit = snapshot.head
    if commit is None or snapshot.tree != await git.tree_of(commit):
        commit = await commit_tree(git, snapshot.tree, [snapshot.head] if snapshot.head else [], why)
    await git.run("update-ref", f"refs/heads/{check_branch(name)}", commit)
    return commit


@asynccontextmanager
async def index_of_all(
    git: Git, *, as_committed: bool = False, at: Path | None = None
) -> AsyncIterator[dict[str, str]]:
    """An index that nobody else sees, with all files of the working copy in it; gives the variable that names it.

    `as_committed`: with the conversions that a commit makes, so that its tree is that of a commit; else byte for byte.
    `at`: where to keep it, for a caller who will be back after a crash.
    """
    async with _own_index(git, at=at) as own:
        await own.fill([] if as_committed else await no_filters(git))
        yield own.variables


class _OwnIndex:
    """A copy of the index that nobody else sees; it becomes a file where git has to be asked about it."""

    def __init__(self, git: Git, path: Path, real: Path) -> None:
        self._git = git
        self._path = path
        self._read = _read_index(real)
        """What is to be copied; None where that is done, or there is nothing."""
        data = self._read[0] if self._read is not None else None
        self._digest = _digest(data)
        """By which its tree is known, if the same index was seen before."""
        # A file that is only meant to be added is in no tree of the index, and adding it changes nothing that git would
        # tell: the plain form of an index has no such files.
        self._is_plain = data is not None and data[:8] == _PLAIN_INDEX
        if path == real:
            self._read = None

    @property
    def variables(self) -> dict[str, str]:
        """The variable that makes git work with it."""
        if self._read is not None:
            (data, facts), self._read = self._read, None
            disk.write_private(self._path, data)
            # Git trusts what it knows about a file only if the index is younger than the file; a copy that looks
            # younger than it is would hide a change made in the same second.
            os.utime(self._path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        return {"GIT_INDEX_FILE": str(self._path)}

    def remove(self) -> None:
        """Leave nothing of it behind."""
        if self._read is None:
            _remove_index(self._path)

    async def tree(self) -> str:
        """Its tree; git is asked only where the same index was not seen before."""
        known = self._git.trees.get(self._digest) if self._digest is not None else None
        if known is not None:
            return known
        found = await self._git.text("write-tree", variables=self.variables)
        if self._digest is not None:
            _remember(self._git.trees, self._digest, found)
        return found

    async def fill(self, flags: Sequence[str]) -> None:
        """Put all files of the working copy into it."""
        if self._digest is None or self._digest not in self._git.uncovered:
            is_covering = await _uncover(self._git, self.variables)
            if self._digest is not None and not is_covering:
                self._git.uncovered = frozenset({self._digest})
        is_changed = (await _add_all(self._git, self.variables, flags))[1]
        if is_changed or not self._is_plain:
            self._digest = _digest(self._path.read_bytes() if self._path.exists() else None)


def _digest(data: bytes | None) -> bytes | None:
    return hashlib.sha256(data).digest() if data is not None else None


@asynccontextmanager
async def _own_index(git: Git, *, at: Path | None = None) -> AsyncIterator[_OwnIndex]:
    real = await git.index_path()
    if at is not None:
        _remove_index(at)  # of one that was killed; its git may have left a lock, and would keep ours out
    own = _OwnIndex(git, at or own_index_path(real), real)
    try:
        yield own
    finally:
        own.remove()


def _remove_index(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".lock").unlink(missing_ok=True)


async def add_all(git: Git, variables: Mapping[str, str], flags: Sequence[str] = ()) -> list[str]:
    """Put all files of the working copy into an index; gives what cannot be: repositories without any commit."""
    return (await _add_all(git, variables, flags))[0]


async def _add_all(git: Git, variables: Mapping[str, str], flags: Sequence[str]) -> tuple[list[str], bool]:
    """The same; gives, too, whether anything was not in the index as it is."""
    left_out: list[str] = []
    while True:
        words = ["--", ":/", *(f":(exclude,literal){name}" for name in left_out)] if left_out else []
        try:
            _, told = await git.run(*flags, *HONEST, "add", "-A", "--verbose", *words, variables=variables)
        except GitError as error:
            found = [(one[1] or one[2]).rstrip("/") for one in _CANNOT_ADD.finditer(error.message)]
            new = [name for name in dict.fromkeys(found) if name not in left_out]
            if not new or len(left_out) >= _NESTED_LIMIT:
                raise
            left_out += new
        else:
            return left_out, bool(told or left_out)


def _read_index(real: Path) -> tuple[bytes, os.stat_result] | None:
    """What git knows about unchanged files is worth keeping: they need not be read again. None where there is none."""
    try:
        facts = real.stat()
        return real.read_bytes(), facts
    except FileNotFoundError:
        return None


async def _uncover(git: Git, variables: Mapping[str, str]) -> bool:
    """Look at files, too, that the index was told not to look at; whether there are any, and so another look is due.

    What a sparse checkout leaves out stays out.
    """
    marked = [
        (line[0], line[2:])
        for line in await git.names("ls-files", "-v", "-z", variables=variables)
        if line[0] == "S" or line[0].islower()
    ]
    shown = [name for mark, name in marked if mark not in "Ss" or os.path.lexists(git.folder / name)]
    if shown:
        given = b"\0".join(os.fsencode(name) for name in shown)
        for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
            await git.run("update-index", flag, "-z", "--stdin", given=given, variables=variables)
    return bool(marked)


def _remember(known: dict[K, str], key: K, value: str) -> None:
    while len(known) >= _REMEMBERED:
        del known[next(iter(known))]
    known[key] = value


def own_index_path(real: Path) -> Path:
    """A name for an index of our own, which tells whose it is."""
    return real.with_name(f"bridle-{os.getpid()}-{ids.new_token()}.index")


async def clear_indexes(git: Git) -> None:
    """Remove the indexes that killed programs of ours left beside the real one."""
    folder = (await git.index_path()).parent
    for name in os.listdir(folder):
        owner = _OWN_INDEX.fullmatch(name)
        entry = census.look(int(owner[1])) if owner is not None else None
        if owner is not None and (entry is None or not entry.is_alive):
            (folder / name).unlink(missing_ok=True)


async def commit_tree(git: Git, tree: str, parents: list[str], why: str) -> str:
    """A commit of ours that is on no branch; the one that was made last time, where it is the same."""
    key = (tree, *parents, why)
    if key not in git.commits:
        _remember(git.commits, key, await _commit_tree(git, tree, parents, f"bridle: {why}"))
    return git.commits[key]


async def _commit_tree(git: Git, tree: str, parents: list[str], text: str) -> str:
    who = f"{FALLBACK_NAME} <{FALLBACK_ADDRESS}>"
    try:
        if not await git.is_plain():
            raise read_git_files.Unclear
        return read_git_files.write_commit(git.folder, tree, parents, who, int(clock.now().timestamp()), text)
    except read_git_files.Unclear:
        words = [word for parent in parents for word in ("-p", parent)]
        return (await git.text("commit-tree", tree, *words, "-m", text, variables=_WHO)).strip()


async def no_filters(git: Git) -> list[str]:
    """Flags that make git keep files byte for byte: no conversion of line ends, no filters (large file storage)."""
    flags = ["-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "advice.addEmbeddedRepo=false"]
    for name in await git.settings():
        if _FILTER.fullmatch(name):
            flags += ["-c", f"{name}={'false' if name.endswith('.required') else ''}"]
    return flags


async def _staged(git: Git, own: _OwnIndex) -> str:
    """The index as a tree; unmerged entries of a merge under way cannot be one."""
    try:
        return await own.tree()
    except GitError as error:
        if not await git.names("diff", "--name-only", "--diff-filter=U", "-z"):
            raise
        raise GitError(
            f"{git.folder} has a merge or a rebase under way, with conflicts",
            remedy="Finish it (git merge --continue) or leave it (git merge --abort) first.",
        ) from error
