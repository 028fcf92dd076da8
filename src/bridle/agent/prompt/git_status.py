"""Reads the git status at the start of a session, for the model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bridle.agent.prompt import git_files
from bridle.errors import ProcessError
from bridle.ground import program_path
from bridle.ground.children.query import query
from bridle.ground.git_programs import LIST_CONFIG, inert_settings

# A repository that takes longer is huge or broken; the model can run git itself.
GIT_LIMIT_SECONDS = 2.0

# About two pages. A longer list only says that much has changed.
STATUS_LIMIT_CHARACTERS = 2000

_OUTPUT_LIMIT_BYTES = 64 * 1024
_COMMITS = "5"

# Take no locks that the user's git would wait for, ask for no password, fetch nothing, and run no program that the
# repository, or one inside it, configures.
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_SAFE = ("git", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-c", "core.quotePath=false")


class GitStatus(msgspec.Struct, frozen=True):
    """Branch, changed files and last commits; None for a part that could not be read in time."""

    branch: str
    main: str
    status: str | None
    commits: str | None

    def text(self) -> str:
        """Return the text for the model."""
        return "\n\n".join(
            (
                "The state of the git repository when this session started. It is not updated.",
                f"Current branch: {self.branch}",
                f"Main branch: {self.main}",
                f"Status:\n{_format_output(self.status, '(clean)')}",
                f"Recent commits:\n{_format_output(self.commits, '(none)')}",
            )
        )


async def read_git_status(cwd: Path, top: Path, environment: Mapping[str, str]) -> GitStatus:
    """Run `git status` and `git log` concurrently. Changes inside submodules are not read."""
    outside = program_path.outside_environment(environment, top)
    quiet = {**outside, **_QUIET, "LC_ALL": "C.UTF-8"}
    status, commits = await asyncio.gather(
        _status(cwd, quiet),
        _git(("log", "--oneline", "--no-decorate", "-n", _COMMITS), cwd, quiet),
    )
    # `git log` fails in a repository without commits.
    return GitStatus(git_files.current_branch(top), git_files.main_branch(top), status, commits or "")


async def _status(cwd: Path, environment: Mapping[str, str]) -> str | None:
    """Run `git status` without the filters of the repository; None if they cannot be listed."""
    listed = await _git(LIST_CONFIG, cwd, environment)
    if listed is None:
        return None
    inert = {**environment, **inert_settings(listed, environment)}
    return await _git(("status", "--short", "--ignore-submodules=all"), cwd, inert)


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
    is_usable = result.exit_code == 0 or (result.is_truncated and arguments != LIST_CONFIG)
    return result.stdout.decode("utf-8", "replace").rstrip() if is_usable else None


def _format_output(text: str | None, nothing: str) -> str:
    if text is None:
        return "(unknown: git timed out or failed)"
    if len(text) > STATUS_LIMIT_CHARACTERS:
        return text[:STATUS_LIMIT_CHARACTERS].rpartition("\n")[0] + "\n… (truncated; run git to see all)"
    return text or nothing
