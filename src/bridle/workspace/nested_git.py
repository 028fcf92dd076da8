"""Git in a repository below a working copy. It uses the git folder and the files there, whatever its settings say."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.ground.git_folder import git_folder
from bridle.workspace.git import Git


def nested_git(git: Git, name: str) -> Git | None:
    """Return a git for the repository in a folder of a working copy; None without a repository, or behind a link.

    Settings such as `core.worktree`, which an agent may have written, would let a checkout write to other folders.
    """
    folder = git.folder / name
    place = git_folder(folder)
    is_there = os.path.realpath(folder) == os.path.join(os.path.realpath(git.folder), name.rstrip("/"))
    if place is None or not is_there or "\0" in place or not os.path.isdir(place):
        return None
    nested = Git(folder, git.environment)
    nested.environment |= {
        "GIT_DIR": os.path.realpath(place),
        "GIT_WORK_TREE": str(Path(os.path.abspath(folder))),
        "GIT_NO_LAZY_FETCH": "1",
    }
    return nested


async def check_out(git: Git, name: str, commit: str) -> None:
    """Check out a commit in a nested repository; files that it would overwrite keep it from that."""
    nested = nested_git(git, name)
    if nested is not None:
        await nested.run("checkout", "--quiet", "--detach", commit, accepts=(0, 1, 128))
