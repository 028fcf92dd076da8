"""Where the branch of a run would be pushed, and the commands that open a pull request for it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from bridle.errors import Error
from bridle.workspace.blocking_git import BlockingGit
from bridle.workspace.inert_git import inert_blocking_git

# The usual name of the repository that another one is a clone of.
USUAL = "origin"
_TITLE_CHARACTERS = 200
# A remote's name is a part of a command: git allows nearly everything in it.
_NAME = re.compile(r"[A-Za-z0-9_][\w./-]*", re.ASCII)


def find_remote(repository: Path, environment: Mapping[str, str]) -> str | None:
    """Return the remote of a repository. Git is waited for, and runs no program that the repository names."""
    try:
        return remote_of(inert_blocking_git(repository, environment))
    except (Error, OSError):
        return None


def remote_of(git: BlockingGit) -> str | None:
    """Return the usual remote, else the only one; None where it is not clear which one is meant."""
    try:
        names = [name for name in git.run("remote")[1].splitlines() if _NAME.fullmatch(name)]
    except (Error, OSError):
        return None
    return _choose(names)


def pull_request_commands(
    branch: str, base: str | None, remote: str | None, *, title: str, is_draft: bool = False
) -> str:
    """Return the commands that push a branch and open a pull request; empty without a remote."""
    if remote is None:
        return ""
    onto = f" --base {shlex.quote(base)}" if base else ""
    draft = " --draft" if is_draft else ""
    words = f"--head {branch}{onto} --title {shlex.quote(title)} --fill{draft}"
    return f"git push -u {remote} {branch} && gh pr create {words}"


def pull_request_title(plan: Mapping[str, object]) -> str:
    """Return the title of a recorded plan as the title of a pull request: one line."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(plan.get("title") or ""))
    return " ".join(text.split())[:_TITLE_CHARACTERS] or "Work of a run"


def _choose(names: Sequence[str]) -> str | None:
    if USUAL in names:
        return USUAL
    return names[0] if len(names) == 1 else None
