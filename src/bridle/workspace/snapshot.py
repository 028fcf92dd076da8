"""Snapshots of a working copy, with untracked files and the index, under refs of Bridle's own.

Ignored files are never part of a snapshot or changed by a restore. Taking one changes neither the files nor the index.
Of a repository inside the working copy only the commit that is checked out is recorded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

from msgspec import Struct

from bridle.errors import GitError
from bridle.ground import clock, disk, ids
from bridle.workspace import files_index, gc_lock, marks, private_indexes
from bridle.workspace.files_index import look
from bridle.workspace.git import FALLBACK_ADDRESS, FALLBACK_NAME, Git, check_branch
from bridle.workspace.git_folder import index_file, read_git_files, write_git_files
from bridle.workspace.repair import lost_objects, ref_lock

K = TypeVar("K")

REFS = "refs/bridle/snapshots/"

# A loop alternates between a few.
_CACHE_SIZE = 8

_AUTHOR = {
    "GIT_AUTHOR_NAME": FALLBACK_NAME,
    "GIT_AUTHOR_EMAIL": FALLBACK_ADDRESS,
    "GIT_COMMITTER_NAME": FALLBACK_NAME,
    "GIT_COMMITTER_EMAIL": FALLBACK_ADDRESS,
}


class Snapshot(Struct, frozen=True):
    """The recorded state of a working copy."""

    name: str
    commit: str
    """A commit whose tree is all files; its parents are the commit that was checked out, and the index.

    Where files are marked, the commit of the index has another parent, with the marks.
    """
    tree: str
    index_tree: str
    head: str | None
    branch: str | None
    marks: str = ""
    """The tree with the marks of files, see `marks`; empty for none, and in snapshots of earlier versions."""

    @property
    def ref(self) -> str:
        """The ref that keeps it from garbage collection."""
        return REFS + self.name


async def take(
    git: Git, *, name: str | None = None, why: str = "snapshot", since: Snapshot | None = None, is_known: bool = False
) -> Snapshot:
    """Record the working copy; return `since` where nothing has changed since that snapshot.

    `is_known`: the files are as at the last look.
    """
    name = ids.check_id(name, what="snapshot") if name is not None else ids.new_id()
    async with gc_lock.hold(git):
        return await _take(git, name, why, since, is_known=is_known)


async def _take(git: Git, name: str, why: str, since: Snapshot | None, *, is_known: bool) -> Snapshot:
    head, branch = await git.head(), await git.branch()
    index_tree = await staged_tree(git)
    tree = await tree_of_all(git, is_known=is_known)
    marked = await marks.record(git)
    if since is not None and (since.tree, since.index_tree, since.head, since.marks) == (
        tree,
        index_tree,
        head,
        marked,
    ):
        return since
    commit = await write(git, name, tree=tree, index_tree=index_tree, head=head, marked=marked, why=why)
    return Snapshot(name, commit, tree, index_tree, head, branch, marked)


async def write(git: Git, name: str, *, tree: str, index_tree: str, head: str | None, marked: str, why: str) -> str:
    """Write a snapshot of these trees, also over one of that name; return its commit."""
    parents = [head] if head else []
    if marked:
        parents.append(await commit_tree(git, marked, [], "marks of files"))
    index_commit = await commit_tree(git, index_tree, parents, "the index")
    commit = await commit_tree(git, tree, [parent for parent in (head, index_commit) if parent], why)
    await write_ref(git, REFS + name, commit)
    return commit


async def write_ref(git: Git, ref: str, commit: str) -> None:
    """Point a ref of Bridle's to a commit."""
    await ref_lock.remove_stale(git, ref)
    try:
        if not await git.is_plain():
            raise read_git_files.NeedsGit
        write_git_files.write_ref(git.folder, ref, commit)
    except read_git_files.NeedsGit:
        await git.run("update-ref", "--no-deref", ref, commit)


async def tree_of_all(git: Git, *, as_committed: bool = False, is_known: bool = False) -> str:
    """Return the tree of everything in the working copy that is not ignored; see `files_index.look`."""
    async with look(git, as_committed=as_committed, is_known=is_known) as index:
        return index.tree


