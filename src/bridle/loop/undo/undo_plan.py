"""What `bridle undo` will do with a run: read from git and the journal; nothing is changed."""

from __future__ import annotations

import shlex

from msgspec import Struct

from bridle.errors import UsageError
from bridle.loop.run_inputs import RunInputs
from bridle.loop.working_copy import put_aside, uncommitted_work
from bridle.loop.working_copy.leave_branch import worktree_with
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import of_runs
from bridle.workspace.commit import is_ancestor
from bridle.workspace.git import Git
from bridle.workspace.worktree import Worktree

TRAILER = "Bridle-Run"
# Commits that are named; the ref has all of them.
SHOWN = 10


class UsersCommit(Struct, frozen=True):
    """A commit of the user on the run's branch."""

    commit: str
    subject: str


class UndoPlan(Struct, frozen=True):
    """What there is to undo."""

    branch: str
    base: str
    came_from: str | None
    tip: str | None
    """The run's branch; None where it does not exist."""
    is_checked_out: bool
    """Whether the run's branch is checked out in the user's working copy, or its work is there without commits."""
    other_worktree: str | None
    """A worktree of the user in which the run's branch is checked out: it stays."""
    commits: int = 0
    """The commits on the run's branch."""
    users_commits: tuple[UsersCommit, ...] = ()
    worktrees: tuple[Worktree, ...] = ()
    has_put_aside: bool = False
    """Whether uncommitted changes of the user are put aside."""
    pushed: tuple[str, ...] = ()
    """The branches of remotes that have commits of the run, as this repository last saw them: they stay."""

    @property
    def is_empty(self) -> bool:
        """Whether the run has left nothing."""
        return self.tip is None and not self.worktrees and not self.has_put_aside

    def lines(self) -> list[str]:
        """Return what undo will do, a line for each step."""
        start = self.came_from or self.base[:12]
        lines = []
        if self.is_checked_out:
            lines.append(f"check out {start}, with your files as they were before the run")
        if self.has_put_aside:
            lines.append("restore the uncommitted changes that were put aside")
        lines += [f"remove the worktree {worktree.folder}" for worktree in self.worktrees]
        if self.tip is not None and self.other_worktree is None:
            count = f"{self.commits} commit{'' if self.commits == 1 else 's'}" if self.commits else "no commits"
            lines.append(f"remove the branch {self.branch} ({count}); a ref keeps its work")
        if self.other_worktree is not None:
            lines.append(f"leave the branch {self.branch}, which is checked out in {self.other_worktree}")
        for own in self.users_commits[:SHOWN]:
            lines.append(f"keep your commit {own.commit[:12]} ({own.subject}) under that ref")
        for name in self.pushed[:SHOWN]:
            lines.append(f"leave {name}, which was pushed and has commits of the run{_removal(name, self.branch)}")
        return lines


async def make_plan(context: RunContext, inputs: RunInputs) -> UndoPlan:
    """Find out what there is to undo. Raises UsageError where undo cannot help."""
    git = context.git
    tip = await git.object(f"refs/heads/{inputs.branch}")
    aside = put_aside.find(context.run_folder)
    commits = await _commits(git, inputs.base, tip) if tip is not None else []
    await _refuse_merged(git, inputs, [commit for commit, _, _ in commits])
    worktrees = [found for _, found in await of_runs(git, [inputs.run])]
    return UndoPlan(
        branch=inputs.branch,
        base=inputs.base,
        came_from=inputs.came_from,
        tip=tip,
        is_checked_out=not inputs.worktrees
        and (await git.branch() == inputs.branch or await uncommitted_work.is_left(context)),
        other_worktree=await worktree_with(git, inputs.branch, {context.folder, *(w.folder for w in worktrees)}),
        commits=len(commits),
        users_commits=tuple(
            UsersCommit(commit, " ".join(subject.split())) for commit, run, subject in commits if run != inputs.run
        ),
        worktrees=tuple(worktrees),
        has_put_aside=aside is not None and not aside.is_restored,
        pushed=await _pushed(git, [commit for commit, _, _ in commits]),
    )


async def _pushed(git: Git, commits: list[str]) -> tuple[str, ...]:
    """Return the remote-tracking branches that contain a commit of the run, from its first on; no remote is asked."""
    if not commits:
        return ()
    words = ("for-each-ref", "--format=%(refname:lstrip=2)", f"--contains={commits[-1]}", "refs/remotes")
    names = (await git.text(*words)).splitlines()
    return tuple(name for name in names if not name.endswith("/HEAD"))


def _removal(name: str, branch: str) -> str:
    """Return the command that removes a branch from its remote, for the run's own; empty for another branch."""
    remote = name.removesuffix(f"/{branch}")
    return f"; to remove it there: git push {shlex.quote(remote)} --delete {branch}" if remote != name else ""


async def _commits(git: Git, base: str, tip: str) -> list[tuple[str, str, str]]:
    """Return the commits of the branch, newest first: id, the run that made it, subject."""
    words = ("log", "-z", f"--format=%H%x1f%(trailers:key={TRAILER},valueonly,separator=%x2C)%x1f%s")
    fields = [entry.split("\x1f", 2) for entry in await git.names(*words, f"{base}..{tip}", "--")]
    return [(commit.strip(), run.strip(), subject) for commit, run, subject in fields]


async def _refuse_merged(git: Git, inputs: RunInputs, commits: list[str]) -> None:
    """Raise UsageError where the branch that the run came from has commits of the run."""
    start = inputs.came_from
    if start is None or not commits or await git.object(f"refs/heads/{start}") is None:
        return
    merged = [commit for commit in commits if await is_ancestor(git, commit, f"refs/heads/{start}")]
    if not merged:
        return
    tip = await git.text("rev-parse", f"refs/heads/{start}")
    is_forward = tip.strip() == merged[0]
    words = "revert --no-edit" if await _is_linear(git, inputs.base, merged[0]) else "revert -m 1 --no-edit"
    which = f"{inputs.base[:12]}..{merged[0][:12]}"
    raise UsageError(
        f"{start} has {len(merged)} of the run's {len(commits)} commits: you merged {inputs.branch}, "
        "and undo does not rewrite your branch",
        remedy=f"To revert the work with new commits: git checkout {shlex.quote(start)} && git {words} {which}"
        + (f". If you pushed nothing: git reset --keep {inputs.base[:12]}" if is_forward else ""),
    )


async def _is_linear(git: Git, base: str, tip: str) -> bool:
    return (await git.text("rev-list", "--merges", "--count", f"{base}..{tip}")).strip() == "0"
