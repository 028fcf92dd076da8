"""The commits of a run on its branch after the user has worked on it: added, rebased, amended or dropped commits."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from bridle.errors import GitError, UsageError
from bridle.ground import disk
from bridle.loop.adoption.later_files import changed_at
from bridle.loop.performers.branch import RUN, TASK
from bridle.loop.process.receipt import Receipt
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.commit import is_ancestor, list_commits
from bridle.workspace.git import Git
from bridle.workspace.repair.lost_objects import is_readable

# Commits that are listed for the user.
SHOWN = 5
# Author and time of a commit: git keeps them when it rewrites one.
_AUTHOR = "%an <%ae> %ad"
# As `git revert` writes it.
_REVERTED = re.compile(r"This reverts commit ([0-9a-f]{40,64})")
# Files by which a squashed commit is searched; a command line has room for them.
_PATHS = 500
_REFLOG_LIMIT_BYTES = 16 * 1024 * 1024


async def find_tip(context: RunContext, known: str, *, was_working: bool, ended_at: float | None) -> str | None:
    """Return the newest commit that is not of the interrupted agent or check, after a driver was killed.

    Neither has made a commit after it had ended; where that time is not known, no commit counts as the user's.
    """
    git, head = context.git, await context.git.head()
    if head is None or head == known:
        return head
    if await is_of_run(context, head) and await is_ancestor(git, known, head):
        return known  # of a commit effect that was interrupted, which finds it
    if not was_working:
        return head
    is_later = ended_at is not None and await _moved_at(git, run_branch(context.run), head) > ended_at
    return head if is_later else known


async def _moved_at(git: Git, branch: str, head: str) -> float:
    """Return when a branch was moved to its commit: from its file, or from the packed refs and the commit."""
    folder = await git.common_folder()
    try:
        return changed_at(folder / "refs/heads" / branch)
    except OSError:  # it is packed, and maybe later: `git gc` moves no branch
        committed = float(await git.text("log", "-1", "--format=%ct", head))
        return min(committed, changed_at(folder / "packed-refs"))


async def is_of_run(context: RunContext, commit: str) -> bool:
    """Return whether Bridle made a commit for a task of this run."""
    form = f"--format=%(trailers:key={RUN},valueonly)"
    return (await context.git.text("log", "-1", form, commit)).strip() == context.run


async def changed_files(context: RunContext, known: str, tip: str) -> list[str]:
    """Return the files that differ between two commits; none where git does not have the first any more."""
    if known == tip or await context.git.object(f"{known}^{{commit}}") is None:
        return []
    return await snapshot.changes(context.git, known, tip)


async def locate(context: RunContext, receipt: Receipt, *, known: str, tip: str) -> tuple[dict[str, str], list[str]]:
    """Return the new ids of tasks' commits that were rewritten, by title, and the titles of those that are gone.

    A rewritten commit has the trailers of the task, or its author and time (after a new message), or files that are
    as they were (after a squash).
    """
    git = context.git
    done = {task.title: task.commit for task in receipt.tasks if task.commit is not None}
    if not done or await is_ancestor(git, known, tip):
        return {}, []
    lost = {title: commit for title, commit in done.items() if not await is_ancestor(git, commit, tip)}
    listed = await list_commits(git, context.base) if lost else []
    by_title = {info.trailers.get(TASK): info.commit for info in listed if info.trailers.get(RUN) == context.run}
    commits = {title: found for title in lost if (found := by_title.get(_mask(context, title))) is not None}
    authors = {title: await _author(git, commit) for title, commit in lost.items() if title not in commits}
    of_runs = {info.commit for info in listed if RUN in info.trailers}
    by_author = await _by_author(context, known, tip, without=of_runs) if authors else {}
    for title, author in authors.items():
        same = by_author.get(author, []) if list(authors.values()).count(author) == 1 else []
        if (rewritten := await _rewritten(git, lost[title], same)) is not None:
            commits[title] = rewritten
        elif (squashed := await _with_same_files(context, lost[title], known, tip)) is not None:
            commits[title] = squashed
    return commits, [title for title in lost if title not in commits]


async def _by_author(context: RunContext, known: str, tip: str, without: Collection[str]) -> dict[str, list[str]]:
    """Return the commits that are new on the branch by author and time."""
    words = [f"{context.base}..{tip}"]
    if await context.git.object(f"{known}^{{commit}}") is not None:
        words.append(f"^{known}")
    text = await context.git.text("log", f"--format=%H {_AUTHOR}", "--date=raw", *words)
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        commit, _space, author = line.partition(" ")
        if commit not in without:
            found.setdefault(author, []).append(commit)
    return found


async def _rewritten(git: Git, commit: str, same: Sequence[str]) -> str | None:
    """Return which of the commits of the same author and time is a commit with a new message.

    Of several, of which the user made one in the same second, it is the only one that changes all of its files.
    """
    if len(same) <= 1:
        return same[0] if same else None
    if await git.object(f"{commit}^") is None:
        return None
    changed = set(await snapshot.changes(git, f"{commit}^", commit))
    found = [name for name in same if changed <= set(await snapshot.changes(git, f"{name}^", name))]
    return found[0] if len(found) == 1 else None


async def _author(git: Git, commit: str) -> str:
    """Return author and time of a commit; empty where git has lost it."""
    code, text = await git.run("log", "-1", f"--format={_AUTHOR}", "--date=raw", commit, accepts=(0, 128))
    return text.strip() if code == 0 else ""


async def _with_same_files(context: RunContext, commit: str, known: str, tip: str) -> str | None:
    """Return the newest commit of the files that a commit changed, if all of them are as they were."""
    git = context.git
    if any([await git.object(f"{name}^{{commit}}") is None for name in (commit, f"{commit}^", known)]):
        return None
    changed = await snapshot.changes(git, f"{commit}^", commit)
    if not changed or set(changed).intersection(await snapshot.changes(git, known, tip)):
        return None
    paths = [f":(top,literal){name}" for name in changed[:_PATHS]]
    return (await git.text("log", "-1", "--format=%H", f"{context.base}..{tip}", "--", *paths)).strip() or None


async def find_reverted(context: RunContext, receipt: Receipt, *, known: str, tip: str) -> list[str]:
    """Return the titles of tasks whose commits the user has reverted since the tip was `known`.

    A revert that is reverted itself counts as none.
    """
    git = context.git
    done = {task.commit: task.title for task in receipt.tasks if task.commit is not None}
    if not done or known == tip or not await is_ancestor(git, known, tip):
        return []
    reverted: set[str] = set()
    for entry in await git.names("log", "-z", "--format=%H%n%B", f"{known}..{tip}"):
        commit, _, message = entry.partition("\n")
        if commit not in reverted:
            reverted.update(_REVERTED.findall(message))
    return [title for commit, title in done.items() if commit in reverted]


async def restore_branch(context: RunContext, known: str) -> None:
    """Make the run's branch again where the user has renamed it; raise UsageError where it is gone."""
    git, branch = context.git, run_branch(context.run)
    if await git.object(f"refs/heads/{branch}") is not None:
        return
    if known == context.base and await is_readable(git, known):  # an empty branch is removed when a driver ends
        await git.run("update-ref", "--no-deref", f"refs/heads/{branch}", known)
        return
    renamed = await _renamed_to(git, branch)
    if renamed is None and not await is_readable(git, known):
        raise GitError(
            f"{context.folder} does not have the commits of this run any more",
            remedy=f"Restore its .git folder from a backup, then run: bridle resume {context.run}",
        )
    if renamed is None:
        raise UsageError(
            f"the branch {branch} of this run does not exist any more",
            remedy=f"Make it again at the last commit of the run: git branch {branch} {known} "
            f"&& bridle resume {context.run}",
        )
    commit = await git.text("rev-parse", f"refs/heads/{renamed}")
    await git.run(
        "update-ref", "--no-deref", "-m", f"bridle: {renamed} was {branch}", f"refs/heads/{branch}", commit.strip()
    )
    context.say(f"{branch} was renamed to {renamed}, which stays; the run continues on {branch}, made again from it")


async def _renamed_to(git: Git, branch: str) -> str | None:
    """Return the name that the user has given to a branch, from the reflogs."""
    top = await git.common_folder() / "logs/refs/heads"
    note = f"Branch: renamed refs/heads/{branch} to refs/heads/".encode()
    for path in sorted(top.rglob("*")):
        if path.is_file() and note in (disk.read_part(path, _REFLOG_LIMIT_BYTES) or b""):
            name = path.relative_to(top).as_posix()
            if await git.object(f"refs/heads/{name}") is not None:
                return name
    return None


async def find_lost(context: RunContext, receipt: Receipt, gone: Sequence[str]) -> list[str]:
    """Return those of the tasks whose commits are gone that git cannot read, either."""
    done = {task.title: task.commit for task in receipt.tasks if task.title in gone and task.commit is not None}
    return [title for title, commit in done.items() if not await is_readable(context.git, commit)]


def _mask(context: RunContext, title: str) -> str:
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
