"""Executes `bridle.summarize`: a small model with read-only tools summarizes old progress.

It runs in an empty folder of its own: its prompt has all that it needs, some agents have no read-only tools, and a file
that it wrote into the working copy would be committed with the next task.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from bridle.ground.json_fields import JsonFields
from bridle.loop import effects
from bridle.loop.effect_results import SummarizeResult
from bridle.loop.effects import SummarizeArgs
from bridle.loop.performers import progress_file
from bridle.loop.performers.driver_time import DriverTime
from bridle.loop.performers.earlier_attempts import SUMMARY_TASK, spent_before
from bridle.loop.performers.work import SUMMARY_CHARACTERS, limits_of, run_agent, usage_fields
from bridle.loop.working_copy.run_context import RunContext
from bridle.run.command import CLAUDE_LIKE
from bridle.run.request import Auth, Mode, Reasoning, Request

# How much progress is summarized at once: as much as the smallest model can read.
SUMMARIZED_CHARACTERS = 200_000


async def summarize(args: SummarizeArgs, context: RunContext, time: DriverTime) -> SummarizeResult:
    """Replace old progress by a summary; a failed agent changes nothing."""
    text = progress_file.read(context.progress_folder)
    if not text.strip():
        return SummarizeResult()
    settings = context.settings
    agent = args.agent if args.agent in settings.agents else settings.agents[0]
    request = Request(
        prompt=SUMMARIZE.format(text=context.mask.apply(text)[-SUMMARIZED_CHARACTERS:]),
        cwd=context.folder,
        home=context.workspace,
        agent=agent,
        mode=Mode.SUMMARIZER,
        task=SUMMARY_TASK,
        purpose=effects.summary_purpose(context.run, args),
        driver=time.driver,
        driver_seconds=time.seconds,
        model=settings.summarize_model if agent in CLAUDE_LIKE or "summarize_model" in settings.chosen else None,
        reasoning=Reasoning.HIGH,
        json_schema=SUMMARY_SCHEMA if agent in CLAUDE_LIKE else None,
        auth=Auth(settings.auth),
        limits=limits_of(context),
        sandbox=context.sandbox,
    )
    with tempfile.TemporaryDirectory(prefix="bridle-summary-", ignore_cleanup_errors=True) as folder:
        finished = await run_agent(replace(request, cwd=Path(folder)), context)
    data = finished.record.structured_output
    summary = JsonFields(data).value("summary") if isinstance(data, Mapping) else finished.outcome.final_text
    if isinstance(summary, str) and summary.strip() and not finished.outcome.run_error:
        progress_file.fold(
            context.progress_folder,
            key=f"{context.run}/summary/{args.iteration}",
            summary=context.mask.apply(summary)[:SUMMARY_CHARACTERS],
            of=text,
        )
    else:
        context.say(f"progress was not summarized: {finished.outcome.reason or 'the agent returned no summary'}")
    before = spent_before(request, finished.log_path, time.earlier)
    return SummarizeResult(**usage_fields(finished, request, before), attempts=finished.attempts)


SUMMARY_SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
SUMMARIZE = """\
Below is the progress of a long piece of work in a repository, iteration by iteration. Summarize it for the agent
that continues: what is done, what failed and why, what was decided, what is open. Leave out what no longer matters. At
most thirty lines.

{text}"""
