"""Effects that are agents: one fresh agent for each, through the runner, and what came of it as a value.

The value is the agent's structured answer where the task has a schema, else its last words. What it cost, which session
it was and where its log is stand in the result's metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bridle.engine.drive.agent_request import AgentDefaults, request
from bridle.engine.drive.agent_worktrees import Lent, Places
from bridle.engine.drive.performer import LIMIT, UNUSABLE, Job, Unperformed, masked
from bridle.engine.entries.effect_attempts import DELIVERED
from bridle.errors import AgentNotReady, JournalBroken
from bridle.ground import clock, disk
from bridle.journal.format import layout
from bridle.journal.format.entries import ERROR, OK, Posted
from bridle.run.runner import Finished, run
from bridle.wire.record.error_category import Category
from bridle.wire.record.limit_resets import limit_reset_time
from bridle.workspace.merge import Conflicts
from bridle.workspace.snapshot import Snapshot

DELIVERY_FILE = "delivered.json"

# Not the task's failure: the same agent will do when the account or the budget allows it.
_LIMITS = frozenset({Category.RATE_LIMIT, Category.USAGE_LIMIT})


class AgentPerformer:
    """Performs effects of the kinds agent and skill."""

    may_repeat = True
    """An agent starts afresh each time and finds what an earlier one left."""

    def __init__(self, manner: AgentDefaults, places: Places) -> None:
        self._manner = manner
        self._places = places

    async def perform(self, job: Job) -> Posted | Unperformed:
        """Run one agent; where others may be at work too, in a working copy of its own."""
        if job.known.delivered is not None:
            return await self._bring_in(job, job.known.delivered)
        asked, started = request(job, self._manner), clock.iso(clock.now())
        if job.attempt > 1:
            await self._places.salvage(job)
        lent = await self._places.lend(job) if job.is_side_by_side else None
        if lent is None:
            async with self._places.here():
                finished = await run(asked, environment=job.environment, say=job.say)
            return _verdict(job, finished, started)
        own = replace(asked, cwd=lent.folder, own_folder=True, home=job.repository)
        finished = await run(own, environment=job.environment, say=job.say)
        return await self._take_back(job, lent, _verdict(job, finished, started))

    async def clear(self, job: Job) -> None:
        """Take away the working copy, and the record of what was done in it."""
        if job.is_side_by_side or job.attempt > 1 or job.known.delivered is not None:
            await self._places.clear(job.effect.effect_id)
        (job.folder() / DELIVERY_FILE).unlink(missing_ok=True)

    async def _take_back(self, job: Job, lent: Lent, posted: Posted | Unperformed) -> Posted | Unperformed:
        """Note what was done before it is brought in: whatever happens then, no agent has to do it again."""
        if isinstance(posted, Unperformed):
            return posted
        work = await self._places.look(lent)
        if posted.status == ERROR:
            return await self._refused(job, lent.base, work, posted)
        result = {"value": posted.value, "metadata": posted.metadata}
        moments = {"startedAt": posted.started_at, "finishedAt": posted.finished_at}
        disk.write_json_atomic(job.folder() / DELIVERY_FILE, {**result, **moments})
        note = {
            "effectId": job.effect.effect_id,
            "attempt": job.attempt,
            "base": lent.base.commit,
            "head": lent.base.head,
            "tree": work.tree,
            "changed": work.tree != lent.base.tree,
            "ref": f"{layout.TASKS}/{job.effect.effect_id}/{DELIVERY_FILE}",
        }
        await job.note(DELIVERED, note)
        return await self._bring_in(job, note)

    async def _bring_in(self, job: Job, note: Mapping[str, Any]) -> Posted:
        """Join what was delivered into the repository."""
        delivery = disk.read_json(job.run / str(note["ref"]))
        if not isinstance(delivery, dict):
            raise JournalBroken(f"{job.run / str(note['ref'])}, which the journal speaks of, is not there")
        job = replace(job, attempt=int(note["attempt"]))
        work = await self._places.find(job)
        in_the_way = await self._places.bring_in(job, note["base"], note["tree"])
        workspace: dict[str, Any] = {"changed": note["changed"]}
        if in_the_way is not None or work.head != note["head"]:
            why = f"{job.name}: not joined" if in_the_way is not None else f"{job.name}: with the agent's own commits"
            workspace["branch"] = await self._places.keep(job, work, why)
        return _delivered(delivery, in_the_way, workspace)

    async def _refused(self, job: Job, base: Snapshot, work: Snapshot, posted: Posted) -> Posted:
        """An agent failed: what it has changed is not brought in, but not lost either."""
        if work.tree == base.tree and work.head == base.head:
            return posted
        branch = await self._places.keep(job, work, f"{job.name}: what an agent left that failed")
        told: dict[str, Any] = dict(posted.error or {})
        told["data"] = {**told.get("data", {}), "workspace": {"changed": True, "branch": branch}}
        return Posted(ERROR, error=told, started_at=posted.started_at, finished_at=posted.finished_at)


def _verdict(job: Job, finished: Finished, started: str) -> Posted | Unperformed:
    """What came of an agent: a value, an error, or nothing that could be blamed on the effect."""
    outcome, ended = finished.outcome, clock.iso(clock.now())
    if finished.unusable is not None:
        return Unperformed(UNUSABLE, finished.unusable)
    is_refused = finished.attempts == 0 and outcome.category is Category.BUDGET
    if outcome.failed and (outcome.category in _LIMITS or is_refused):
        return Unperformed(
            LIMIT, AgentNotReady(f"{job.name}: {outcome.reason or outcome.error}", remedy=_when(finished))
        )
    metadata = masked(_metadata(job, finished), job.mask)
    if outcome.failed:
        message = job.mask.apply(str(outcome.reason or outcome.error or "the agent failed and did not say why"))
        category = outcome.category.value if outcome.category else None
        told = {"name": "AgentFailed", "message": message, "data": {"category": category, **metadata}}
        return Posted(ERROR, error=told, started_at=started, finished_at=ended)
    answer = finished.record.structured_output if finished.record.has_structured_output else outcome.final_text
    return Posted(OK, value=masked(answer, job.mask), metadata=metadata, started_at=started, finished_at=ended)


def _metadata(job: Job, finished: Finished) -> dict[str, Any]:
    record, tokens = finished.record, finished.record.usage
    return {
        "sessionId": record.session_id,
        "model": record.model,
        "costUsd": finished.cost.usd,
        "inputTokens": tokens.input_tokens,
        "outputTokens": tokens.output_tokens,
        "seconds": round(finished.duration_seconds, 3),
        "starts": finished.attempts,
        "attempt": job.attempt,
        "log": str(finished.log_path) if finished.log_path else None,
    }


def _delivered(delivery: dict[str, Any], in_the_way: Conflicts | None, workspace: dict[str, Any]) -> Posted:
    started, ended = str(delivery["startedAt"]), str(delivery["finishedAt"])
    metadata = {**(delivery["metadata"] or {}), "workspace": workspace}
    if in_the_way is None:
        return Posted(OK, value=delivery["value"], metadata=metadata, started_at=started, finished_at=ended)
    paths = ", ".join(in_the_way.paths) or in_the_way.said
    told = {
        "name": "WorkspaceConflict",
        "message": f"the agent's work could not be joined into the repository: {paths}",
        "data": {"conflicts": list(in_the_way.paths), "value": delivery["value"], **metadata},
    }
    return Posted(ERROR, error=told, started_at=started, finished_at=ended)


def _when(finished: Finished) -> str:
    said = finished.outcome.error
    moment = limit_reset_time(finished.record.resets_at, said, now=clock.now(), local=clock.local_zone())
    if moment is None:
        return "Drive the run again later; nothing is lost."
    return f"Drive the run again after {clock.iso(moment)}; nothing is lost."
