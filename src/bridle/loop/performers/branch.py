"""The performers that move the branch: prepare, commit, roll back. Each can be repeated: what was done is found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridle.errors import UsageError
from bridle.loop.checks.fixed_tree import stage_work
from bridle.loop.checks.setup_commands import set_up
from bridle.loop.performers import pre_hooks
from bridle.loop.process.task_state import UNVERIFIED
from bridle.loop.protection import baseline
from bridle.loop.working_copy.refs import branch_of
from bridle.loop.working_copy.run_context import RunContext
from bridle.run.logs import exclude_from_git
from bridle.workspace import snapshot
from bridle.workspace.commit import Listed, commit_index, first_parents, listed, message
from bridle.workspace.git import Git

RUN = "Bridle-Run"
TASK = "Bridle-Task"
ITERATION = "Bridle-Iteration"
COST = "Bridle-Cost"
CHECKS = "Bridle-Checks"

# Commits that are looked at first: those of one iteration, unless its agent commits at every step.
RECENT = 50


async def prepare(_args: dict[str, Any], bench: RunContext) -> dict[str, Any]:
    """Check out the run's branch, which is made where it is not there yet."""
    exclude_from_git(bench.workspace)
    git, branch = bench.git, branch_of(bench.run)
    if await git.branch() != branch:
        exists = await git.object(f"refs/heads/{branch}") is not None
        if not exists:
            await pre_hooks.before_branch(bench, branch)
        words = [branch] if exists else ["-b", branch, bench.base]
        await git.run("-c", "core.hooksPath=/dev/null", "checkout", "--quiet", *words)
    failed = None
    if bench.repository is not None and bench.settings.parallel == 1:  # else each worker has a copy of its own
        failed = await set_up(bench, await _tree(git, bench.base), task="prepare")
    start = await baseline.record(bench)
    value = {"branch": branch, "base": bench.base, "protected": start.lines(), "origin": start.digest}
    return value if failed is None else value | {"setup": failed.as_json()}


async def return_to_branch(bench: RunContext) -> None:
    """Check the run's branch out again where a person has left it; changes are carried over, as git does.

    Working on where they are would take the files that the other branch does not have for deleted.
    """
    git, branch = bench.git, branch_of(bench.run)
    there = await git.branch()
    if there == branch:
        return
    if await git.object(f"refs/heads/{branch}") is None:
        raise UsageError(
            f"the branch {branch} of this run is gone",
            remedy=f"Start a new run; or make it again from its last commit, which `bridle status` names: "
            f"git branch {branch} COMMIT",
        )
    if not await _goes_to(git, branch):
        raise UsageError(
            f"{there or 'no branch'} is checked out, and this run works on {branch}, where what is changed here "
            "would be overwritten",
            remedy=f"Commit or stash it, and then: git checkout {branch} && bridle resume",
        )
    bench.say(f"{there or 'a commit'} was checked out; now it is {branch} again")


async def _goes_to(git: Git, branch: str) -> bool:
    """Check out a branch with all that is changed; False where git will not, and then nothing has happened."""
    words = ("-c", "core.hooksPath=/dev/null", "checkout", "--quiet", branch)
    return (await git.run(*words, accepts=(0, 1, 128)))[0] == 0


async def keep_branch(bench: RunContext, *, head: str | None = None) -> bool:
    """Put HEAD back on the run's branch where an agent has left it; the files stay as they are. True where it had."""
    if bench.worker is not None:
        return await _keep_apart(bench.git, head)
    git, branch = bench.git, branch_of(bench.run)
    has_left = await git.branch() != branch
    if has_left:
        if head is not None and await git.object(f"refs/heads/{branch}") is None:
            await git.run("update-ref", f"refs/heads/{branch}", head)  # it has deleted the branch
        # Where it has only looked at an older commit, what the branch has besides comes back.
        if not (head is not None and await _is_below(git, head) and await _goes_to(git, branch)):
            await git.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    if head is not None and not await _is_above(git, head):
        # It has taken back, or made anew, commits of tasks that are done.
        await git.run("update-ref", "-m", "bridle: an agent had moved it", f"refs/heads/{branch}", head)
        return True
    return has_left


async def _is_below(git: Git, head: str) -> bool:
    """Whether what is checked out is a commit that this one was made on top of."""
    now = await git.head()
    if now is None:
        return False
    return (await git.run("merge-base", "--is-ancestor", now, head, accepts=(0, 1, 128)))[0] == 0


async def _is_above(git: Git, head: str) -> bool:
    """Whether what is checked out is that commit, or has been made on top of it."""
    now = await git.head()
    if now is None or now == head:
        return now == head
    code, _ = await git.run("merge-base", "--is-ancestor", head, now, accepts=(0, 1, 128))
    return code == 0


