"""Where an effect works: in the repository itself, or in a working copy of its own while others are at work too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.engine.under_way import UnderWay
from bridle.errors import GitError, UsageError
from bridle.workspace import worktree
from bridle.workspace.commit import commit, message
from bridle.workspace.git import Git
from bridle.workspace.merge import Conflicts, merge

BRANCH = "bridle/effect/"


@dataclass(frozen=True)
class Place:
    """A folder to work in."""

    folder: Path
    worktree: worktree.Worktree | None = None
    base: str | None = None

    @property
    def is_own(self) -> bool:
        """Whether nobody else works there."""
        return self.worktree is not None

    def as_note(self) -> dict[str, Any]:
        """What the journal says about it."""
        if self.worktree is None:
            return {}
        return {"worktree": self.worktree.name, "base": self.base}


class Places:
    """Hands out places, and brings the work done in them back; one merge at a time."""

    def __init__(self, repository: Path, environment: Mapping[str, str]) -> None:
        self._repository = repository
        self._git = Git(repository, environment)
        self._merging = asyncio.Lock()

    async def take(self, effect_id: str, known: UnderWay, *, alone: bool) -> Place:
        """A place for an effect; `alone` wants one of its own, which needs a repository with a commit."""
        if known.worktree is not None:
            await self._drop(known.worktree)  # what an attempt that died left there is not what this one begins with
        if not alone:
            return Place(self._repository)
        try:
            base = await self._git.head()
        except GitError:
            base = None
        if base is None:
            return Place(self._repository)
        made = await worktree.add(self._git, effect_id.lower(), at=base, branch=BRANCH + effect_id.lower())
        return Place(made.folder, made, base)

    async def give_back(self, place: Place, why: str) -> dict[str, Any] | None:
        """Bring the work of a place of its own into the repository; conflicts are told, and the branch stays."""
        if place.worktree is None:
            return None
        made = await commit(Git(place.folder), message(why))
        branch = place.worktree.branch
        if made is None:
            await self._drop(place.worktree.name)
            return {"changed": False}
        async with self._merging:
            done = await self._merge(made, why)
        if isinstance(done, dict):
            await worktree.remove(self._git, place.worktree)
            return {"changed": True, "commit": made, "branch": branch, **done}
        await self._drop(place.worktree.name)
        return {"changed": True, "commit": made, "merged": done}

    async def _merge(self, made: str, why: str) -> str | dict[str, Any]:
        try:
            done = await merge(self._git, made, message(f"{why} (merged)"))
        except (GitError, UsageError) as error:
            return {"merged": None, "problem": error.message}
        if isinstance(done, Conflicts):
            return {"merged": None, "conflicts": list(done.paths)}
        return done.commit

    async def _drop(self, name: str) -> None:
        """Take away a worktree and its branch, both made here."""
        folder = await self._git.common_folder() / worktree.FOLDER / name
        await worktree.remove(self._git, worktree.Worktree(name, folder, BRANCH + name))
        await self._git.run("branch", "-D", "--quiet", BRANCH + name, accepts=(0, 1))
