"""Executes `bridle.work`: builds the prompt, runs one fresh agent, and classifies how it ended."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.errors import AgentNotReady, UsageError
from bridle.ground import clock, disk, ids
from bridle.ground.files import real_path
from bridle.ground.json_fields import JsonFields
from bridle.loop import effect_results, effects
from bridle.loop.effect_results import WorkResult
from bridle.loop.effects import WorkArgs
from bridle.loop.performers import after_agent, iteration_prompt, progress_file, shared_budget
from bridle.loop.performers.agent_ending import MESSAGE_CHARACTERS, AgentEnding, classify_ending
from bridle.loop.performers.driver_time import DriverTime
from bridle.loop.performers.earlier_attempts import log_task, spent_before
from bridle.loop.plan.model import Task
from bridle.loop.process.task_state import Usage
from bridle.loop.progress_events import AgentPrinted
from bridle.loop.protection import baseline, programs_outside, untracked_files
from bridle.loop.protection.recorded import check_programs, startup_files
from bridle.loop.user_messages import UserMessageReader
from bridle.loop.working_copy import known_files
from bridle.loop.working_copy.refs import task_slug
from bridle.loop.working_copy.run_context import RunContext
from bridle.run.budget import Cost, cost_so_far
from bridle.run.command import CLAUDE_LIKE
from bridle.run.finished import Finished
from bridle.run.request import Auth, Limits, Mode, Permission, Reasoning, Request
from bridle.run.runner import run
from bridle.wire.record.denials import denied_tool
from bridle.wire.record.error_category import Category
from bridle.wire.record.outcome import Ending, judge
from bridle.wire.record.record import Record
from bridle.workspace import files_index, gc_lock, snapshot
from bridle.workspace.repair import git_leftovers
from bridle.workspace.snapshot import Snapshot

AGENTS_FILE = "AGENTS.md"
# The largest AGENTS.md that is read; its share of a prompt is much smaller.
AGENTS_LIMIT_BYTES = 1024 * 1024
PROMPTS = "prompts"
# A summary is a few lines, and a hundred of them are in every prompt.
SUMMARY_CHARACTERS = 8000
QUESTION_CHARACTERS = 4000
PATTERNS = 20
PATTERN_CHARACTERS = 500
DENIALS = 20


async def work(args: WorkArgs, context: RunContext, messages: UserMessageReader, time: DriverTime) -> WorkResult:
    """Run one agent on a task; every way in which it can end is a result."""
    is_known = known_files.take_over(context, args.kind)
    with after_agent.agent_at_work(context, is_known=is_known) as git_baseline:
        before = await _snapshot(context, args, is_known=is_known)
        state_before = after_agent.read_before(context, git_baseline)
        start = baseline.find(context)
        if start is not None:
            check_programs.record(context, start.protected, before.name)
        startup_files.record(context, before.name, state_before.files.startup)
        await programs_outside.record(context, before.name)
        received = messages.since(args.after)
        prompt = _prompt(context.plan.task(args.task), args, context, (*args.hints, *received.hints))
        prompt_path = _save_prompt(context, args, prompt.text)
        shared_budget.name_limits(context, messages)
        request = replace(_request(prompt.text, args, context), driver=time.driver, driver_seconds=time.seconds)
        # The program and the account that pays are announced once, before the first iteration.
        finished = await run_agent(
            request, context, is_announced=False, on_event=lambda event: context.watch(AgentPrinted(args.task, event))
        )
        left = await after_agent.restore(context, before, git_baseline, state_before)
    answer = _answer(finished)
    changed = left.after is not None and (left.after.tree, left.after.head) != (before.tree, before.head)
    now, zone = clock.now(), clock.local_zone()
    ending = classify_ending(
        finished, agent=request.agent, question=answer.question, changed=changed, now=now, local=zone
    )
    wasted = spent_before(request, finished.log_path, time.earlier)
    result = WorkResult(
        ending=ending.ending if left.fault is None else effect_results.CRASHED,
        message=ending.message if left.fault is None else left.fault,
        failed=finished.record.failure is not None,
        limit_resets_at=ending.limit_resets_at,
        summary=answer.summary,
        done=answer.done and finished.record.failure is None,  # an agent that failed has not finished its task
        question=answer.question or _unstructured_question(finished, ending),
        patterns=answer.patterns,
        session_id=finished.session_id,
        **usage_fields(finished, request, wasted),
        wasted_usd=wasted.known_cost_usd,
        attempts=finished.attempts,
        changed=changed,
        tree=left.after.tree if left.after is not None else before.tree,
        snapshot=before.name,
        denials=tuple(describe_denial(denial) for denial in finished.record.permission_denials[:DENIALS]),
        log=str(finished.log_path) if finished.log_path else None,
        prompt=str(prompt_path.relative_to(context.run_folder)),
        cut=prompt.cut,
        # A limit that was sent while the agent worked counts before the next one starts.
        user_messages=replace(received, limits=received.limits | messages.limits_since(received.after)),
        left_branch=left.left_branch,
        git_changes=left.changes,
        conflicts=after_agent.unresolved(context, (*args.conflicts, *left.conflicts)),
    )
    _add_progress(context, args, result)
    if not files_index.may_track(context.git, progress_file.FILE):
        known_files.hand_over(context, args.kind)
    return result


async def run_agent(request: Request, context: RunContext, **more: Any) -> Finished:
    """Run an agent; a request that is refused before the start has the ending `unusable`."""
    spent = shared_budget.limit_worktree(context)
    if spent is not None:
        return _not_started(Ending(exit_code=None, fault=spent, fault_category=Category.BUDGET))
    try:
        async with gc_lock.released():
            return await run(request, environment=context.environment, say=context.say, **more)
    except UsageError as error:
        refusal = AgentNotReady(f"{request.agent} cannot be used: {error.message}", remedy=error.remedy)
        return _not_started(Ending(exit_code=None, not_found=refusal.message), refusal)
    finally:
        shared_budget.add_spent(context)  # of an interrupted agent too


def _not_started(ending: Ending, unusable: AgentNotReady | None = None) -> Finished:
    record = Record()
    return Finished(record, judge(record, ending), Cost(None, None), 0, 0.0, unusable=unusable)


def first_request(task: Task, context: RunContext) -> tuple[iteration_prompt.Prompt, Request]:
    """Return the prompt and the request of a task's first iteration, for `--dry-run`."""
    args = WorkArgs(task=task.title, iteration=1)
    prompt = _prompt(task, args, context, ())
    return prompt, _request(prompt.text, args, context)


