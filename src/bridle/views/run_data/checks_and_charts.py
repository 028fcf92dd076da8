"""The checks of a run with their output, and the figures of its charts, from the results in its journal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from bridle.errors import Error
from bridle.journal.format.entries import Effect
from bridle.journal.format.state import State
from bridle.journal.stores.file_store import FileStore
from bridle.loop import effects
from bridle.loop.effect_results import ChecksResult, WorkResult
from bridle.loop.effects import CheckArgs, WorkArgs
from bridle.views.run_data.conversation_pages import seconds_of
from bridle.views.run_data.log_ending import read_meta_if_possible
from bridle.views.run_data.log_list import ListedLog, read_tail
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask

# Of the output of one check, which the loop has cut to its two ends already.
OUTPUT_CHARACTERS = 20_000


class FinishedEffect(Struct, frozen=True):
    """A resolved effect of the loop that runs agents or checks."""

    seq: int
    """The entry with its result."""
    at: float | None
    args: Any
    result: Any


def finished_effects(store: FileStore, state: State) -> Iterator[FinishedEffect]:
    """Yield the agents and checks of a run that have ended, in the order of their results."""
    for effect in state.resolved:
        known = _KINDS.get(effect.kind)
        decoded = None if known is None else _decode(store, effect, *known)
        if decoded is not None and effect.resolution is not None:
            yield FinishedEffect(effect.resolution.seq, seconds_of(effect.resolution.recorded_at), *decoded)


def check_documents(finished: list[FinishedEffect], mask: Mask, *, after: int = 0) -> list[JsonObject]:
    """Return each check whose result is after an entry."""
    found = [
        {
            "task": effect.args.task,
            "iteration": effect.args.iteration,
            "when": effect.args.when,
            "of": check.owner,
            "command": check.command,
            "exit_code": check.exit_code,
            "timed_out": check.timed_out,
            "seconds": check.seconds,
            "passed": check.passed,
            "output": mask.apply(check.output)[:OUTPUT_CHARACTERS],
            "log": check.log,
            "at": effect.at,
            "seq": effect.seq,
        }
        for effect in finished
        if isinstance(effect.result, ChecksResult) and effect.seq > after
        for check in effect.result.results
    ]
    masked: list[JsonObject] = mask.apply_to_json(found)
    return masked


def chart_figures(finished: list[FinishedEffect], logs: list[ListedLog], mask: Mask) -> JsonObject:
    """Return cost and tokens over time, checks over iterations, and the time in model, tools and harness."""
    works = [effect for effect in finished if isinstance(effect.result, WorkResult)]
    checks = [effect for effect in finished if isinstance(effect.result, ChecksResult)]
    charts = {
        "cost": [{"at": work.at, "task": work.args.task, "usd": work.result.cost_usd} for work in works],
        "tokens": [
            {
                "at": work.at,
                "task": work.args.task,
                "input": work.result.input_tokens,
                "output": work.result.output_tokens,
            }
            for work in works
        ],
        "checks": [
            {
                "task": check.args.task,
                "iteration": check.args.iteration,
                "passed": sum(one.passed for one in check.result.results),
                "failed": sum(not one.passed for one in check.result.results),
            }
            for check in checks
            if check.args.when == effects.AFTER_WORK
        ],
        "time": _times(works, checks, logs),
    }
    masked: JsonObject = mask.apply_to_json(charts)
    return masked


def _times(works: list[FinishedEffect], checks: list[FinishedEffect], logs: list[ListedLog]) -> list[JsonObject]:
    """Return the seconds of each task: of the model as the agents report it, of their tools, and of Bridle's checks."""
    model: dict[str, float] = defaultdict(float)
    for log in logs:
        meta = read_meta_if_possible(log.path)
        model[log.named.task] += (read_tail(log.path, meta).duration_api_ms or 0.0) / 1000
    agents: dict[str, float] = defaultdict(float)
    harness: dict[str, float] = defaultdict(float)
    for work in works:
        agents[work.args.task] += work.result.seconds
    for check in checks:
        harness[check.args.task] += sum(one.seconds for one in check.result.results)
    return [
        {
            "task": task,
            "model": round(min(model[task], agents[task]), 3),
            "tools": round(max(0.0, agents[task] - model[task]), 3),
            "harness": round(harness[task], 3),
        }
        for task in dict.fromkeys([*agents, *harness])
    ]


_KINDS: dict[str, tuple[Any, Any]] = {effects.CHECK: (CheckArgs, ChecksResult), effects.WORK: (WorkArgs, WorkResult)}


def _decode(store: FileStore, effect: Effect, args: Any, result: Any) -> tuple[Any, Any] | None:
    """Return arguments and result; None for those that cannot be read, which the audit names."""
    try:
        return args.from_json(store.task(effect).inputs), result.from_json(store.result(effect).value)
    except Error:
        return None
