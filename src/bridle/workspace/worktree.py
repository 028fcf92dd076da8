"""Worktrees: more working copies of one repository, each for one effect. Only those that were made here are removed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import GitError, UsageError
from bridle.ground import disk, ids
from bridle.workspace.git import Git, check_branch

# Inside the repository's own folder: out of the way of its files, and gone when it is.
FOLDER = "bridle-worktrees"
# For agents: they refuse, with good reason, to change files below `.git`. The folder ignores itself.
AGENTS_FOLDER = Path(".ralph") / "worktrees"


@dataclass(frozen=True)
class Worktree:
    """One working copy that was made here."""

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
    """Make a working copy at a commit, on a new branch or on none; an empty one waits for a snapshot's files.

    A branch that is there already is checked out as it is.
    """
    ids.check_id(name, what="worktree")
    root = await _agents_root(git) if is_for_an_agent else disk.make_private_folder(await _root(git))
    folder = root / name
    if folder.exists():
        raise UsageError(f"there is a worktree {name!r} already", remedy=f"Remove {folder}, or choose another name.")
    commit = await git.object(f"{at}^{{commit}}")
    if commit is None:
        raise UsageError(f"there is no commit {at!r} to make a worktree of")
    await git.run("worktree", "prune")
    words = ["--no-checkout"] if is_empty else []
    if branch is not None and await git.object(f"refs/heads/{check_branch(branch)}") is not None:
        words += [str(folder), branch]
    else:
        words += ["--detach"] if branch is None else ["-b", branch]
        words += [str(folder), commit]
    await git.run("-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", *words)
    return Worktree(name, folder, branch)


async def ours(git: Git) -> list[Worktree]:
    """The worktrees that were made here and are still there."""
    roots = await _roots(git)
    found: list[Worktree] = []
    for block in (await git.text("worktree", "list", "--porcelain")).split("\n\n"):
        fields = dict(line.partition(" ")[::2] for line in block.splitlines())
        folder = Path(fields.get("worktree", ""))
        if folder.parent in roots:
            branch = fields.get("branch", "").removeprefix("refs/heads/")
            found.append(Worktree(folder.name, folder, branch or None))
    return found


async def remove(git: Git, worktree: Worktree) -> None:
    """Take a worktree away with all that is in it; one that was not made here is refused."""
    ids.check_id(worktree.name, what="worktree")
    if worktree.folder not in [root / worktree.name for root in await _roots(git)]:
        raise UsageError(f"{worktree.folder} was not made by Bridle and is left alone")
    # Also where it is not there: a git that was killed while it made one leaves it locked, and in the way of the next.
    await git.run("worktree", "remove", "--force", "--force", str(worktree.folder), accepts=(0, 128))
    if worktree.folder.exists():  # git has forgotten it already
        shutil.rmtree(worktree.folder)
    await git.run("worktree", "prune")


async def _roots(git: Git) -> tuple[Path, Path]:
    return await _root(git), (await git.top()).resolve() / AGENTS_FOLDER


async def _root(git: Git) -> Path:
    """Where all of them are; without links in it, as git itself tells them."""
    return (await git.common_folder()).resolve() / FOLDER


async def _agents_root(git: Git) -> Path:
    """Where those for agents are: in the working copy, so that what it has and git ignores is found from there."""
    root = (await git.top()).resolve() / AGENTS_FOLDER
    for folder in (root, root.parent):
        if folder.is_symlink():
            raise GitError(f"{folder} is a link, and working copies stay in the repository", remedy=f"Remove {folder}.")
    disk.make_private_folder(root)
    disk.write_atomic(root / ".gitignore", b"*\n")
    return root