async def _keep_apart(git: Git, head: str | None) -> bool:
    """The same in a worker's copy, whose HEAD is on no branch: it stands on the commit that it was given, or above."""
    is_above = head is None or await _is_above(git, head)
    if is_above and await git.branch() is None:
        return False
    wanted = await git.head() if is_above else head
    if wanted is not None:
        await git.run("update-ref", "--no-deref", "-m", "bridle: an agent had left it", "HEAD", wanted)
    return True


async def make_commit(args: dict[str, Any], bench: RunContext) -> dict[str, Any]:
    """One commit for a task, with trailers; one that was made before a crash is found by them."""
    git = bench.git
    await keep_branch(bench, head=(args.get("stands") or {}).get("head"))
    found = await find(git, bench, str(args["task"]), int(args["iteration"]))
    if found is not None and args.get("tree") in (None, seen := await _tree(git, found)):
        return {"commit": found, "head": found, "tree": seen, "found": True, "folded": []}
    said = commit_message(args, bench)
    refused = await pre_hooks.before_commit(args, bench, branch_of(bench.run), said)
    if refused is not None:
        return {"commit": None, "refused": refused}
    staged = await stage_work(bench)  # the person's own untracked files are no part of the work
    if args.get("tree") not in (None, staged):
        return {"commit": None, "again": staged}  # not what the checks have seen
    folded = await _fold_foreign(git, bench, args.get("tip"))
    made = await commit_index(git, said, tree=staged)
    head = made or await git.head()  # nothing has changed since the last commit: the verdict stands on that one
    tree = await _tree(git, head) if head else None
    return {"commit": made, "head": head, "tree": tree, "found": False, "folded": folded}


async def roll_back(args: dict[str, Any], bench: RunContext) -> dict[str, Any]:
    """Put everything back as it was before the work; what was there is kept in a snapshot of its own."""
    git = bench.git
    wanted = await snapshot.find(git, str(args["snapshot"]))
    if wanted is None:
        raise UsageError(f"the snapshot {args['snapshot']} is gone", remedy="Restore the working copy by hand.")
    kept = f"{args['snapshot']}-undone-{args['iteration']}"
    if await snapshot.find(git, kept) is None:  # a second attempt must not overwrite what the first one kept
        await snapshot.take(git, name=kept, why=f"undone: {args.get('why') or ''}")
    await snapshot.restore(git, wanted)
    return {"restored": wanted.commit, "head": wanted.head, "tree": wanted.tree, "kept": kept}


async def find(git: Git, bench: RunContext, task: str, iteration: int) -> str | None:
    """The commit of a task's iteration, by its trailers."""
    for one in await _recent(git, bench):
        said = one.trailers
        if said.get(RUN) == bench.run and said.get(TASK) == _plain(task) and said.get(ITERATION) == str(iteration):
            return one.commit
    return None


async def last_of_run(git: Git, bench: RunContext) -> str | None:
    """The newest commit that was made for a task of this run; those of agents are passed over."""
    line = first_parents(await _recent(git, bench))
    return next((one.commit for one in line if one.trailers.get(RUN) == bench.run), None)


async def _recent(git: Git, bench: RunContext) -> list[Listed]:
    """The newest commits, back to one that was made for a task at least; what came before it is no news."""
    found = await listed(git, bench.base, limit=RECENT)
    is_enough = len(found) < RECENT or any(one.trailers.get(RUN) == bench.run for one in first_parents(found))
    return found if is_enough else await listed(git, bench.base)


async def _fold_foreign(git: Git, bench: RunContext, tip: str | None) -> list[str]:
    """Take back the commits that an agent made itself; their work stays, and goes into the task's commit.

    What stands above the tip is the agent's whatever it says of itself; where none is given, its trailers are believed.
    """
    if tip is not None:
        if await git.head() == tip:
            return []
        above = (await git.text("rev-list", "--first-parent", f"{tip}..HEAD")).split()
        await git.run("reset", "--quiet", "--soft", tip)
        return above
    folded: list[str] = []
    for one in first_parents(await _recent(git, bench)):
        if one.trailers.get(RUN) == bench.run:
            break
        folded.append(one.commit)
    if folded:
        await git.run("reset", "--quiet", "--soft", f"{folded[-1]}^")
    return folded


def commit_message(args: Mapping[str, Any], bench: RunContext) -> str:
    """What the commit of a task says: its title, and how it was made."""
    count = int(args.get("checks") or 0)
    trailers = {
        RUN: bench.run,
        TASK: str(args["task"]),
        ITERATION: str(args["iteration"]),
        COST: f"{float(args.get('cost_usd') or 0):.4f} USD",
        CHECKS: f"{count} passed" if count and args.get("verdict") != UNVERIFIED else "none",
    }
    return bench.mask.apply(message(str(args["task"]), "", trailers))


def _plain(text: str) -> str:
    return " ".join(text.split())


async def _tree(git: Git, one: str) -> str:
    return await git.tree_of(one)
