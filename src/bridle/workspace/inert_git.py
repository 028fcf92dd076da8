"""A git that runs no program which the configuration of the repository itself names.

A repository that someone sent as an archive has a `.git/config` of its own. Commands that only read, such as
`bridle status` or `bridle run --dry-run`, must not run what it names. Programs that the user's configuration names run.
"""

from __future__ import annotations

import os
import re

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.git_programs import LIST_CONFIG, inert_settings
from bridle.ground.light.abc_names import Mapping
from bridle.workspace.blocking_git import BlockingGit
from bridle.workspace.git_folder import read_git_files

TYPE_CHECKING = False  # `typing` is slow to import; type checkers know the name
if TYPE_CHECKING:
    from pathlib import Path

    from bridle.workspace.git import Git

# Without one of these in its files, a configuration names no program, and git need not list it.
_WORDS = rb"(?i)filter|diff|uploadpack|receivepack|sshcommand|gitproxy|askpass|helper|program|include"
_LIMIT_BYTES = 1024 * 1024


async def inert_git(folder: Path, environment: Mapping[str, str] | None = None) -> Git:
    """Return a git for commands that only read. Filters of the repository do not run: a filtered file may look changed.

    Hooks, fsmonitor, pagers and editors run in no git of Bridle.
    """
    from bridle.workspace.git import Git  # late: it imports asyncio

    git = Git(folder, environment)
    if not _names_no_program(folder):
        git.environment |= inert_settings((await git.run(*LIST_CONFIG))[1], git.environment)
    return git


def inert_blocking_git(folder: Path, environment: Mapping[str, str]) -> BlockingGit:
    """Return such a git that needs no event loop."""
    git = BlockingGit(folder, environment)
    if not _names_no_program(folder):
        git.environment |= inert_settings(git.run(*LIST_CONFIG)[1], git.environment)
    return git


def _names_no_program(folder: Path) -> bool:
    """Return whether no file of the repository's own configuration names a program; False if that is not known."""
    try:
        own, shared = read_git_files.git_folders(folder)
        files = (os.path.join(shared, "config"), os.path.join(own, "config.worktree"))
        return not any(re.search(_WORDS, disk.read_if_exists(file, _LIMIT_BYTES) or b"") for file in files)
    except (read_git_files.NeedsGit, DiskError):
        return False
