"""Merging: tried beside the working copy first, so that a conflict is reported and nothing is left half done."""

from __future__ import annotations

from dataclasses import dataclass

from bridle.errors import GitError, UsageError
from bridle.workspace.git import Git


@dataclass(frozen=True)
class Merged:
    """It worked: the commit that the branch is at now."""

    commit: str
    was_needed: bool = True
    """False where everything was there already."""


@dataclass(frozen=True)
class Conflicts:
    """It did not: which files both sides have changed. Nothing was touched."""

    paths: tuple[str, ...]
    said: str


async def merge(git: Git, other: str, text: str) -> Merged | Conflicts:
    """Merge a commit or branch into the branch that is checked out; its working copy must have no changes."""
    ours, theirs = await git.head(), await git.object(f"{other}^{{commit}}")
    if ours is None or theirs is None:
        raise UsageError(f"there is no commit {other!r} to merge, or none to merge it into")
    if await git.names("status", "--porcelain", "-z", "--untracked-files=no"):
        raise UsageError(f"{git.folder} has changes that are not committed", remedy="Commit them, or take a snapshot.")
    base = (await git.run("merge-base", ours, theirs, accepts=(0, 1)))[1].strip()
    if base == theirs:
        return Merged(ours, was_needed=False)
    tree = await merged_tree(git, ours, theirs)
    if isinstance(tree, Conflicts):
        return tree
    flags = [*await git.identity(), "-c", "commit.gpgsign=false"]
    commit = (await git.run(*flags, "commit-tree", tree, "-p", ours, "-p", theirs, "-F", "-", given=text.encode()))[1]
    await _check_out(git, ours, commit.strip())
    return Merged(commit.strip())


async def merged_tree(git: Git, ours: str, theirs: str) -> str | Conflicts:
    """The tree that comes of two commits and what they have in common; no file is touched for it."""
    code, said = await git.run("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs, accepts=(0, 1))
    tree, *rest = said.split("\0")
    return _conflicts(rest) if code == 1 else tree


async def _check_out(git: Git, before: str, after: str) -> None:
    """Move files, index and branch to a commit; a file in the way that git does not know stops it before anything."""
    try:
        await git.run("read-tree", "-m", "-u", before, after)
    except GitError as error:
        raise GitError(
            f"the merge would overwrite a file in {git.folder} that is in no commit: {error.message}",
            remedy="Move that file away, or commit it, and merge again.",
        ) from error
    await git.run("update-ref", "-m", "bridle: merge", "HEAD", after, before)


def _conflicts(rest: list[str]) -> Conflicts:
    """Names up to the empty one, then messages in groups: how many paths, the paths, a kind, the words."""
    end = rest.index("") if "" in rest else len(rest)
    words = [part.strip() for part in rest[end + 1 :] if part.startswith(("CONFLICT", "Auto-merging"))]
    return Conflicts(tuple(dict.fromkeys(rest[:end])), "\n".join(word for word in words if word.startswith("CONFLICT")))
