"""What a sandboxed program may see and change. Values, and how they are found for a working copy."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bridle.ground import git_folder, home

# Folders and files of the user's home that hold keys. Those that exist are hidden.
HIDDEN_AT_HOME = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".netrc",
    ".git-credentials",
    ".pypirc",
    ".npmrc",
)

# Of Bridle's own state: written from outside while the agent runs.
READ_ONLY_AT_WORK = (".a5c", ".ralph", "bridle.toml")

# Of git's: what makes git run programs, or what another branch is.
READ_ONLY_OF_GIT = ("config", "hooks", "info", "HEAD", "config.worktree")

# Of Claude Code's state: what it reads. Its own sessions are the only thing that it may write.
VISIBLE_OF_CLAUDE = (
    ".credentials.json",
    "settings.json",
    "CLAUDE.md",
    "agents",
    "commands",
    "plugins",
    "skills",
    "rules",
    "statsig",
)


@dataclass(frozen=True, slots=True)
class StateFolder:
    """A folder of an agent's state: only the visible entries are in it, and only the writable ones are kept."""

    path: Path
    visible: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Isolation:
    """What a program in the sandbox may see and change; everything else is read-only."""

    work: Path
    """The working copy: writable."""
    home: Path
    git: Path | None = None
    """The folder of the repository; None without one."""
    worktree: Path | None = None
    """The folder of the worktree in it, if the working copy is a linked worktree."""
    read_only: tuple[Path, ...] = ()
    """Files and folders of the working copy that must not change."""
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    visible: tuple[Path, ...] = ()
    """Read-only, though below a hidden folder: the program itself."""
    state: tuple[StateFolder, ...] = ()
    has_network: bool = True


def describe(
    work: Path,
    environment: Mapping[str, str],
    *,
    read_only: tuple[Path, ...] = (),
    writable: tuple[Path, ...] = (),
    hidden: tuple[Path, ...] = (),
    visible: tuple[Path, ...] = (),
    has_network: bool = True,
) -> Isolation:
    """Describe the isolation of a program that works in a working copy, from what is on the disk now."""
    work = Path(os.path.realpath(work))
    user = Path(os.path.realpath(environment.get("HOME") or os.path.expanduser("~")))
    own, common = _git_folders(work)
    secrets = [*(user / name for name in HIDDEN_AT_HOME), home.bridle_home(environment), *hidden]
    return Isolation(
        work=work,
        home=user,
        git=common,
        worktree=own if own != common else None,
        read_only=(*(work / name for name in READ_ONLY_AT_WORK), *read_only),
        writable=writable,
        hidden=tuple(secrets),
        visible=visible,
        state=(_claude_state(work, user, environment),),
        has_network=has_network,
    )


def _claude_state(work: Path, user: Path, environment: Mapping[str, str]) -> StateFolder:
    folder = Path(os.path.realpath(environment.get("CLAUDE_CONFIG_DIR") or user / ".claude"))
    project = re.sub(r"[^A-Za-z0-9]", "-", str(work))
    return StateFolder(folder, VISIBLE_OF_CLAUDE, (f"projects/{project}",))


def _git_folders(work: Path) -> tuple[Path | None, Path | None]:
    """Return the git folder of a working copy, and the one that it shares with other worktrees."""
    top = git_folder.repository_top(work)
    own = None if top is None else git_folder.git_folder(top)
    if own is None or not os.path.isdir(own):
        return None, None
    return Path(os.path.realpath(own)), Path(os.path.realpath(git_folder.common_folder(own)))
