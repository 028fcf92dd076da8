"""How the repository stands when a session begins, for the model to read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bridle.agent.prompt import git_files
from bridle.errors import ProcessError
from bridle.ground.children.query import query

# A repository that needs longer than this to say how it stands is huge or broken; the model can look for itself.
GIT_LIMIT_SECONDS = 2.0

# About two pages. A longer list says no more than that much has changed.
STATUS_LIMIT_CHARACTERS = 2000

_OUTPUT_LIMIT_BYTES = 64 * 1024
_COMMITS = "5"

# No lock is taken that a person's own git would wait for, nothing asks for a password, and no program that the
# repository names is started.
_SAFE = ("git", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-c", "core.quotePath=false")


class GitStatus(msgspec.Struct, frozen=True):
    """Branch, changed files and newest commits; a part that could not be read in time is None."""

    branch: str
    main: str
    status: str | None
    commits: str | None

    def text(self) -> str:
        """What the model is told."""
        return "\n\n".join(
            (
                "The state of the git repository when this session began. It is not updated later.",
                f"Current branch: {self.branch}",
                f"Main branch: {self.main}",
                f"Status:\n{_told(self.status, '(clean)')}",
                f"Recent commits:\n{_told(self.commits, '(none)')}",
            )
        )


async def read_git_status(cwd: Path, top: Path, environment: Mapping[str, str]) -> GitStatus:
    """Ask git, two questions at a time."""
    quiet = {**environment, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    status, commits = await asyncio.gather(
        _git(("status", "--short"), cwd, quiet),
        _git(("log", "--oneline", "--no-decorate", "-n", _COMMITS), cwd, quiet),
    )
    # A repository without any commit fails to list them; it has none.
    return GitStatus(git_files.current_branch(top), git_files.main_branch(top), status, commits or "")


async def _git(arguments: tuple[str, ...], cwd: Path, environment: Mapping[str, str]) -> str | None:
    try:
        result = await query(
            (*_SAFE, *arguments),
            cwd=cwd,
            environment=environment,
            limit_seconds=GIT_LIMIT_SECONDS,
            limit_bytes=_OUTPUT_LIMIT_BYTES,
            own_session=True,
        )
    except ProcessError:
        return None
    is_usable = result.exit_code == 0 or result.is_truncated
    return result.stdout.decode("utf-8", "replace").rstrip() if is_usable else None


def _told(text: str | None, nothing: str) -> str:
    if text is None:
        return "(not known: git took too long or failed)"
    if len(text) > STATUS_LIMIT_CHARACTERS:
        return text[:STATUS_LIMIT_CHARACTERS].rpartition("\n")[0] + "\n… (more; run git to see all of it)"
    return text or nothing
