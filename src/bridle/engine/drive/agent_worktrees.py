"""Where an agent works: in the repository itself, or in a working copy of its own while others are at work too.

A working copy of its own looks just like the repository at that moment, with everything that is not committed. What the
agent changed there is joined into the repository when it is done; nothing is committed and no branch of a person moves.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bridle.engine.drive.performer import Job, Say
from bridle.engine.entries.effect_attempts import JOINING
from bridle.errors import GitError, ProcessError, UsageError
from bridle.ground import disk, ids
from bridle.workspace import apply_changes, ref_lock, snapshot, worktree
from bridle.workspace.apply_changes import Join
from bridle.workspace.git import Git
from bridle.workspace.merge import Conflicts
from bridle.workspace.snapshot import Snapshot
from bridle.workspace.worktree import Worktree

# Branches with work that could not be joined, or that a dead attempt left: for a person to look at.
KEPT = "bridle/kept/"
# Somebody who writes to the repository all the time is not waited for.
JOIN_TRIES = 5

_READY = "bridle-ready"
# The snapshots that are made for an attempt at an effect.
_LENT_REF = re.compile(r"(.+)-\d+-(?:base|work|before)")


@dataclass(frozen=True)
class Lent:
    """A working copy for one attempt at one effect."""

    name: str
    folder: Path
    """Where the agent starts: the same place in it as the run's repository has in its own working copy."""
    worktree: Worktree
    base: Snapshot
    """What it began with."""


