"""The performer of agent effects: one new agent for each, started through the runner.

The value is the agent's structured output if the task has a schema, else its last message. Cost, session and log are in
the result's metadata.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from msgspec.structs import replace

from bridle.engine.drive.agent_request import AgentDefaults, request
from bridle.engine.drive.agent_worktrees import AgentWorktrees, AttemptWorktree
from bridle.engine.drive.performer import LIMIT, UNUSABLE, Job, Unperformed
from bridle.engine.entries.effect_attempts import DELIVERED, Delivery
from bridle.errors import AgentNotReady, JournalBroken, UsageError
from bridle.ground import clock, disk
from bridle.ground.json_fields import JsonFields
from bridle.journal.format import layout
from bridle.journal.format.documents import clean_posted
from bridle.journal.format.entries import ERROR, OK, Posted
from bridle.run.finished import Attempted, Finished
from bridle.run.logs_of_purpose import Purpose, logs_of
from bridle.run.policy import describe_end
from bridle.run.request import Request
from bridle.run.runner import run
from bridle.wire.record.error_category import Category
from bridle.wire.record.limit_resets import limit_reset_time
from bridle.workspace.merge import Conflicts
from bridle.workspace.snapshot import Snapshot

DELIVERY_FILE = "delivered.json"

# Not a failure of the task: the same agent can do it once the account or the budget allows.
_LIMITS = frozenset({Category.RATE_LIMIT, Category.USAGE_LIMIT})


class AgentPerformer:
    """Executes effects of the kinds agent and skill."""

    may_repeat = True
    """A new agent continues with the files that an earlier one left."""

    def __init__(self, defaults: AgentDefaults, worktrees: AgentWorktrees) -> None:
        self._defaults = defaults
        self._worktrees = worktrees

    async def perform(self, job: Job) -> Posted | Unperformed:
        """Run one agent; in its own worktree if others may run too."""
        if job.known.delivery is not None:
            return await self._merge(job, job.known.delivery)
        agent_request, started = request(job, self._defaults), clock.iso(clock.now())
        if job.attempt > 1:
            await self._worktrees.salvage(job)
        attempt = await self._worktrees.create(job) if job.is_parallel else None
        if attempt is None:
            async with self._worktrees.here():
                finished = await _run(job, agent_request)
            return _to_result(job, finished, started)
        agent_request = replace(agent_request, cwd=attempt.folder, own_folder=True, home=job.repository)
        finished = await _run(job, agent_request)
        return await self._deliver(job, attempt, _to_result(job, finished, started))

    async def clear(self, job: Job) -> None:
        """Remove the worktree and the record of its work."""
        if job.is_parallel or job.attempt > 1 or job.known.delivery is not None:
            await self._worktrees.clear(job.effect.effect_id)
        (job.folder() / DELIVERY_FILE).unlink(missing_ok=True)

    async def _deliver(self, job: Job, attempt: AttemptWorktree, posted: Posted | Unperformed) -> Posted | Unperformed:
        """Record the work before it is merged, so that no agent has to repeat it after a crash."""
        if isinstance(posted, Unperformed):
            return posted
        work, fault = await self._worktrees.take_snapshot(attempt)
        if fault is not None and posted.status != ERROR:
            error = {"name": "AgentFailed", "message": fault, "data": {"category": None, **(posted.metadata or {})}}
            posted = Posted(ERROR, error=error, started_at=posted.started_at, finished_at=posted.finished_at)
        if posted.status == ERROR:
            return await self._keep_failed_work(job, attempt.base, work, posted)
        result = {"value": posted.value, "metadata": posted.metadata}
        times = {"startedAt": posted.started_at, "finishedAt": posted.finished_at}
        disk.write_json_atomic(job.folder() / DELIVERY_FILE, {**result, **times})
        delivery = Delivery(
            attempt=job.attempt,
            base=attempt.base.commit,
            head=attempt.base.head,
            tree=work.tree,
            changed=work.tree != attempt.base.tree,
            ref=f"{layout.TASKS}/{job.effect.effect_id}/{DELIVERY_FILE}",
        )
        await job.append_entry(DELIVERED, {"effectId": job.effect.effect_id, **delivery._asdict()})
        return await self._merge(job, delivery)

    async def _merge(self, job: Job, delivery: Delivery) -> Posted:
        """Merge delivered work into the repository."""
        posted = _read_result(job.run / delivery.ref)
        job = dataclasses.replace(job, attempt=delivery.attempt)
        work = await self._worktrees.find(job)
        conflicts = await self._worktrees.merge(job, delivery.base, delivery.tree)
        workspace: dict[str, object] = {"changed": delivery.changed}
        if conflicts is not None or work.head != delivery.head:
            reason = f"{job.name}: not merged" if conflicts is not None else f"{job.name}: with the agent's own commits"
            workspace["branch"] = await self._worktrees.keep(job, work, reason)
        workspace |= await self._keep_nested(job)
        return _merged_result(posted, conflicts, workspace)

    async def _keep_failed_work(self, job: Job, base: Snapshot, work: Snapshot, posted: Posted) -> Posted:
        """Keep the changes of a failed agent on a branch, unmerged."""
        workspace = await self._keep_nested(job)
        if work.tree != base.tree or work.head != base.head:
            workspace["branch"] = await self._worktrees.keep(job, work, f"{job.name}: changes of a failed agent")
        if not workspace:
            return posted
        error = dict(posted.error or {})
        data = JsonFields(error).object("data")
        error["data"] = {**data, "workspace": {"changed": True, **workspace}}
        return Posted(ERROR, error=error, started_at=posted.started_at, finished_at=posted.finished_at)

    async def _keep_nested(self, job: Job) -> dict[str, object]:
        """Keep the nested repositories that were not moved into the repository; no branch can contain them."""
        kept = await self._worktrees.keep_nested(job)
        return {} if kept is None else {"folder": str(kept[0]), "nested": kept[1]}


async def _run(job: Job, request: Request) -> Finished:
    """Run an agent; what those of killed drivers used for the same effect counts as attempts of this one."""
    finished = await run(request, environment=job.environment, say=job.say)
    if job.attempt == 1:
        return finished
    purpose = Purpose(request.purpose, request.mode, request.task)
    earlier = logs_of(purpose, (request.workspace,), but=finished.log_paths)
    used = [Attempted(log.cost, log.record.tokens, log.meta.seconds) for log in earlier]
    return replace(finished, retried=(*used, *finished.retried))


def _to_result(job: Job, finished: Finished, started: str) -> Posted | Unperformed:
    """Return the result of an agent, or Unperformed if the effect is not to blame."""
    outcome, ended = finished.outcome, clock.iso(clock.now())
    if finished.unusable is not None:
        return Unperformed(UNUSABLE, finished.unusable)
    is_over_budget = finished.attempts == 0 and outcome.category is Category.BUDGET
    if outcome.failed and (outcome.category in _LIMITS or is_over_budget):
        return Unperformed(
            LIMIT, AgentNotReady(f"{job.name}: {outcome.reason or outcome.error}", remedy=_retry_remedy(finished))
        )
    metadata = job.mask.apply_to_json(_metadata(job, finished))
    if outcome.failed:
        message = job.mask.apply(str(outcome.reason or outcome.error or "the agent failed without a message"))
        category = outcome.category.value if outcome.category else None
        error = {"name": "AgentFailed", "message": message, "data": {"category": category, **metadata}}
        return Posted(ERROR, error=error, started_at=started, finished_at=ended)
    answer = finished.record.structured_output if finished.record.has_structured_output else outcome.final_text
    try:
        posted = clean_posted(Posted(OK, value=answer, metadata=metadata, started_at=started, finished_at=ended))
    except UsageError as refusal:  # a number that JSON does not have, or too many levels
        error = {"name": "AgentFailed", "message": refusal.message, "data": {"category": None, **metadata}}
        return Posted(ERROR, error=error, started_at=started, finished_at=ended)
    posted.value = job.mask.apply_to_json(posted.value)
    return posted


def _metadata(job: Job, finished: Finished) -> dict[str, object]:
    record, tokens = finished.record, finished.total_tokens
    note = "" if finished.outcome.failed else describe_end(record, finished.outcome)
    has_known_part = finished.total_cost_usd is None and finished.known_cost_usd > 0
    return {
        "sessionId": record.session_id,
        "model": record.model,
        "costUsd": finished.total_cost_usd,
        **({"knownCostUsd": finished.known_cost_usd} if has_known_part else {}),
        "inputTokens": tokens.input_tokens,
        "outputTokens": tokens.output_tokens,
        "seconds": round(finished.total_seconds, 3),
        "starts": finished.attempts,
        "attempt": job.attempt,
        "log": str(finished.log_path) if finished.log_path else None,
        **({"note": note} if note else {}),
    }


def _read_result(path: Path) -> Posted:
    """Return the result that was recorded before the merge."""
    result = disk.read_json(path)
    if not isinstance(result, dict):
        raise JournalBroken(f"{path}, which the journal refers to, is missing")
    times = {"started_at": result["startedAt"], "finished_at": result["finishedAt"]}
    return Posted(OK, value=result["value"], metadata=result["metadata"], **times)


def _merged_result(posted: Posted, conflicts: Conflicts | None, workspace: dict[str, object]) -> Posted:
    started, ended = posted.started_at, posted.finished_at
    metadata = {**(posted.metadata or {}), "workspace": workspace}
    if conflicts is None:
        return Posted(OK, value=posted.value, metadata=metadata, started_at=started, finished_at=ended)
    paths = ", ".join(conflicts.paths) or conflicts.details
    error = {
        "name": "WorkspaceConflict",
        "message": f"could not merge the agent's work into the repository: {paths}{_nested_note(workspace)}",
        "data": {"conflicts": list(conflicts.paths), "value": posted.value, **metadata},
    }
    return Posted(ERROR, error=error, started_at=started, finished_at=ended)


def _nested_note(workspace: dict[str, object]) -> str:
    return f"; its nested repositories are in {workspace['folder']}" if "folder" in workspace else ""


def _retry_remedy(finished: Finished) -> str:
    text = finished.outcome.error
    time = limit_reset_time(finished.record.resets_at, text, now=clock.now(), local=clock.local_zone())
    if time is None:
        return "Drive the run again later; nothing is lost."
    return f"Drive the run again after {clock.iso(time)}; nothing is lost."
