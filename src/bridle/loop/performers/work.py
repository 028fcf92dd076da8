"""The performer of an iteration: the prompt, one fresh agent, and what its ending means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bridle.errors import AgentNotReady, DiskError, GitError, UsageError
from bridle.ground import clock, disk, ids
from bridle.loop import effects
from bridle.loop.performers import branch, iteration_prompt, progress_file, shared_budget
from bridle.loop.performers.agent_ending import SAID_CHARACTERS, ending
from bridle.loop.performers.earlier_attempts import spent_before
from bridle.loop.plan.model import Task
from bridle.loop.process.task_state import Usage
from bridle.loop.progress_events import AgentPrinted
from bridle.loop.protection import git_metadata
from bridle.loop.protection.repairs import OUR_FOLDERS
from bridle.loop.protection.reports import Report
from bridle.loop.user_messages import UserMessages
from bridle.loop.working_copy import stale_git_locks
from bridle.loop.working_copy.refs import slug_of
from bridle.loop.working_copy.run_context import RunContext
from bridle.run.budget import Cost
from bridle.run.command import CLAUDE_LIKE
from bridle.run.request import Auth, Limits, Mode, Permission, Reasoning, Request
from bridle.run.runner import Finished, run
from bridle.wire.record.outcome import Ending, judge
from bridle.wire.record.record import Record
from bridle.workspace import snapshot
from bridle.workspace.snapshot import Snapshot

AGENTS_FILE = "AGENTS.md"
# What of it can go into a prompt at all; its own cap is much smaller.
AGENTS_LIMIT_BYTES = 1024 * 1024
PROMPTS = "prompts"
# Of an agent's own words; a summary is a few lines, and a hundred of them are read in every prompt.
SUMMARY_CHARACTERS = 8000
QUESTION_CHARACTERS = 4000
PATTERNS = 20
PATTERN_CHARACTERS = 500
DENIALS = 20


async def work(args: dict[str, Any], bench: RunContext, news: UserMessages) -> dict[str, Any]:
    """Run one agent on a task; whatever comes of it is a value."""
    task = next(task for task in bench.plan.tasks if task.title == args["task"])
    standing = git_metadata.look(bench.folder, bench.progress_folder)
    if standing.folder is None:
        raise GitError(f"{bench.folder} is no repository any more", remedy="Bring its .git folder back; then resume.")
    before = await _snapshot(bench, args)
    heard = news.since(int(args.get("after") or 0))
    packed = _pack(task, args, bench, [*(args.get("hints") or ()), *heard["hints"]])
    kept = _keep_prompt(bench, args, packed.text)
    asked = _request(packed.text, args, bench)
    finished = await run_agent(
        asked,
        bench,
        on_event=lambda event: bench.watch(AgentPrinted(task.title, event)),
        is_announced=False,  # which program and who pays is said once, before the first
    )
    now = git_metadata.look(bench.folder, bench.progress_folder)
    if now.folder is None:
        raise GitError(
            f"the agent has destroyed the repository in {bench.folder}: its .git is gone",
            remedy="Bring it back from a copy; what the agent did is in its log. Nothing more is started.",
        )
    told = [*_mended(bench), *git_metadata.put_files_back(standing, now)]
    for name in await stale_git_locks.clear(bench.folder):
        bench.say(f"removed .git/{name}, which a git of the agent's had left")
    has_left = await branch.keep_branch(bench, head=before.head)
    if has_left or now.refs != standing.refs:
        now = git_metadata.look(bench.folder, bench.progress_folder)
        told += await git_metadata.put_refs_back(bench.git, standing, now, bench.came_from)
    after = await snapshot.take(bench.git, name=f"{before.name}-after", why="after an iteration", since=before)
    answer = _answer(finished)
    value = {
        **ending(finished, agent=asked.agent, question=answer["question"], now=clock.now(), local=clock.local_zone()),
        **answer,
        **figures(finished, spent_before(asked, finished.log_path, news.asked_at(effects.work_label(args)))),
        "changed": after.tree != before.tree or after.head != before.head,
        "tree": after.tree,
        "snapshot": before.name,
        "denials": [_denial(one) for one in finished.record.permission_denials[:DENIALS]],
        "log": str(finished.log_path) if finished.log_path else None,
        "prompt": str(kept.relative_to(bench.run_folder)),
        "cut": list(packed.cut),
        "news": heard,
        "left_branch": has_left,
        "repository": [asdict(report) for report in told],
    }
    _note_progress(bench, args, value)
    return value


def _mended(bench: RunContext) -> list[Report]:
    """Bridle's own folders, where an agent has put something else in their place."""
    reports = []
    for name in OUR_FOLDERS:
        path = bench.workspace / name
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
            path.unlink()
            reports.append(Report(name, "something stood in the place of a folder of Bridle's, and was removed"))
    return reports


async def run_agent(asked: Request, bench: RunContext, **more: Any) -> Finished:
    """Run an agent; one that cannot be asked at all is one that cannot be used."""
    shared_budget.fill(bench)
    try:
        finished = await run(asked, environment=bench.environment, say=bench.say, **more)
        shared_budget.empty(bench)
        return finished
    except UsageError as error:
        refusal = AgentNotReady(f"{asked.agent} cannot be used: {error.message}", remedy=error.remedy)
        record = Record()
        outcome = judge(record, Ending(exit_code=None, not_found=refusal.message))
        return Finished(record, outcome, Cost(None, None), 0, 0.0, unusable=refusal)


def request_of(task: Task, args: dict[str, Any], bench: RunContext) -> tuple[iteration_prompt.Packed, Request]:
    """The prompt and the agent run of an iteration, without running it: what `--dry-run` shows."""
    packed = _pack(task, args, bench, [])
    return packed, _request(packed.text, args, bench)