class Places:
    """Lends working copies, and brings back what was done in them; one at a time."""

    def __init__(self, repository: Path, environment: Mapping[str, str], say: Say) -> None:
        self._repository = repository
        self._environment = environment
        self._say = say
        self._free = asyncio.Lock()
        """The repository's own files: for one agent, or one join, at a time."""
        self._books = asyncio.Lock()
        """Git's list of working copies: two that change it at once are in each other's way."""
        self._top: Git | None = None

    @asynccontextmanager
    async def here(self) -> AsyncIterator[Path]:
        """The repository itself, for one agent, or one join, at a time."""
        async with self._free:
            yield self._repository

    async def lend(self, job: Job) -> Lent | None:
        """A working copy for this attempt; None where there is no commit yet to make one of, or no git at all."""
        name, git = _name(job), await self._git()
        if git is None or await git.head() is None:
            return None
        try:
            base = await snapshot.take(git, name=f"{name}-base", why="what an agent begins with")
            async with self._books:
                at = base.head or "HEAD"
                made = await worktree.add(git, name, at=at, is_empty=True, is_for_an_agent=True)
            own = Git(made.folder, self._environment)
            await snapshot.restore(own, base, moves_head=False)
            disk.write_atomic(await own.git_path(_READY), b"")
        except (GitError, UsageError) as error:
            self._say(f"agents take turns in {self._repository}, since no working copy can be made: {error.message}")
            return None
        folder = made.folder / self._repository.resolve().relative_to(git.folder)
        return Lent(name, disk.make_private_folder(folder), made, base)

    async def look(self, lent: Lent) -> Snapshot:
        """What the working copy holds now."""
        own = Git(lent.worktree.folder, self._environment)
        return await snapshot.take(own, name=f"{lent.name}-work", why="what an agent has done")

    async def find(self, job: Job) -> Snapshot:
        """The same, for work that was delivered before the driver ended."""
        git = await self._git()
        found = await snapshot.find(git, f"{_name(job)}-work") if git is not None else None
        if found is None:
            raise GitError(
                f"the work of effect {job.effect.effect_id} is no longer in {self._repository}",
                remedy="Bring its repository back, or post its result with task:post.",
            )
        return found

    async def bring_in(self, job: Job, base: str, tree: str) -> Conflicts | None:
        """Join a tree into the repository; what stands against it, where something does."""
        git = await self._sure_git()
        async with self._free:
            if await self._finished(git, job):
                return None
            found: Join | Conflicts | None = None
            for _ in range(JOIN_TRIES):
                found = await apply_changes.plan(git, base, tree)
                if isinstance(found, Conflicts):
                    return found
                if not found.is_needed:
                    return None
                note = {"effectId": job.effect.effect_id, "attempt": job.attempt}
                await job.note(JOINING, {**note, "head": found.head, "ours": found.ours, "tree": found.tree})
                if await apply_changes.carry_out(git, found):
                    return None
            return Conflicts((), f"somebody else keeps writing to {git.folder}")

    async def keep(self, job: Job, work: Snapshot, why: str) -> str:
        """Put work on a branch for a person; gives the branch."""
        return await self._keep(_name(job), work, why)

    async def salvage(self, job: Job) -> None:
        """Take away what dead attempts left; what an agent had changed there is kept on a branch."""
        for left in await self._left_by(_stem(job.effect.effect_id)):
            branch = await self._keep_left(left)
            if branch is not None:
                self._say(f"{job.name}: what an earlier attempt left is kept on the branch {branch}")
            async with self._books:
                await worktree.remove(await self._sure_git(), left)

    async def clear(self, effect_id: str) -> None:
        """Take away every working copy that was lent for an effect, and the refs that kept its work."""
        stem, git = _stem(effect_id), await self._git()
        if git is None:
            return
        try:
            async with self._books:
                for left in await self._left_by(stem):
                    await worktree.remove(git, left)
                await _drop_refs(git, stem)
        except GitError as error:  # the result is in: what is left takes room and nothing else
            self._say(f"what was lent for effect {effect_id} could not be cleared away: {error.message}")

    async def sweep(self, over: set[str]) -> None:
        """After a crash: take away what was lent for effects that are over."""
        git = await self._git()
        if git is None:
            return
        await snapshot.clear_indexes(git)
        left = {one.name.rpartition("-")[0] for one in await worktree.ours(git)}
        left |= {match[1] for name, _ in await _refs(git) if (match := _LENT_REF.fullmatch(name))}
        for effect_id in over:
            if _stem(effect_id) in left:
                await self.clear(effect_id)

    async def _finished(self, git: Git, job: Job) -> bool:
        """Whether a join that was under way when its driver ended is done now."""
        note = job.known.joining
        if note is None:
            return False
        name = f"{_name(job)}-before"
        done = await apply_changes.finish(git, Join(note["head"], note["ours"], note["tree"]), name=name)
        if done is not None and done.kept is not None:
            branch = await self._keep(name, done.kept, "what was there before a join was finished")
            self._say(f"{job.name}: its join was cut off and is finished now; what was there before is on {branch}")
        return done is not None

    async def _keep_left(self, left: Worktree) -> str | None:
        """The branch with what an agent left in a working copy; None where there was no agent, or no change."""
        own = Git(left.folder, self._environment)
        base = await snapshot.find(await self._sure_git(), f"{left.name}-base")
        try:
            is_ready = (await own.git_path(_READY)).exists()
        except GitError:
            is_ready = False
        if base is None or not is_ready:
            return None  # it was never lent to anybody
        work = await snapshot.take(own, name=f"{left.name}-work", why="what an attempt left")
        if work.tree == base.tree and work.head == base.head:
            return None
        return await self._keep(left.name, work, "what an attempt left that did not come to its end")

    async def _keep(self, name: str, work: Snapshot, why: str) -> str:
        await snapshot.keep_as_branch(await self._sure_git(), work, KEPT + name, why)
        return KEPT + name

    async def _left_by(self, stem: str) -> list[Worktree]:
        git = await self._git()
        found = await worktree.ours(git) if git is not None else []
        return [one for one in found if one.name.rpartition("-")[0] == stem]

    async def _git(self) -> Git | None:
        """The repository's working copy, at its top; None where there is none, or no git."""
        if self._top is None:
            try:
                top = await Git(self._repository, self._environment).top()
            except (UsageError, ProcessError):
                return None
            self._top = Git(top.resolve(), self._environment)
        return self._top

    async def _sure_git(self) -> Git:
        git = await self._git()
        if git is None:
            raise GitError(f"{self._repository} is no git repository any more", remedy="Bring it back.")
        return git


async def _drop_refs(git: Git, stem: str) -> None:
    for name, commit in await _refs(git):
        match = _LENT_REF.fullmatch(name)
        if match is not None and match[1] == stem:
            await ref_lock.free(git, snapshot.REFS + name)
            await git.run("update-ref", "-d", snapshot.REFS + name, commit)


async def _refs(git: Git) -> list[tuple[str, str]]:
    """The snapshots that there are: their names and commits."""
    lines = (await git.text("for-each-ref", "--format=%(refname) %(objectname)", snapshot.REFS)).splitlines()
    return [(name.removeprefix(snapshot.REFS), commit) for name, commit in (line.split(" ") for line in lines)]


def _stem(effect_id: str) -> str:
    """An effect's id as part of the names of what is lent for it."""
    return ids.safe_name(effect_id).lower()


def _name(job: Job) -> str:
    return f"{_stem(job.effect.effect_id)}-{job.attempt}"
