"""Worktrees for agents that run in parallel; a single agent works in the repository itself.

A worktree starts as a copy of the repository, including uncommitted changes. The agent's changes are merged into the
repository when it has finished; nothing is committed and no branch of the user moves. Nested repositories in it are
moved there, or are kept in a folder of their own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from bridle.engine.drive.nested_work import KEPT_FOLDER, find_blocked, find_nested, finish_moves, move_nested
from bridle.engine.drive.performer import Job, Say
from bridle.engine.entries.effect_attempts import JOINING, StartedMerge
from bridle.errors import GitError, ProcessError, UsageError
from bridle.ground import disk, ids
from bridle.ground.git_exclude import exclude_from_git
from bridle.workspace import apply_changes, files_index, private_indexes, snapshot, worktree
from bridle.workspace.apply_changes import PlannedMerge
from bridle.workspace.git import Git
from bridle.workspace.merge import Conflicts
from bridle.workspace.repair import git_leftovers, ref_lock
from bridle.workspace.restore import restore
from bridle.workspace.snapshot import Snapshot
from bridle.workspace.worktree import Worktree

# Branches for the user with work that could not be merged, or that an interrupted attempt left.
KEPT_BRANCHES = "bridle/kept/"
# Another program that writes to the repository all the time is not waited for.
MERGE_TRIES = 5

_READY = "bridle-ready"
# The snapshots of an attempt at an effect.
_SNAPSHOT_REF = re.compile(r"(.+)-\d+-(?:base|work|before)")


class AttemptWorktree(Struct, frozen=True):
    """A worktree for one attempt at one effect."""

    name: str
    folder: Path
    """The agent's folder: the run's repository may be a subfolder of its git repository."""
    worktree: Worktree
    base: Snapshot
    """The initial state."""


class AgentWorktrees:
    """Creates worktrees, and merges the work in them one at a time."""

    def __init__(self, repository: Path, environment: Mapping[str, str], say: Say) -> None:
        self._repository = repository
        self._environment = environment
        self._say = say
        self._repository_lock = asyncio.Lock()
        """For the repository's own files: one agent or one merge at a time."""
        self._worktree_lock = asyncio.Lock()
        """For git's list of worktrees, which two processes must not change at once."""
        self._top: Git | None = None

    @asynccontextmanager
    async def here(self) -> AsyncIterator[Path]:
        """Yield the repository itself, to one agent or one merge at a time."""
        async with self._repository_lock:
            yield self._repository

    async def create(self, job: Job) -> AttemptWorktree | None:
        """Create a worktree for this attempt; return None without a commit or without git."""
        name, git = _name(job), await self._git()
        if git is None or await git.head() is None:
            return None
        try:
            exclude_from_git(git.folder)  # before the snapshot: the journal of the run grows while agents work
            base = await snapshot.take(git, name=f"{name}-base", why="the initial state of an agent")
            async with self._worktree_lock:
                at = base.head or "HEAD"
                tree = await worktree.add(git, name, at=at, is_empty=True, is_for_an_agent=True)
            worktree_git = Git(tree.folder, self._environment)
            await restore(worktree_git, base, moves_head=False)
            disk.write_atomic(await worktree_git.git_path(_READY), b"")
        except (GitError, UsageError) as error:
            self._say(
                f"agents run one after the other in {self._repository}: could not create a worktree: {error.message}"
            )
            return None
        folder = tree.folder / self._repository.resolve().relative_to(git.folder)
        return AttemptWorktree(name, disk.make_private_folder(folder), tree, base)

    async def take_snapshot(self, attempt: AttemptWorktree) -> tuple[Snapshot, str | None]:
        """Return a snapshot of the worktree, and why its work cannot be used: the agent left a merge unfinished."""
        return await _take(Git(attempt.worktree.folder, self._environment), f"{attempt.name}-work")

    async def find(self, job: Job) -> Snapshot:
        """Return the snapshot of work that was delivered to an earlier driver."""
        git = await self._git()
        work = await snapshot.find(git, f"{_name(job)}-work") if git is not None else None
        if work is None:
            raise GitError(
                f"the work of effect {job.effect.effect_id} is no longer in {self._repository}",
                remedy=f"Post its result: bridle task:post RUN {job.effect.effect_id} --status ok --value FILE",
            )
        return work

    async def merge(self, job: Job, base: str, tree: str) -> Conflicts | None:
        """Merge a tree into the repository, and move the nested repositories there; return the conflicts, if any."""
        git = await self._require_git()
        async with self._repository_lock:
            source, nested = await self._nested(_name(job), git.folder)
            if blocked := find_blocked(git.folder, nested):
                return Conflicts(tuple(blocked), "nested repositories and their files in the place of others")
            conflicts = await self._merge_files(git, job, base, tree)
            if conflicts is None and source is not None:
                await move_nested(source, git.folder, nested)
            return conflicts

    async def keep(self, job: Job, work: Snapshot, reason: str) -> str:
        """Put work on a branch for the user; return its name."""
        return await self._keep(_name(job), work, reason)

    async def keep_nested(self, job: Job) -> tuple[Path, list[str]] | None:
        """Move the nested repositories that are still in the worktree to a folder for the user; return it, and them."""
        return await self._keep_nested(_name(job))

    async def salvage(self, job: Job) -> None:
        """Remove the worktrees of interrupted attempts; keep their changes on branches."""
        for tree in await self._worktrees_of(_stem(job.effect.effect_id)):
            branch = await self._keep_interrupted(tree)
            if branch is not None:
                self._say(f"{job.name}: the changes of an interrupted attempt are on the branch {branch}")
            if (kept := await self._keep_nested(tree.name)) is not None:
                self._say(f"{job.name}: nested repositories of an interrupted attempt are in {kept[0]}")
            async with self._worktree_lock:
                await worktree.remove(await self._require_git(), tree)

    async def clear(self, effect_id: str) -> None:
        """Remove the worktrees of an effect and the refs of its snapshots."""
        stem, git = _stem(effect_id), await self._git()
        if git is None:
            return
        try:
            async with self._worktree_lock:
                for tree in await self._worktrees_of(stem):
                    await worktree.remove(git, tree)
                await _drop_refs(git, stem)
        except GitError as error:  # the result is recorded: the rest only takes disk space
            self._say(f"could not remove the worktrees of effect {effect_id}: {error.message}")

    async def sweep(self, ended: set[str]) -> None:
        """Remove the worktrees and snapshots of effects that have ended."""
        git = await self._git() if ended else None
        if git is None:
            return
        await private_indexes.clear_indexes(git)
        stems = {tree.name.rpartition("-")[0] for tree in await worktree.list_worktrees(git)}
        stems |= {match[1] for name, _ in await _refs(git) if (match := _SNAPSHOT_REF.fullmatch(name))}
        for effect_id in ended:
            if _stem(effect_id) in stems:
                await self.clear(effect_id)

    def close(self) -> None:
        """Remove the private index of the repository."""
        if self._top is not None:
            files_index.drop(self._top)

    async def _merge_files(self, git: Git, job: Job, base: str, tree: str) -> Conflicts | None:
        if await self._finish_merge(git, job):
            return None
        for _ in range(MERGE_TRIES):
            plan = await apply_changes.plan(git, base, tree)
            if isinstance(plan, Conflicts):
                return plan
            if not plan.is_needed:
                return None
            merge = StartedMerge(plan.head, plan.ours, plan.tree)
            data = {"effectId": job.effect.effect_id, "attempt": job.attempt, **merge._asdict()}
            await job.append_entry(JOINING, data)
            if await apply_changes.apply(git, plan):
                return None
        return Conflicts((), f"another program keeps writing to {git.folder}")

    async def _nested(self, name: str, target: Path | None = None) -> tuple[Git | None, list[str]]:
        """Return the git of a worktree, and the nested work in it."""
        for tree in await self._worktrees_of(name.rpartition("-")[0]):
            git = Git(tree.folder, self._environment)
            if tree.name == name and await _is_ready(git):
                await finish_moves(git)
                return git, await find_nested(git, target)
        return None, []

    async def _keep_nested(self, name: str) -> tuple[Path, list[str]] | None:
        source, nested = await self._nested(name)
        if source is None or not nested:
            return None
        folder = (await self._require_git()).folder / KEPT_FOLDER / name
        await move_nested(source, folder, nested)
        return folder, nested

    async def _finish_merge(self, git: Git, job: Job) -> bool:
        """Finish a merge that was interrupted with its driver; return whether it was finished."""
        started_merge = job.known.started_merge
        if started_merge is None:
            return False
        name = f"{_name(job)}-before"
        done = await apply_changes.resume(git, PlannedMerge(*started_merge), name=name)
        if done is not None and done.before is not None:
            branch = await self._keep(name, done.before, "the state before an interrupted merge was finished")
            self._say(f"{job.name}: an interrupted merge is now finished; the state before is on the branch {branch}")
        return done is not None

    async def _keep_interrupted(self, tree: Worktree) -> str | None:
        """Put an interrupted agent's changes on a branch, or None."""
        worktree_git = Git(tree.folder, self._environment)
        base = await snapshot.find(await self._require_git(), f"{tree.name}-base")
        if base is None or not await _is_ready(worktree_git):
            return None  # no agent was started in it
        await finish_moves(worktree_git)
        work, _ = await _take(worktree_git, f"{tree.name}-work")
        if work.tree == base.tree and work.head == base.head:
            return None
        return await self._keep(tree.name, work, "changes of an interrupted attempt")

    async def _keep(self, name: str, work: Snapshot, reason: str) -> str:
        await snapshot.keep_as_branch(await self._require_git(), work, KEPT_BRANCHES + name, reason)
        return KEPT_BRANCHES + name

    async def _worktrees_of(self, stem: str) -> list[Worktree]:
        git = await self._git()
        trees = await worktree.list_worktrees(git) if git is not None else []
        return [tree for tree in trees if tree.name.rpartition("-")[0] == stem]

    async def _git(self) -> Git | None:
        """Return the top of the git repository; None without a repository or without git."""
        if self._top is None:
            try:
                top = await Git(self._repository, self._environment).top()
            except (UsageError, ProcessError):
                return None
            if self._top is None:  # two effects may begin together; they share the index of one `Git`
                self._top = Git(top.resolve(), self._environment)
        return self._top

    async def _require_git(self) -> Git:
        git = await self._git()
        if git is None:
            raise GitError(
                f"{self._repository} is not a git repository any more",
                remedy="Restore its .git folder, then run: bridle drive",
            )
        return git


