"""Worktrees that Bridle adds to a repository, each for one effect. Only these are ever removed."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from bridle.errors import GitError, UsageError
from bridle.ground import disk, ids
from bridle.ground.git_folder import git_folder
from bridle.ground.lock import FileLock
from bridle.ground.threads import in_thread, wait_uncancelled
from bridle.workspace.git import Git, check_branch

# In the git folder: apart from the user's files, and removed with the repository.
FOLDER = "bridle-worktrees"
# For agents, which refuse to change files below `.git`. Its own .gitignore excludes it.
AGENTS_FOLDER = Path(".ralph") / "worktrees"
_LOCK = "bridle-worktree.lock"
# Checking out a large repository takes a minute, and every worker of a run may wait for one.
_LOCK_SECONDS = 600.0
# A `gitdir` file holds one path.
_PATH_LIMIT_BYTES = 64 * 1024


class Worktree(Struct, frozen=True):
    """A worktree that Bridle added."""

    name: str
    folder: Path
    branch: str | None


async def add(
    git: Git,
    name: str,
    *,
    at: str = "HEAD",
    branch: str | None = None,
    is_empty: bool = False,
    is_for_an_agent: bool = False,
) -> Worktree:
    """Add a worktree at a commit, on a new branch or detached; an empty one has no files yet.

    A branch that exists is checked out as it is.
    """
    ids.check_id(name, what="worktree")
    root = await _agents_root(git) if is_for_an_agent else disk.make_private_folder(await _root(git))
    folder = root / name
    if folder.exists():
        raise UsageError(f"the worktree {name!r} already exists", remedy=f"Remove {folder}, or choose another name.")
    commit = await git.object(f"{at}^{{commit}}")
    if commit is None:
        raise UsageError(
            f"the start of a worktree must be a commit, got {at!r}", remedy="Choose one that `git log` lists."
        )
    _forget(await git.common_folder(), folder)
    arguments = ["--no-checkout"] if is_empty else []
    if branch is not None and await git.object(f"refs/heads/{check_branch(branch)}") is not None:
        arguments += [str(folder), branch]
    else:
        arguments += ["--detach"] if branch is None else ["-b", branch]
        arguments += [str(folder), commit]
    async with _alone(git):
        await git.run("-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", *arguments)
    return Worktree(name, folder, branch)


async def list_worktrees(git: Git) -> list[Worktree]:
    """Return the worktrees that Bridle added and that still exist."""
    roots = await _roots(git)
    worktrees: list[Worktree] = []
    for folder, branch in await read_worktrees(git):
        if folder.parent in roots:
            worktrees.append(Worktree(folder.name, folder, branch))
    return worktrees


async def read_worktrees(git: Git) -> list[tuple[Path, str | None]]:
    """Return the folder of each worktree of the repository, and its branch."""
    _, output = await git.run("worktree", "list", "--porcelain", "-z")  # a folder's name may have newlines
    found = []
    for block in output.split("\0\0"):
        fields = dict(line.partition(" ")[::2] for line in block.split("\0"))
        if "worktree" in fields:
            found.append((Path(fields["worktree"]), fields.get("branch", "").removeprefix("refs/heads/") or None))
    return found


async def remove(git: Git, worktree: Worktree) -> None:
    """Remove a worktree with all its files; refuse one that Bridle did not add."""
    ids.check_id(worktree.name, what="worktree")
    if worktree.folder not in [root / worktree.name for root in await _roots(git)]:
        raise UsageError(
            f"{worktree.folder} is not a worktree of Bridle; it was not removed",
            remedy="Remove it with `git worktree remove`.",
        )
    # Also if it does not exist: a git that was killed while adding one leaves it locked.
    async with _alone(git):
        await git.run("worktree", "remove", "--force", "--force", str(worktree.folder), accepts=(0, 128))
    if worktree.folder.is_dir():  # no longer registered
        shutil.rmtree(worktree.folder)
    else:
        worktree.folder.unlink(missing_ok=True)
    _forget(await git.common_folder(), worktree.folder)


@asynccontextmanager
async def _alone(git: Git) -> AsyncIterator[None]:
    """Add or remove one worktree at a time: git reads the others, and fails at one whose files are half written."""
    path = await git.common_folder() / _LOCK

    def hold() -> FileLock:
        return FileLock.hold(path, holder="git worktree", wait_seconds=_LOCK_SECONDS)

    lock = await wait_uncancelled(in_thread(hold, name="waiting to add a worktree"))
    try:
        yield
    finally:
        lock.release()


def _forget(common: Path, folder: Path) -> None:
    """Remove what git knows about a worktree of ours that has no files any more.

    Not `git worktree prune`: that would forget the user's worktrees on disks that are not mounted.
    """
    if (folder / ".git").exists():
        return
    for known in common.glob("worktrees/*/"):
        link = disk.read_if_exists(known / "gitdir", _PATH_LIMIT_BYTES)
        path = known / os.fsdecode(link.rstrip(b"\n")) if link is not None else None
        if known.name == folder.name if path is None else os.path.normpath(path) == str(folder / ".git"):
            shutil.rmtree(known)


async def relink(git: Git, folder: Path) -> None:
    """Connect a worktree of a repository that was moved or copied with the git folder that is beside it now.

    Not `git worktree repair`: in a copy that would connect the worktree of the original with the copy.
    """
    link = folder / ".git"
    old = git_folder(folder) if link.is_file() and not link.is_symlink() else None
    own = None if old is None else (await git.common_folder()).resolve() / "worktrees" / Path(old).name
    if own is None or str(own) == old or not own.is_dir():
        return
    disk.write_atomic(own / "gitdir", os.fsencode(f"{folder.resolve()}/.git\n"))
    disk.write_atomic(link, os.fsencode(f"gitdir: {own}\n"))


async def _roots(git: Git) -> tuple[Path, Path]:
    return await _root(git), (await git.top()).resolve() / AGENTS_FOLDER


async def _root(git: Git) -> Path:
    """Return the folder of Bridle's worktrees, without symbolic links, as git prints it."""
    return (await git.common_folder()).resolve() / FOLDER


async def _agents_root(git: Git) -> Path:
    """Return the folder of worktrees for agents: in the working copy, where ignored files such as venvs are found."""
    root = (await git.top()).resolve() / AGENTS_FOLDER
    for folder in (root, root.parent):
        if folder.is_symlink():
            raise GitError(f"{folder} is a link; worktrees must stay in the repository", remedy=f"Remove {folder}.")
    disk.make_private_folder(root)
    disk.write_atomic(root / ".gitignore", b"*\n")
    return root
