"""How a finished run is told: as a document to programs, in last words to a person."""

from __future__ import annotations

from collections.abc import Iterator

from bridle.run.request import Limits
from bridle.run.runner import Finished
from bridle.run.watchdog import Bite
from bridle.wire.record.error_category import Category
from bridle.wire.record.report import document, to_json


def as_json(finished: Finished) -> str:
    """The document of `inspect` for this run, and what only the runner knows."""
    return to_json({**document(finished.record, finished.outcome), **_about_the_run(finished)})


def last_words(finished: Finished, limits: Limits) -> Iterator[str]:
    """What went wrong and what to do, and where every byte is: a line each."""
    outcome = finished.outcome
    if finished.cwd_differs is not None:
        yield f"the agent says it works in {finished.cwd_differs}, which is not the folder it was given"
    for warning in outcome.warnings:
        yield f"warning: {warning}"
    if finished.unusable is not None:
        yield "; ".join(filter(None, (finished.unusable.message, finished.unusable.remedy)))
    elif outcome.failed:
        kind = f" ({outcome.category})" if outcome.category else ""
        yield f"failed{kind}: {_struck(finished, limits) or outcome.reason or outcome.error}"
    if finished.log_path is not None:
        yield f"log: {finished.log_path}"


def _about_the_run(finished: Finished) -> dict[str, object]:
    return {
        "log_path": None if finished.log_path is None else str(finished.log_path),
        "stderr_path": None if finished.stderr_path is None else str(finished.stderr_path),
        "attempts": finished.attempts,
        "duration_seconds": round(finished.duration_seconds, 3),
        "killed_after_result": finished.killed_after_result,
        "limit_reached": finished.limit,
        "cost_usd": finished.cost.usd,
        "cost_source": finished.cost.source,
        "corrections": finished.corrections,
        "program": finished.program,
        "auth": finished.auth,
        "cwd_differs": finished.cwd_differs,
    }


def _struck(finished: Finished, limits: Limits) -> str | None:
    """Which limit ended the run, in words and with its option; None where none did."""
    if finished.outcome.category is not Category.TIMEOUT or finished.limit is None:
        return None
    words = {
        Bite.RUN: f"no result after {limits.run_seconds:g} seconds (--timeout)",
        Bite.IDLE: f"no sign of life for {limits.idle_seconds:g} seconds (--idle-timeout)",
        Bite.TOOL_IDLE: f"a tool was silent for {limits.tool_idle_seconds:g} seconds (--idle-timeout)",
    }
    return words.get(finished.limit)