def snapshot_name(context: RunContext, args: WorkArgs) -> str:
    """Return the name of the snapshot from before an iteration."""
    return f"{context.run.lower()}-{task_slug(args.task)}-{args.iteration}"


async def _snapshot(context: RunContext, args: WorkArgs, *, is_known: bool) -> Snapshot:
    """Take a snapshot before the iteration, or find the one of an interrupted attempt."""
    name = snapshot_name(context, args)
    existing = await snapshot.find(context.git, name)
    if existing is None:
        taken = await snapshot.take(context.git, name=name, why="before an iteration", is_known=is_known)
        if taken.head is None:
            raise after_agent.commits_deleted(context)  # in the sandbox `.git` itself cannot be deleted
        return await untracked_files.add_hidden(context, taken)
    await git_leftovers.end_operations(context.git)
    return existing


def _prompt(task: Task, args: WorkArgs, context: RunContext, hints: tuple[str, ...]) -> iteration_prompt.Prompt:
    content = iteration_prompt.PromptContent(
        agents_file=_agents_file(context.folder),
        progress=progress_file.read(context.progress_folder),
        failure=args.failure,
        notes=args.notes,
        hints=hints,
        question=None if args.session_id else args.question,
        answer=args.answer,
        answered=args.answered,
    )
    checks = (*task.checks, *context.plan.guard)
    prompt = iteration_prompt.build(
        iteration_prompt.sections(task, context.plan, content, context.settings, checks), context.settings.template
    )
    return iteration_prompt.Prompt(context.mask.apply(prompt.text), prompt.cut)


def _agents_file(folder: Path) -> str | None:
    """Return the text of AGENTS.md; None for a link out of the repository, whose target an agent may not read."""
    top = os.path.realpath(folder)
    path = real_path.resolve(AGENTS_FILE, top, top)
    if path is None or not path.startswith(f"{top}/"):
        return None
    data = disk.read_part(path, AGENTS_LIMIT_BYTES + 1, follow_links=False)
    if data is None or len(data) > AGENTS_LIMIT_BYTES:
        return None  # missing, or too large for a prompt: the agent can read it itself
    return data.decode("utf-8", "replace")


