"""A run of the loop, from its plan to its receipt: made, driven, gone on with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bridle.engine.drive.driver import LIMIT, UNUSABLE, DriveOptions, DriveResult, drive, find_driver
from bridle.engine.hooks.run_hooks import Hooks
from bridle.errors import LockHeld, UsageError
from bridle.ground import clock, ids
from bridle.journal.format.entries import OK, Effect, Posted
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_store import FileStore
from bridle.loop import effects, user_messages
from bridle.loop.control import time_used, usage_limit_waits
from bridle.loop.control.current_state import current_receipt
from bridle.loop.performers import branch, check, merge_work, protect, summarize, work
from bridle.loop.performers.earlier_attempts import cut_off
from bridle.loop.performers.engine_adapter import Act, performers
from bridle.loop.performers.working_copies import Worktrees
from bridle.loop.plan.model import Plan
from bridle.loop.process.receipt import exit_code
from bridle.loop.progress_events import Listener, unwatched
from bridle.loop.settings.model import Settings
from bridle.loop.working_copy import stale_git_locks
from bridle.loop.working_copy.refs import branch_of
from bridle.loop.working_copy.run_context import RunContext, run_context, with_direnv
from bridle.loop.working_copy.run_worktrees import folder_of
from bridle.workspace import snapshot
from bridle.workspace.git import Git

PROCESS_ID = "bridle/loop"
# A check of the repository's own, where it has one; run like any other of the guard.
OWN_CHECK = ".ralph/check"

# What is said where the time of a run is used up in the midst of a step.
OVER = "the time is over; `bridle resume --max-time` gives it more"
# What git notes while something of the person's is under way.
UNDER_WAY = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
# The key of a receipt that says why a run does not go on by itself.
STOPPED = "stopped"
INTERRUPTED = 130
LIMIT_REACHED = 3
NEEDS_YOU = 4
AGENT_UNUSABLE = 5

Say = Callable[[str], None]


@dataclass(frozen=True)
class RunEnd:
    """What a run came to, this time."""

    receipt: dict[str, Any]
    exit_code: int
    reason: str = ""


@dataclass(frozen=True)
class RunRequest:
    """Everything that a new run is made of."""

    repository: Path
    plan: Plan
    settings: Settings
    base: str
    came_from: str | None


async def check_start(cwd: Path, plan: Plan, settings: Settings, environment: Mapping[str, str]) -> RunRequest:
    """See whether a run can begin here; UsageError says why not. Nothing is written."""
    git = Git(cwd, environment)
    top = await git.top()
    git = Git(top, environment)
    _refuse_unfinished_git_operation(await git.git_path("."))
    base = await git.head()
    if base is None:
        raise UsageError(f"{top} has no commit yet", remedy="Make one first: git add -A && git commit -m start")
    changed = await git.names("status", "--porcelain", "-z", "--untracked-files=no")
    if changed and not settings.allow_dirty:
        shown = ", ".join(name[3:] for name in changed[:5])
        raise UsageError(
            f"{top} has changes that are not committed: {shown}",
            remedy="Commit or stash them, or use --allow-dirty, which keeps a snapshot of them first.",
        )
    return RunRequest(top, _with_own_check(plan, top), settings, base, await git.branch())


def _refuse_unfinished_git_operation(place: Path) -> None:
    """A rebase or a merge that is under way would be torn apart by another branch."""
    for name, what in UNDER_WAY.items():
        if (place / name).exists():
            raise UsageError(
                f"a {what} is under way here",
                remedy=f"Finish it (git {what} --continue) or leave it (git {what} --abort) first.",
            )


async def create(beginning: RunRequest, runs: Path, environment: Mapping[str, str]) -> Path:
    """Make the run; its plan and settings are frozen into it."""
    run_id = ids.new_id()
    git = Git(beginning.repository, environment)
    if beginning.settings.allow_dirty:
        await snapshot.take(git, name=f"{run_id.lower()}-start", why="what was there before the run")
    inputs = {
        "run": run_id,
        "repository": str(beginning.repository),
        "base": beginning.base,
        "branch": branch_of(run_id),
        "came_from": beginning.came_from,
        **_apart(beginning, run_id),
        "plan": beginning.plan.as_json(),
        "settings": replace(beginning.settings, notify=()).as_json(),  # their addresses hold tokens
    }
    new = NewRun(
        run_id=run_id,
        process_id=PROCESS_ID,
        entry=None,
        request=beginning.plan.title,
        has_inputs=True,
        inputs=inputs,
    )
    return create_run(runs, new, proof=ids.new_token(), ulid=ids.new_id(), created_at=clock.iso(clock.now()))


async def drive_run(
    run: Path, environment: Mapping[str, str], say: Say, *, with_hooks: bool = True, watch: Listener = unwatched
) -> RunEnd:
    """Drive a run until it ends or somebody else must act, and give its receipt."""
    store = FileStore(run)
    inputs = store.inputs()
    if not isinstance(inputs, dict) or "plan" not in inputs:
        raise UsageError(f"{run} is no run of the loop", remedy="`bridle drive` goes on with runs of other processes.")
    hooks = Hooks(Path(inputs["repository"]), environment, enabled=with_hooks)
    place = replace(await bench_of(run, inputs, environment, say), watch=watch, hooks=hooks)
    settings = place.settings
    folders = (place.folder, *(Path(str(one)) for one in inputs.get("worktrees") or ()))
    for folder in folders:
        for name in await stale_git_locks.clear(folder, among_snapshots=True):
            say(f"removed .git/{name}, which a git that was killed had left")
    places = Worktrees(place, has_worktree=settings.uses_worktrees)
    while True:
        document, _ = await current_receipt(store)
        lost = cut_off(store, folders)
        left_seconds = time_used.seconds_left(store, document, settings.max_seconds, lost)
        overspent = time_used.cost_limit_reached(store, document, settings.max_cost_usd, lost)
        is_over = (left_seconds <= 0 or overspent) and time_used.is_under_way(store)
        if is_over and find_driver(run) is None:  # else the driver says who is at work already
            return RunEnd(await receipt_with_pause(run), LIMIT_REACHED, overspent or OVER)
        since = time_used.begin(store, clock.now(), lost)
        try:
            driven = await drive(
                lambda: FileStore(run, keeps=True),
                run,
                hooks,
                DriveOptions(
                    breakpoints=settings.breakpoints,
                    concurrency=settings.parallel,
                    limit_seconds=max(0.0, left_seconds),
                    quiet=frozenset(effects.PERFORMED),
                ),
                environment=environment,
                say=say,
                performers=performers(
                    _acts(user_messages.UserMessages(FileStore(run, keeps=True))), places, since=clock.iso(since)
                ),
            )
        except LockHeld:
            raise  # somebody else is at work on the run: the time is theirs
        except BaseException:
            time_used.end(store, since, clock.now())
            raise
        time_used.end(store, since, clock.now())
        if not deliver_user_messages(store):
            return await _ended(store, driven)


def deliver_user_messages(store: FileStore) -> bool:
    """Let a paused run hear what a person said since it last listened; False where there is nothing that helps it."""
    for effect_id, one in store.standing().pending.items():
        if one.kind == effects.PAUSE:
            asked = store.task(effect_id).get("inputs")
            heard = user_messages.UserMessages(store).since(
                int(asked.get("after") or 0) if isinstance(asked, dict) else 0
            )
            if heard["retries"] or heard["limits"]:
                return release(store, {**heard, "kept_hints": heard["hints"]})
    return False


async def receipt_with_pause(run: Path) -> dict[str, Any]:
    """The receipt of a run as it stands; nothing is done."""
    store = FileStore(run)
    document, waits_for = await current_receipt(store)
    paused = _paused(store, waits_for)
    if paused is not None:
        document[STOPPED] = paused.get("reason")
    nap = usage_limit_waits.current(store)
    if nap is not None:
        until = datetime.fromtimestamp(nap.until_seconds, UTC)
        document["waiting"] = {"for": nap.why, "until": clock.iso(until)}
    return _with_effects(document, waits_for)


def _with_effects(document: dict[str, Any], waits_for: list[Effect]) -> dict[str, Any]:
    """The receipt with the ids by which its questions are answered; the process itself does not know them."""
    by_label = {effect.label: effect.effect_id for effect in waits_for}
    for task in document.get("tasks", ()):
        if "question" in task:
            task["effect"] = by_label.get(f"needs-you: {task['title']}")
    return document


def release(store: FileStore, said: dict[str, Any]) -> bool:
    """Let a paused run go on with what a person said; False where it does not pause."""
    state = store.state()
    paused = [effect_id for effect_id, one in state.standing.pending.items() if one.kind == effects.PAUSE]
    stamp = clock.iso(clock.now())
    for effect_id in paused:
        with store.write("resume") as writer:
            writer.resolve(effect_id, Posted(OK, value=said, started_at=stamp, finished_at=stamp))
    return bool(paused)


async def bench_of(run: Path, inputs: dict[str, Any], environment: Mapping[str, str], say: Say) -> RunContext:
    """The bench of a run."""
    made = run_context(
        Path(inputs["repository"]),
        environment=environment,
        settings=Settings.from_json(inputs["settings"]),
        plan=Plan.from_json(inputs["plan"]),
        base=str(inputs["base"]),
        run_folder=run,
        say=say,
    )
    return replace(await with_direnv(made), came_from=inputs.get("came_from"))


def _acts(heard: user_messages.UserMessages) -> dict[str, Act]:
    return {
        effects.PREPARE: branch.prepare,
        effects.CHECK: check.check,
        effects.PROTECT: protect.protect,
        effects.WORK: lambda args, place: work.work(args, place, heard),
        effects.COMMIT: branch.make_commit,
        effects.ROLLBACK: branch.roll_back,
        effects.TAKE: merge_work.take,
        effects.KEEP: merge_work.keep,
        effects.MERGE: merge_work.merge,
        effects.LAND: merge_work.land,
        effects.SUMMARIZE: summarize.summarize,
    }


async def _ended(store: FileStore, driven: DriveResult) -> RunEnd:
    receipt, waits_for = await current_receipt(store)
    receipt = _with_effects(receipt, waits_for)
    paused = _paused(store, waits_for)
    if paused is not None:
        reason = str(paused.get("reason") or "")
        return RunEnd({**receipt, STOPPED: reason}, int(paused.get("exit_code") or 1), reason)
    if driven.status == LIMIT:
        return RunEnd(receipt, LIMIT_REACHED, OVER)
    if driven.status == UNUSABLE:
        return RunEnd(receipt, AGENT_UNUSABLE, str(driven.error or ""))
    return RunEnd(receipt, exit_code(receipt))


def _paused(store: FileStore, waits_for: list[Effect]) -> dict[str, Any] | None:
    """What a run that waits for `resume` said of it; None where it does not."""
    effect = next((effect for effect in waits_for if effect.kind == effects.PAUSE), None)
    said = store.task(effect.effect_id).get("inputs") if effect is not None else None
    return said if isinstance(said, dict) else {} if effect is not None else None


def _apart(beginning: RunRequest, run_id: str) -> dict[str, Any]:
    """Where the run works, if not in the person's own working copy."""
    if not beginning.settings.uses_worktrees:
        return {}
    parallel = beginning.settings.parallel
    workers = range(1, parallel + 1) if parallel > 1 else ()
    folders = [folder_of(beginning.repository, run_id), *(folder_of(beginning.repository, run_id, n) for n in workers)]
    return {"worktrees": [str(folder) for folder in folders]}


def _with_own_check(plan: Plan, top: Path) -> Plan:
    own = top / OWN_CHECK
    return replace(plan, guard=(*plan.guard, OWN_CHECK)) if own.is_file() and os.access(own, os.X_OK) else plan
