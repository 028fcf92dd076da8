"""Makes, checks and removes the git worktrees in which agents work.

Git runs no program that the repository's own configuration names: no hooks, no filters, no file system monitor.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from bridle.errors import ProcessError, UserError
from bridle.ground import program_path
from bridle.ground.children.query import query
from bridle.ground.children.query_result import QueryResult
from bridle.ground.git_folder import leads_out, repository_top, without_repository_variables
from bridle.ground.git_programs import LIST_CONFIG, inert_settings

FOLDER = ".claude/worktrees"
BRANCH_PREFIX = "worktree-"
# A checkout of a very large repository takes minutes.
GIT_LIMIT_SECONDS = 600.0
# Enough for the status of a copy in which very many files changed: only whether there are any counts.
_OUTPUT_LIMIT_BYTES = 1024 * 1024
# The setting `worktree.baseRef` chooses the branch of the remote, or the current commit.
BASES = {"fresh": ("origin/HEAD", "origin/main", "origin/master", "HEAD"), "head": ("HEAD",)}
_SAFE = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C.UTF-8"}


class GitWorktree(msgspec.Struct, frozen=True):
    """A worktree, and the commit that it began with."""

    path: Path
    branch: str
    base: str
    top: Path
    """The working copy that it was made from."""


class Worktrees:
    """Makes and removes the worktrees of one repository."""

    def __init__(self, cwd: Path, environment: Mapping[str, str], *, base: str = "fresh") -> None:
        """`base` is the setting `worktree.baseRef`."""
        self.top = repository_top(cwd)
        self._cwd, self._environment, self._base = cwd, environment, base
        # Git locks the list of worktrees: two that begin at once would fail.
        self._lock = asyncio.Lock()

    async def add(self, name: str) -> GitWorktree:
        """Make a locked worktree with a branch of its own. Raises UserError with git's reason."""
        if self.top is None:
            raise UserError(
                "Cannot create agent worktree: not in a git repository and no WorktreeCreate hooks are configured."
                " Call Agent again without isolation."
            )
        path = self.top / FOLDER / name
        if leads_out(path, self.top):
            raise UserError(f"Cannot create agent worktree: a link leads from {path} out of the repository.")
        async with self._lock:
            base = await self._commit(self.top)
            worktree = GitWorktree(path, f"{BRANCH_PREFIX}{name.replace('/', '+')}", base, self.top)
            words = ("worktree", "add", "--lock", "--quiet", "--no-track", "-b", worktree.branch, str(path), base)
            is_new = not os.path.lexists(path)
            try:
                await self._git(self.top, *words)
            except BaseException:  # an interrupted git leaves what it has made, and locked
                if is_new:
                    with suppress(UserError):
                        await self._remove(worktree)
                raise
        return worktree

    async def is_changed(self, worktree: GitWorktree) -> bool:
        """Return whether a worktree has changed files or commits; True if git cannot say."""
        try:
            status = await self._git(worktree.path, "status", "--porcelain", "--untracked-files=normal")
            head = await self._git(worktree.path, "rev-parse", "HEAD")
            tip = await self._git(worktree.path, "rev-parse", f"refs/heads/{worktree.branch}")
        except UserError:
            return True
        return bool(status) or {head.strip(), tip.strip()} != {worktree.base}

    async def leave(self, worktree: GitWorktree) -> bool:
        """Remove a worktree and its branch if nothing was changed in it, else unlock it; return whether it is kept."""
        is_kept = await self.is_changed(worktree)
        async with self._lock:
            try:
                if is_kept:
                    await self._git(worktree.top, "worktree", "unlock", str(worktree.path))
                else:
                    await self._remove(worktree)
            except UserError:  # the agent removed or unlocked it itself
                return worktree.path.exists()
        return is_kept

    async def _remove(self, worktree: GitWorktree) -> None:
        await self._git(worktree.top, "worktree", "remove", "--force", "--force", str(worktree.path))
        await self._git(worktree.top, "branch", "--quiet", "-D", worktree.branch)

    async def _commit(self, top: Path) -> str:
        await self._inert_environment(top)  # an error here is not that a name is missing
        for name in BASES.get(self._base, BASES["fresh"]):
            try:
                return (await self._git(top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")).strip()
            except UserError:
                continue
        raise UserError('Failed to resolve base branch "HEAD": git rev-parse failed')

    async def _git(self, folder: Path, *arguments: str) -> str:
        """Run git; return its output. Raises UserError with the reason if it fails."""
        return _text((await _query(folder, await self._inert_environment(folder), arguments)).stdout)

    async def _inert_environment(self, folder: Path) -> dict[str, str]:
        """Return an environment in which git runs no program of the repository's own configuration."""
        outside = program_path.outside_environment(self._environment, self.top or folder)
        environment = {**without_repository_variables(outside), **_QUIET}
        listed = await _query(folder, environment, LIST_CONFIG)
        if listed.is_truncated:  # a program that it names could be in the rest
            raise UserError(f"the configuration of {folder} is too long")
        return {**environment, **inert_settings(_text(listed.stdout), environment)}


async def _query(folder: Path, environment: Mapping[str, str], arguments: tuple[str, ...]) -> QueryResult:
    """Run git; its output may be truncated. Raises UserError with the reason if it fails."""
    if not os.path.isdir(folder):
        raise UserError(f"{folder} does not exist.")
    try:
        result = await query(
            (*_SAFE, *arguments),
            cwd=folder,
            environment=environment,
            limit_seconds=GIT_LIMIT_SECONDS,
            limit_bytes=_OUTPUT_LIMIT_BYTES,
            own_session=True,
        )
    except ProcessError as error:
        raise UserError(error.message) from error
    if result.exit_code != 0 and not result.is_truncated:
        reason = _text(result.stderr).strip() or "it failed without a message"
        raise UserError(f"git {arguments[0]} failed in {folder}: {reason}")
    return result


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