async def staged_tree(git: Git) -> str:
    """Return the tree of the index; raise GitError for one with unmerged entries."""
    real = await git.index_path()
    identity = index_file.identify(real)
    cached = git.trees.get(identity) if identity is not None else None
    if cached is not None and read_git_files.has_loose_object(git.folder, cached):
        return cached
    path = private_indexes.private_index_path(real)  # git would write the ids of trees into the index
    try:
        if identity is not None:
            disk.write_private(path, real.read_bytes())
        tree = await _write_tree(git, {"GIT_INDEX_FILE": str(path)})
    finally:
        private_indexes.remove_index(path)
    if identity is not None:
        _cache(git.trees, identity, tree)
    return tree


async def find(git: Git, name: str) -> Snapshot | None:
    """Return the snapshot of that name; None if it does not exist, or git has lost its objects."""
    ids.check_id(name, what="snapshot")
    commit = await git.object(f"{REFS}{name}^{{commit}}")
    if commit is None:
        return None
    try:
        tree, (*heads, index) = await git.read_commit(commit)
        index_tree, above = await git.read_commit(index)
        marked = await git.tree_of(above[-1]) if len(above) > len(heads) else ""
    except GitError:
        if await lost_objects.has_trees(git, commit):
            raise
        return None
    return Snapshot(name, commit, tree, index_tree, heads[0] if heads else None, None, marked)


async def replace_tree(git: Git, snapshot: Snapshot, tree: str) -> None:
    """Let the ref of a snapshot keep another tree."""
    parents = list(await git.parents_of(snapshot.commit))
    await write_ref(git, snapshot.ref, await commit_tree(git, tree, parents, "snapshot"))


async def changes(git: Git, before: str, after: str) -> list[str]:
    """Return the files that differ between two trees or commits."""
    return await git.names("diff", "--name-only", "--no-renames", "-z", before, after)


async def drop(git: Git, snapshot: Snapshot) -> None:
    git.commits.clear()
    await ref_lock.remove_stale(git, snapshot.ref)
    await git.run("update-ref", "--no-deref", "-d", snapshot.ref, snapshot.commit)


async def keep_as_branch(git: Git, snapshot: Snapshot, name: str, why: str) -> str:
    """Put the files of a snapshot on a branch, for the user to review; return the commit."""
    commit = snapshot.head
    if commit is None or snapshot.tree != await git.tree_of(commit):
        commit = await commit_tree(git, snapshot.tree, [snapshot.head] if snapshot.head else [], why)
    await git.run("update-ref", "--no-deref", f"refs/heads/{check_branch(name)}", commit)
    return commit


@asynccontextmanager
async def index_of_all(git: Git, *, as_committed: bool = False) -> AsyncIterator[dict[str, str]]:
    """Create a private index of all files, which may be changed; yield the variable that selects it."""
    async with look(git, as_committed=as_committed) as index:
        try:
            index.trust_sizes()
            yield index.variables
        finally:
            files_index.drop(git)


def _cache(cache: dict[K, str], key: K, value: str) -> None:
    while len(cache) >= _CACHE_SIZE:
        del cache[next(iter(cache))]
    cache[key] = value


async def commit_tree(git: Git, tree: str, parents: list[str], why: str) -> str:
    """Write a commit that is on no branch; return the cached one where it is the same."""
    key = (tree, *parents, why)
    if key not in git.commits or not read_git_files.has_loose_object(git.folder, git.commits[key]):
        _cache(git.commits, key, await _commit_tree(git, tree, parents, f"bridle: {why}"))
    return git.commits[key]


async def _commit_tree(git: Git, tree: str, parents: list[str], text: str) -> str:
    author = f"{FALLBACK_NAME} <{FALLBACK_ADDRESS}> {int(clock.now().timestamp())} +0000"
    try:
        if not await git.is_plain():
            raise read_git_files.NeedsGit
        return write_git_files.write_commit(git.folder, tree, parents, author, author, text)
    except read_git_files.NeedsGit:
        arguments = [argument for parent in parents for argument in ("-p", parent)]
        return (await git.text("commit-tree", tree, *arguments, "-m", text, variables=_AUTHOR)).strip()


async def _write_tree(git: Git, variables: Mapping[str, str]) -> str:
    try:
        return await git.text("write-tree", variables=variables)
    except GitError as error:
        unmerged = list(dict.fromkeys(await git.names("diff", "--name-only", "--diff-filter=U", "-z")))
        if not unmerged:
            raise
        raise GitError(
            f"files of {git.folder} are in conflict: {', '.join(unmerged)}",
            remedy="Resolve the conflicts and `git add` the files, or abort the merge (git merge --abort).",
        ) from error