async def _snapshot(bench: RunContext, args: dict[str, Any]) -> Snapshot:
    """What was there before the iteration; one that a crash broke off has taken it already."""
    name = f"{bench.run.lower()}-{slug_of(str(args['task']))}-{args['iteration']}"
    found = await snapshot.find(bench.git, name)
    return found or await snapshot.take(bench.git, name=name, why="before an iteration")


def _pack(task: Task, args: dict[str, Any], bench: RunContext, hints: list[str]) -> iteration_prompt.Packed:
    around = iteration_prompt.Surroundings(
        agents_file=_agents_file(bench.folder),
        progress=progress_file.read(bench.progress_folder),
        failure=str(args.get("failure") or ""),
        notes=tuple(str(note) for note in args.get("notes") or ()),
        hints=tuple(hints),
        answer=_answered(args),
    )
    checks = (*task.checks, *bench.plan.guard)
    packed = iteration_prompt.pack(iteration_prompt.sections(task, bench.plan, around, bench.settings, checks))
    return iteration_prompt.Packed(bench.mask.apply(packed.text), packed.cut)


def _answered(args: dict[str, Any]) -> str | None:
    """A person's answer, with the question where whoever reads it has not asked it."""
    answer, asked = args.get("answer"), args.get("asked")
    if answer is None or args.get("session_id") or not asked:
        return None if answer is None else str(answer)
    return f"Asked was: {asked}\n\nThe answer: {answer}"


def _agents_file(folder: Path) -> str | None:
    path = folder / AGENTS_FILE
    if not path.is_file():
        return None
    try:
        return disk.read_bounded(path, AGENTS_LIMIT_BYTES).decode("utf-8", "replace")
    except DiskError:
        return None  # too large for any prompt, or not ours to read: the agent can look for itself


def _keep_prompt(bench: RunContext, args: dict[str, Any], text: str) -> Path:
    folder = disk.make_private_folder(bench.run_folder / PROMPTS)
    path = folder / f"{slug_of(str(args['task']))}-{args['iteration']}.md"
    disk.write_atomic(path, text.encode("utf-8", "surrogateescape"))
    return path


def _request(text: str, args: dict[str, Any], bench: RunContext) -> Request:
    settings = bench.settings
    resume = args.get("session_id")
    agent = str(args.get("agent") or settings.agents[0])
    return Request(
        prompt=text,
        cwd=bench.folder,
        agent=agent,
        mode=Mode.CODER,
        task=ids.safe_name(str(args["task"]), limit=40),
        purpose=effects.work_purpose(bench.run, args),
        resume=resume if isinstance(resume, str) and ids.is_id(resume) else None,
        model=_model(str(args.get("agent") or settings.agents[0]), bench),
        reasoning=Reasoning(settings.reasoning),
        json_schema=iteration_prompt.SCHEMA if agent in CLAUDE_LIKE else None,  # others have no form for their answer
        auth=Auth(settings.auth),
        permission=Permission(settings.permission),
        limits=limits_of(bench),
        denials_fail=False,
    )


def _model(agent: str, bench: RunContext) -> str | None:
    """The model to ask for; the default one means nothing to an agent of another kind."""
    settings = bench.settings
    return settings.model if agent in CLAUDE_LIKE or "model" in settings.chosen else None


def limits_of(bench: RunContext) -> Limits:
    """How long an agent may take for what."""
    settings = bench.settings
    return Limits(
        run_seconds=settings.agent_seconds,
        idle_seconds=settings.idle_seconds,
        tool_idle_seconds=settings.tool_idle_seconds,
        after_result_seconds=settings.after_result_seconds,
    )


def _answer(finished: Finished) -> dict[str, Any]:
    """The named fields of what the agent said."""
    data = finished.record.structured_output
    given: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    text = finished.outcome.final_text
    said = given.get("summary")
    summary = said[:SUMMARY_CHARACTERS] if isinstance(said, str) else text[-SAID_CHARACTERS:]
    listed = given.get("patterns")
    patterns = listed[:PATTERNS] if isinstance(listed, list) else []
    question = given.get("question")
    return {
        "summary": summary,
        "done": given.get("done") is True or summary.strip() == "DONE",
        "question": question.strip()[:QUESTION_CHARACTERS] if isinstance(question, str) else "",
        "patterns": [str(one)[:PATTERN_CHARACTERS] for one in patterns],
        "session_id": finished.record.session_id,
    }


def figures(finished: Finished, before: Usage | None = None) -> dict[str, Any]:
    """What it used, with what was used before it for the same."""
    usage, earlier = finished.record.usage, before or Usage()
    return {
        "cost_usd": round((finished.cost.usd or 0.0) + earlier.cost_usd, 6),
        "input_tokens": usage.input_tokens + earlier.input_tokens,
        "output_tokens": usage.output_tokens + earlier.output_tokens,
        "seconds": round(finished.duration_seconds, 3),
        "attempts": finished.attempts,
    }


def _denial(one: Mapping[str, Any]) -> str:
    given = one.get("tool_input")
    what = given.get("command") or given.get("file_path") if isinstance(given, Mapping) else None
    return f"{one.get('tool_name')}: {str(what or given)[:200]}"


def _note_progress(bench: RunContext, args: dict[str, Any], value: dict[str, Any]) -> None:
    """Tell the next prompts of it, and keep it with the worker's own logs where there are several."""
    for folder in {bench.progress_folder, bench.workspace} if value["ending"] == effects.OK else ():
        progress_file.add(
            folder,
            key=f"{bench.run}/{args['task']}/{args['iteration']}",
            title=f"{args['task']}, iteration {args['iteration']}",
            summary=bench.mask.apply(str(value["summary"])),
            patterns=[bench.mask.apply(one) for one in value["patterns"]],
        )
