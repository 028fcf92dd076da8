"""The commits of a run on its branch after the user has worked on it: added, rebased, amended or dropped commits."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bridle.loop.performers.branch import RUN, TASK
from bridle.loop.process.receipt import Receipt
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.commit import is_ancestor, list_commits
from bridle.workspace.git import Git
from bridle.workspace.lost_objects import is_readable

# Commits that are listed for the user.
SHOWN = 5


async def find_tip(context: RunContext, known: str, *, was_working: bool, ended_at: float | None) -> str | None:
    """Return the newest commit that is not the interrupted agent's, after a driver was killed.

    An agent has made no commit after it had ended.
    """
    git, head = context.git, await context.git.head()
    if head is None or head == known:
        return head
    if await _is_of_run(context, head) and await is_ancestor(git, known, head):
        return known  # of a commit effect that was interrupted, which finds it
    if not was_working:
        return head
    return head if await _moved_at(git, run_branch(context.run), head) > (ended_at or 0.0) else known


async def _moved_at(git: Git, branch: str, head: str) -> float:
    """Return when a branch was moved to its commit: from its file, or in whole seconds from the commit."""
    try:
        return os.stat(await git.common_folder() / "refs/heads" / branch).st_mtime
    except OSError:  # it is packed
        return float(await git.text("log", "-1", "--format=%ct", head))


async def _is_of_run(context: RunContext, commit: str) -> bool:
    form = f"--format=%(trailers:key={RUN},valueonly)"
    return (await context.git.text("log", "-1", form, commit)).strip() == context.run


async def changed_files(context: RunContext, known: str, tip: str) -> list[str]:
    """Return the files that differ between two commits; none where git does not have the first any more."""
    if known == tip or await context.git.object(f"{known}^{{commit}}") is None:
        return []
    return await snapshot.changes(context.git, known, tip)


async def locate(context: RunContext, receipt: Receipt, *, known: str, tip: str) -> tuple[dict[str, str], list[str]]:
    """Return the new ids of tasks' commits that were rewritten, by title, and the titles of those that are gone."""
    git = context.git
    done = {task.title: task.commit for task in receipt.tasks if task.commit is not None}
    if not done or await is_ancestor(git, known, tip):
        return {}, []
    lost = [title for title, commit in done.items() if not await is_ancestor(git, commit, tip)]
    listed = await list_commits(git, context.base) if lost else []
    by_title = {info.trailers.get(TASK): info.commit for info in listed if info.trailers.get(RUN) == context.run}
    if await git.object(f"{known}^{{commit}}") is not None:  # squashed: the files of all tasks are in one commit
        text = await git.text("log", "--format=%T %H", f"{context.base}..{tip}")
        trees = dict(line.split() for line in text.splitlines())
        squashed = trees.get(await git.tree_of(known))
        by_title = {**dict.fromkeys(lost, squashed), **by_title} if squashed is not None else by_title
    commits = {title: found for title in lost if (found := by_title.get(_masked(context, title))) is not None}
    return commits, [title for title in lost if title not in commits]


async def find_lost(context: RunContext, receipt: Receipt, gone: Sequence[str]) -> list[str]:
    """Return those of the tasks whose commits are gone that git cannot read, either."""
    done = {task.title: task.commit for task in receipt.tasks if task.title in gone and task.commit is not None}
    return [title for title, commit in done.items() if not await is_readable(context.git, commit)]


def _masked(context: RunContext, title: str) -> str:
    return context.mask.apply(" ".join(title.split()))  # as in the commit's message


async def describe_move(context: RunContext, branch: str, known: str, tip: str) -> str:
    """Return how the user has moved the run's branch."""
    git = context.git
    if not await is_ancestor(git, known, tip):
        return f"{branch} was rewritten: it was at {known[:12]}, and the run continues at {tip[:12]}"
    titles = (await git.text("log", "--first-parent", "--format=%h %s", f"{known}..{tip}")).splitlines()
    more = f" and {len(titles) - SHOWN} more" if len(titles) > SHOWN else ""
    count = "a new commit" if len(titles) == 1 else f"{len(titles)} new commits"
    return f"{branch} has {count}, on which the run continues: {'; '.join(titles[:SHOWN])}{more}"
