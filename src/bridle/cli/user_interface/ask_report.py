"""The report of a finished agent run: a JSON document, and lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from bridle.run.finished import Finished
from bridle.run.request import Limits
from bridle.run.watchdog import Watchdog
from bridle.wire.record.error_category import Category
from bridle.wire.record.report import report_document, report_json


def as_json(finished: Finished) -> str:
    """Return the document of `inspect` and what only the runner knows."""
    return report_json({**report_document(finished.record, finished.outcome), **_run_fields(finished)})


def final_lines(finished: Finished, limits: Limits) -> Iterator[str]:
    """Yield warnings, the error with its remedy, and the path of the log."""
    outcome = finished.outcome
    if finished.cwd_differs is not None:
        yield f"the agent works in {finished.cwd_differs}, not in the folder it was started in"
    for warning in outcome.warnings:
        yield f"warning: {warning}"
    if outcome.degraded and not outcome.failed:
        missing = "the result has no text" if finished.record.results else "there is no result"
        yield f"degraded: {missing}; the answer is the text of the stream"
    if finished.killed_after_result:
        yield "the agent did not exit after its result and was stopped"
    has_started = finished.attempts and (finished.unusable is None or finished.record.events)
    if has_started and (finished.retried or finished.cost.source != "agent"):
        yield cost_line(finished)
    if finished.unusable is not None:
        yield ". ".join(filter(None, (finished.unusable.message, finished.unusable.remedy)))
    elif outcome.failed:
        kind = f" ({outcome.category})" if outcome.category else ""
        reason = _limit_message(finished, limits) or outcome.reason or outcome.error or ""
        yield f"failed{kind}: {reason.strip()}"
    if finished.log_path is not None:
        yield f"log: {finished.log_path}"


def cost_line(finished: Finished) -> str:
    """Return what all attempts cost, and where the figure comes from."""
    attempts = f" in {finished.attempts} attempts" if finished.retried else ""
    if not finished.record.events and not finished.retried:
        return "it printed nothing; its cost counts as 0"
    if finished.total_cost_usd is None:
        return f"its cost{attempts} is not known"
    source = ", by its tokens and the price list" if finished.cost_source == "prices" else ""
    return f"it cost {finished.total_cost_usd:.4f} USD{attempts}{source}"


def _run_fields(finished: Finished) -> dict[str, object]:
    return {
        "log_path": None if finished.log_path is None else str(finished.log_path),
        "stderr_path": None if finished.stderr_path is None else str(finished.stderr_path),
        "attempts": finished.attempts,
        "duration_seconds": round(finished.duration_seconds, 3),
        "killed_after_result": finished.killed_after_result,
        "limit_reached": finished.limit,
        "cost_usd": finished.total_cost_usd,
        "cost_source": finished.cost_source,
        "corrections": finished.corrections,
        "program": finished.program,
        "auth": finished.auth,
        "cwd_differs": finished.cwd_differs,
    }


def _limit_message(finished: Finished, limits: Limits) -> str | None:
    """Return which limit ended the run, with its option, or None."""
    if finished.outcome.category is not Category.TIMEOUT or finished.limit is None:
        return None
    messages = {
        Watchdog.RUN: f"no result after {limits.run_seconds:g} seconds (--timeout)",
        Watchdog.IDLE: f"no output for {limits.idle_seconds:g} seconds (--idle-timeout)",
        Watchdog.TOOL_IDLE: f"a tool printed nothing for {limits.tool_idle_seconds:g} seconds (--idle-timeout)",
    }
    return messages.get(finished.limit)
