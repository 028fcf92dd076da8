"""Merge without touching the working copy first, so that a conflict leaves nothing half done."""

from __future__ import annotations

from dataclasses import dataclass

from bridle.errors import GitError, UsageError
from bridle.workspace.git import Git


@dataclass(frozen=True)
class Merged:
    """A successful merge: the commit that the branch is at now."""

    commit: str
    was_needed: bool = True
    """False where there was nothing to merge."""


@dataclass(frozen=True)
class Conflicts:
    """A failed merge: the files in conflict. No file was changed."""

    paths: tuple[str, ...]
    details: str


async def merge(git: Git, other: str, text: str) -> Merged | Conflicts:
    """Merge a commit or branch into the branch that is checked out; the working copy must be clean."""
    ours, theirs = await git.head(), await git.object(f"{other}^{{commit}}")
    if ours is None or theirs is None:
        raise UsageError(f"{other!r} cannot be merged: it is not a commit, or HEAD has no commit yet")
    if await git.names("status", "--porcelain", "-z", "--untracked-files=no"):
        raise UsageError(f"{git.folder} has uncommitted changes", remedy="Commit or stash them.")
    base = (await git.run("merge-base", ours, theirs, accepts=(0, 1)))[1].strip()
    if base == theirs:
        return Merged(ours, was_needed=False)
    tree = await merged_tree(git, ours, theirs)
    if isinstance(tree, Conflicts):
        return tree
    flags = [*await git.identity(), "-c", "commit.gpgsign=false"]
    commit = (await git.run(*flags, "commit-tree", tree, "-p", ours, "-p", theirs, "-F", "-", stdin=text.encode()))[1]
    await _check_out(git, ours, commit.strip())
    return Merged(commit.strip())


async def merged_tree(git: Git, ours: str, theirs: str) -> str | Conflicts:
    """Return the tree of a merge of two commits; no file is changed."""
    code, output = await git.run("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs, accepts=(0, 1))
    tree, *rest = output.split("\0")
    return _conflicts(rest) if code == 1 else tree


async def _check_out(git: Git, before: str, after: str) -> None:
    """Move files, index and branch to a commit; an untracked file that would be overwritten stops it first."""
    try:
        await git.run("read-tree", "-m", "-u", before, after)
    except GitError as error:
        raise GitError(
            f"the merge would overwrite an untracked file in {git.folder}: {error.message}",
            remedy="Move or commit that file, and merge again.",
        ) from error
    await git.run("update-ref", "-m", "bridle: merge", "HEAD", after, before)


def _conflicts(rest: list[str]) -> Conflicts:
    """Parse names up to an empty one, then messages in groups: number of paths, paths, kind, text."""
    end = rest.index("") if "" in rest else len(rest)
    messages = [part.strip() for part in rest[end + 1 :] if part.startswith("CONFLICT")]
    return Conflicts(tuple(dict.fromkeys(rest[:end])), "\n".join(messages))