def _save_prompt(context: RunContext, args: WorkArgs, text: str) -> Path:
    folder = disk.make_private_folder(context.run_folder / PROMPTS)
    path = folder / f"{task_slug(args.task)}-{args.iteration}.md"
    disk.write_atomic(path, text.encode("utf-8", "surrogateescape"))
    return path


def _request(prompt: str, args: WorkArgs, context: RunContext) -> Request:
    settings = context.settings
    # The user may have chosen others since the effect was requested.
    agent = args.agent if args.agent in settings.agents else settings.agents[0]
    is_claude_like = agent in CLAUDE_LIKE
    return Request(
        prompt=prompt,
        cwd=context.folder,
        agent=agent,
        mode=Mode.CODER,
        task=log_task(args.task),
        purpose=effects.work_purpose(context.run, args),
        resume=args.session_id if args.session_id is not None and ids.is_id(args.session_id) else None,
        # The default model exists only for agents that take Claude's models.
        model=settings.model if is_claude_like or "model" in settings.chosen else None,
        reasoning=Reasoning(settings.reasoning),
        json_schema=iteration_prompt.SCHEMA if is_claude_like else None,  # others have no structured output
        auth=Auth(settings.auth),
        permission=Permission(settings.permission),
        limits=limits_of(context),
        denials_fail=False,
        sandbox=context.sandbox,
        read_only=context.read_only,
    )


def limits_of(context: RunContext) -> Limits:
    """Return the time limits of an agent."""
    settings = context.settings
    return Limits(
        run_seconds=settings.agent_seconds,
        idle_seconds=settings.idle_seconds,
        tool_idle_seconds=settings.tool_idle_seconds,
        after_result_seconds=settings.after_result_seconds,
    )


class _Answer(Struct, frozen=True):
    """The fields of an agent's structured output."""

    summary: str
    done: bool
    question: str
    patterns: tuple[str, ...]


def _answer(finished: Finished) -> _Answer:
    """Read the structured output of an agent; without it the last message is the summary."""
    fields = JsonFields(finished.record.structured_output)
    summary = fields.value("summary")
    if isinstance(summary, str):
        summary = summary[:SUMMARY_CHARACTERS]
    else:
        summary = finished.outcome.final_text[-MESSAGE_CHARACTERS:]
    return _Answer(
        summary=summary,
        done=fields.flag("done") or summary.strip() == "DONE",
        question=(fields.text("question") or "").strip()[:QUESTION_CHARACTERS],
        patterns=tuple(pattern[:PATTERN_CHARACTERS] for pattern in (fields.texts("patterns") or ())[:PATTERNS]),
    )


def _unstructured_question(finished: Finished, ending: AgentEnding) -> str:
    """Return the question of an agent that asked without structured output; its text ends with the question."""
    return finished.record.answer.question[-QUESTION_CHARACTERS:] if ending.ending == effect_results.QUESTION else ""


def usage_fields(finished: Finished, request: Request, before: Usage) -> dict[str, Any]:
    """Return the fields of a result for what an agent used, plus what earlier attempts used before it."""
    cost = cost_so_far(finished.record, request.agent, model=request.model)
    tokens = finished.record.tokens
    usage = Usage(
        cost.known_usd,
        int(cost.usd is None),
        tokens.input_tokens,
        tokens.output_tokens,
        finished.duration_seconds,
    )
    usage.add(before)
    return {
        "cost_usd": usage.total_cost_usd,
        "known_cost_usd": usage.known_cost_usd if usage.unknown_costs else 0.0,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "seconds": round(usage.seconds, 3),
    }


def describe_denial(denial: object) -> str:
    """Return the tool of a refused call, and its command or file if it has one."""
    fields = JsonFields(denial)
    main = fields.fields("tool_input").first("command", "file_path") or fields.value("tool_input")
    return denied_tool(denial) + (f": {str(main)[:200]}" if main is not None else "")


def _add_progress(context: RunContext, args: WorkArgs, result: WorkResult) -> None:
    """Add an iteration to the progress file, and to the worktree's own where there is one."""
    for folder in {context.progress_folder, context.workspace} if result.ending == effect_results.OK else ():
        progress_file.add(
            folder,
            key=f"{context.run}/{args.task}/{args.iteration}",
            title=f"{args.task}, iteration {args.iteration}",
            summary=context.mask.apply(result.summary),
            patterns=[context.mask.apply(pattern) for pattern in result.patterns],
        )