async def _is_ready(git: Git) -> bool:
    """Return whether a worktree is complete, and git can still use it."""
    try:
        return (git.folder / ".git").exists() and (await git.git_path(_READY)).exists()
    except GitError:
        return False


async def _take(git: Git, name: str) -> tuple[Snapshot, str | None]:
    """Take a snapshot of a worktree; also return why its index could not be used as the agent left it."""
    why, fault = "the work of an agent", None
    try:
        return await snapshot.take(git, name=name, why=why), None
    except GitError as error:
        fault = error.message
    await git_leftovers.end_operations(git)
    return await snapshot.take(git, name=name, why=why), fault


async def _drop_refs(git: Git, stem: str) -> None:
    for name, commit in await _refs(git):
        match = _SNAPSHOT_REF.fullmatch(name)
        if match is not None and match[1] == stem:
            await ref_lock.remove_stale(git, snapshot.REFS + name)
            await git.run("update-ref", "--no-deref", "-d", snapshot.REFS + name, commit)


async def _refs(git: Git) -> list[tuple[str, str]]:
    """Return the names and commits of all snapshots."""
    lines = (await git.text("for-each-ref", "--format=%(refname) %(objectname)", snapshot.REFS)).splitlines()
    return [(name.removeprefix(snapshot.REFS), commit) for name, commit in (line.split(" ") for line in lines)]


def _stem(effect_id: str) -> str:
    """Return an effect's id as part of names of worktrees and refs."""
    return ids.safe_name(effect_id).lower()


def _name(job: Job) -> str:
    return f"{_stem(job.effect.effect_id)}-{job.attempt}"
