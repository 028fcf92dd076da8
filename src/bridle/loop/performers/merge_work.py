"""The performers of a run with several workers: each works in a copy of its own, and its work is landed in turn.

take    brings a worker's copy to the newest commit of the run, with earlier work of its task on top where that fits
keep    keeps the work of a task that has to wait, so that its copy is free for another
merge   puts a task's one commit on top of the newest commit of the run, in the worker's copy; checks judge it there
land    moves the run's branch to a commit that was judged

Each can be repeated: what it begins with is in its arguments, and nothing moves the branch but `land`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridle.loop.checks.fixed_tree import work_tree
from bridle.loop.checks.run_check import Result
from bridle.loop.checks.setup_commands import set_up
from bridle.loop.performers.branch import commit_message, keep_branch
from bridle.loop.working_copy.refs import KEPT, branch_of, kept_ref
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import stand_at
from bridle.workspace import snapshot
from bridle.workspace.git import Git
from bridle.workspace.merge import Conflicts, merged_tree

# Names of files that both sides changed, and of those who did: enough for a prompt and for a person.
SHOWN_NAMES = 50


async def take(args: Mapping[str, Any], bench: RunContext) -> dict[str, Any]:
    """Make a worker's copy ready for a task."""
    git, tip, kept = bench.git, str(args["tip"]), args.get("kept")
    await stand_at(bench, tip)
    tree = await tree_of(git, tip)
    failed = await set_up(bench, tree, task=str(args["task"]))
    value: dict[str, Any] = {"head": tip, "tree": tree, "setup": _told(failed)}
    if kept is None:
        return value
    joined = await merged_tree(git, tip, str(kept))
    if isinstance(joined, Conflicts):
        return value | await _against(bench, joined, tip, str(kept))
    await stand_at(bench, tip, joined)
    return value | {"tree": joined}


async def keep(args: Mapping[str, Any], bench: RunContext) -> dict[str, Any]:
    """Keep what a task has in its copy."""
    git = bench.git
    tree = await work_tree(bench)
    head = await git.head()
    commit = await snapshot.commit_tree(git, tree, [head or bench.base], f"work on {args['task']!r} that waits")
    return {"kept": await _hold(bench, args, commit), "tree": tree}


async def merge(args: Mapping[str, Any], bench: RunContext) -> dict[str, Any]:
    """Put a task's commit on top of the newest one; where both changed the same lines, nothing is touched."""
    git, tip, commit = bench.git, str(args["tip"]), str(args["commit"])
    tree = await merged_tree(git, tip, commit)
    if isinstance(tree, Conflicts):
        kept = await _hold(bench, args, commit)
        return {"kept": kept, "tree": await tree_of(git, commit), **await _against(bench, tree, tip, commit)}
    made = None
    if tree != await tree_of(git, tip):
        made = commit if await _is_on(git, commit, tip) else await _commit(args, bench, tree, tip, commit)
    head = made or tip
    await stand_at(bench, head)
    failed = await set_up(bench, tree, task=str(args["task"]))
    kept = await _hold(bench, args, head)
    return {"commit": made, "head": head, "tree": tree, "kept": kept, "setup": _told(failed)}


async def land(args: Mapping[str, Any], bench: RunContext) -> dict[str, Any]:
    """Move the run's branch, and the files of its own copy; whatever else is found there is kept first."""
    git, commit, branch = bench.git, str(args["commit"]), branch_of(bench.run)
    now = await git.object(f"refs/heads/{branch}")
    if now is not None and now not in (commit, args["tip"]):
        ref = f"{KEPT}{bench.run.lower()}/moved-{now}"
        await git.run("update-ref", ref, now)
        bench.say(f"somebody had moved the branch {branch}; what it was at is kept as {ref}")
    await keep_branch(bench, head=str(args["tip"]))
    if now is not None and now == args["tip"] and await _is_foreign(git, now, commit):
        left = await snapshot.take(git, why="what somebody changed in the run's own copy")
        bench.say(f"somebody had changed files in {bench.folder}; they are kept as {left.ref}")
    await git.run("-c", "core.hooksPath=/dev/null", "reset", "--quiet", "--hard", commit)
    return {"commit": commit, "branch": branch}


async def tree_of(git: Git, commit: str) -> str:
    """The tree of a commit."""
    return await git.text("rev-parse", f"{commit}^{{tree}}")


async def _is_foreign(git: Git, tip: str, commit: str) -> bool:
    """Whether something was changed in a copy that is not what `land` itself was at when it was killed."""
    changed = await git.names("diff", "--name-only", "--no-renames", "-z", "HEAD")
    return bool(set(changed) - set(await snapshot.changes(git, tip, commit)))


async def _commit(args: Mapping[str, Any], bench: RunContext, tree: str, tip: str, commit: str) -> str:
    """The same commit on top of another one, by the same author."""
    who = (await bench.git.text("log", "-1", "--format=%an%x00%ae%x00%aI", commit)).split("\0")
    author = dict(zip(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"), who, strict=True))
    flags = [*await bench.git.identity(), "-c", "commit.gpgsign=false"]
    given = commit_message(args, bench).encode("utf-8", "surrogateescape")
    _, text = await bench.git.run(*flags, "commit-tree", tree, "-p", tip, "-F", "-", given=given, variables=author)
    return text.strip()


async def _is_on(git: Git, commit: str, tip: str) -> bool:
    return (await git.text("rev-list", "--parents", "-n", "1", commit)).split()[1:] == [tip]


async def _hold(bench: RunContext, args: Mapping[str, Any], commit: str) -> str:
    ref = kept_ref(bench.run, str(args["task"]), int(args["iteration"]))
    await bench.git.run("update-ref", ref, commit)
    return ref


async def _against(bench: RunContext, conflicts: Conflicts, tip: str, other: str) -> dict[str, Any]:
    """Which files, and whose commits changed them meanwhile."""
    names = [f":(top,literal){name}" for name in conflicts.paths[:SHOWN_NAMES]]
    titles = await bench.git.text("log", "--format=%s", f"{other}..{tip}", "--", *names)
    return {
        "conflicts": list(conflicts.paths[:SHOWN_NAMES]),
        "conflicts_with": list(dict.fromkeys(titles.splitlines()))[:SHOWN_NAMES],
        "said": conflicts.said,
    }


def _told(failed: Result | None) -> dict[str, Any] | None:
    return None if failed is None else failed.as_json()
