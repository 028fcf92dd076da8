"""The performer of `bridle.summarize`: old progress is folded by a small model that can only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridle.loop.performers import progress_file
from bridle.loop.performers.work import SUMMARY_CHARACTERS, figures, limits_of, run_agent
from bridle.loop.working_copy.run_context import RunContext
from bridle.run.command import CLAUDE_LIKE
from bridle.run.request import Auth, Mode, Reasoning, Request

# Of the progress that is summarized at once: what the smallest model can read.
SUMMARIZED_CHARACTERS = 200_000


async def summarize(args: dict[str, Any], bench: RunContext) -> dict[str, Any]:
    """Fold old progress into a summary, by a small model that can only read. One that fails folds nothing."""
    text = progress_file.read(bench.progress_folder)
    if not text.strip():
        return {}
    settings = bench.settings
    agent = str(args.get("agent") or settings.agents[0])
    asked = Request(
        prompt=SUMMARIZE.format(text=bench.mask.apply(text)[-SUMMARIZED_CHARACTERS:]),
        cwd=bench.folder,
        agent=agent,
        mode=Mode.SUMMARIZER,
        task="summarize",
        model=settings.summarize_model if agent in CLAUDE_LIKE or "summarize_model" in settings.chosen else None,
        reasoning=Reasoning.HIGH,
        json_schema=SUMMARY_SCHEMA if agent in CLAUDE_LIKE else None,
        auth=Auth(settings.auth),
        limits=limits_of(bench),
    )
    finished = await run_agent(asked, bench)
    data = finished.record.structured_output
    said = data.get("summary") if isinstance(data, Mapping) else finished.outcome.final_text
    if isinstance(said, str) and said.strip() and not finished.outcome.run_error:
        summary = bench.mask.apply(said)[:SUMMARY_CHARACTERS]
        progress_file.fold(
            bench.progress_folder, key=f"{bench.run}/summary/{args['iteration']}", summary=summary, of=text
        )
    else:
        bench.say(f"the progress so far was not folded: {finished.outcome.reason or 'no summary came'}")
    return figures(finished)


SUMMARY_SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
SUMMARIZE = """\
Below is the progress of a long piece of work in this repository, iteration by iteration. Fold it into a summary that
whoever comes next can go on with: what is done, what failed and why, what was decided, what is open. Leave out what no
longer matters. At most thirty lines.

{text}"""
