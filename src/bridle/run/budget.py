"""The budget of a workspace: the cost of its agents so far, and the limits that stop the next one.

The file also names the limits of the loop's current run, so that it shows what is in force. The loop enforces those
itself; a second file records them, so that they are not taken for limits that the user wrote.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from bridle.errors import DiskError
from bridle.ground import disk, prices
from bridle.ground.json_fields import JsonFields
from bridle.ground.lock import FileLock
from bridle.run.logs import STATE_FOLDER, private_folder
from bridle.wire.record.record import Record, Tally

N = TypeVar("N", int, float)
Say = Callable[[str], None]

LOCK_FILE = "budget.lock"
RUN_LIMITS_FILE = "run-limits.json"
# Joined once: an iteration reads them a dozen times.
_BUDGET = STATE_FOLDER / "budget.json"
_RUN_LIMITS = STATE_FOLDER / RUN_LIMITS_FILE
# An update takes milliseconds; parallel agents may end at the same moment.
LOCK_SECONDS = 10.0
KNOWN_COST = "known_cost_usd"
# Agents round their figures.
ROUNDING = 0.01
# No model charges more for requests of this many tokens.
PIECE = 100_000
_FIELDS = ("total_cost_usd", "max_cost_usd", "iterations", "max_iterations")


class Budget(Struct, frozen=True):
    """Amounts used and their limits; a limit of None is unlimited."""

    known_cost_usd: float = 0.0
    max_cost_usd: float | None = None
    iterations: int = 0
    max_iterations: int | None = None
    has_unknown_cost: bool = False
    """Whether the cost of an iteration is not known: the known cost is a lower bound."""

    @property
    def total_cost_usd(self) -> float | None:
        """The cost of all iterations; None where that of one is not known."""
        return None if self.has_unknown_cost else self.known_cost_usd

    def as_json(self) -> dict[str, object]:
        """Return what the file holds: the known cost is beside a total that is not known."""
        document = {name: getattr(self, name) for name in _FIELDS}
        return document | {KNOWN_COST: self.known_cost_usd} if self.has_unknown_cost else document

    @property
    def exhausted(self) -> str | None:
        """Return why the next run may not start; None if it may."""
        if self.max_cost_usd is not None and self.known_cost_usd >= self.max_cost_usd:
            return (
                f"the budget is spent: {self.known_cost_usd:.4f} of {self.max_cost_usd:.4f} USD ({_remedy(_FIELDS[1])})"
            )
        if self.max_iterations is not None and self.iterations >= self.max_iterations:
            runs = "run" if self.max_iterations == 1 else "runs"
            return f"the budget is spent: {self.iterations} of {self.max_iterations} {runs} ({_remedy(_FIELDS[3])})"
        return None


def _remedy(name: str) -> str:
    return f"raise or delete {name} in {STATE_FOLDER}/budget.json"


class RunLimits(Struct, frozen=True):
    """The limits of the loop's current run, and what the workspace had used when that run began."""

    run: str
    max_cost_usd: float
    max_iterations: int
    cost_usd_before: float = 0.0
    iterations_before: int = 0

    @property
    def total_cost_usd(self) -> float:
        """The limit of the workspace's total cost that follows from it."""
        return round(self.cost_usd_before + self.max_cost_usd, 6)

    @property
    def total_iterations(self) -> int:
        """The limit of the workspace's iterations that follows from it."""
        return self.iterations_before + self.max_iterations


class Cost(Struct, frozen=True):
    """The cost of a run and the source of the figure."""

    usd: float | None
    source: str | None
    """`agent`: reported by the agent. `prices`: computed from its tokens. None: not known."""
    known_part_usd: float = 0.0
    """What is known of a cost that is not known as a whole."""
    reported_usd: float | None = None
    """What the agent reported, if that is below the price of its tokens, which counts instead."""

    @property
    def known_usd(self) -> float:
        """The cost, or what is known of it."""
        return self.known_part_usd if self.usd is None else self.usd


def budget_file(workspace: Path) -> Path:
    return workspace / _BUDGET


def read(workspace: Path) -> Budget:
    """Read the budget of a workspace, with the limits that the user wrote; without a file it is unlimited."""
    path = budget_file(workspace)
    document = disk.read_json(path)
    if document is None:
        return Budget()
    if not isinstance(document, dict):
        raise DiskError(f"{path} must hold a JSON object", remedy="Repair it, or delete it to reset the budget.")
    cost, max_cost, iterations, max_iterations = (_number(document.get(name), path) for name in _FIELDS)
    known = _number(document.get(KNOWN_COST), path) if cost is None else cost
    of_run = _read_run_limits(workspace)
    if of_run is not None:
        max_cost = None if max_cost == of_run.total_cost_usd else max_cost
        max_iterations = None if max_iterations == of_run.total_iterations else max_iterations
    return Budget(
        known_cost_usd=known or 0.0,
        max_cost_usd=max_cost,
        iterations=int(iterations or 0),
        max_iterations=None if max_iterations is None else int(max_iterations),
        has_unknown_cost=cost is None and _FIELDS[0] in document,
    )


def spend(workspace: Path, budget: Budget, cost: Cost) -> Budget:
    """Add one run and its cost to a budget, and write it."""
    spent = replace(
        budget,
        known_cost_usd=round(budget.known_cost_usd + cost.known_usd, 6),
        iterations=budget.iterations + 1,
        has_unknown_cost=budget.has_unknown_cost or cost.usd is None,
    )
    return write(workspace, spent)


def write(workspace: Path, budget: Budget) -> Budget:
    """Write the budget of a workspace; where the user wrote no limit, it names that of the current run."""
    private_folder(workspace, STATE_FOLDER)
    of_run = _read_run_limits(workspace)
    named = budget
    if of_run is not None:
        named = replace(
            budget,
            max_cost_usd=of_run.total_cost_usd if budget.max_cost_usd is None else budget.max_cost_usd,
            max_iterations=of_run.total_iterations if budget.max_iterations is None else budget.max_iterations,
        )
    disk.write_json_atomic(budget_file(workspace), named.as_json())
    return budget


def name_run_limits(workspace: Path, run: str, *, max_cost_usd: float, max_iterations: int) -> None:
    """Name the limits of the loop's current run in the budget file."""
    with hold_lock(workspace):
        budget, known = read(workspace), _read_run_limits(workspace)
        limits = RunLimits(run, max_cost_usd, max_iterations, budget.known_cost_usd, budget.iterations)
        if known is not None and known.run == run:
            limits = replace(known, max_cost_usd=max_cost_usd, max_iterations=max_iterations)
        if limits == known:
            return
        path = private_folder(workspace, STATE_FOLDER) / RUN_LIMITS_FILE
        # Without any limits first: a kill between the two writes must not turn the old ones into the user's.
        disk.write_json_atomic(budget_file(workspace), budget.as_json())
        disk.write_json_atomic(path, asdict(limits))
        write(workspace, budget)


def _read_run_limits(workspace: Path) -> RunLimits | None:
    """Read the limits of the current run; None if they are missing, or an agent has damaged the file."""
    try:
        fields = JsonFields(disk.read_json(workspace / _RUN_LIMITS))
    except DiskError:
        return None
    run, cost, iterations = fields.text("run"), fields.number("max_cost_usd"), fields.number("max_iterations")
    if run is None or cost is None or iterations is None:
        return None
    return RunLimits(
        run,
        cost,
        int(iterations),
        fields.number("cost_usd_before") or 0.0,
        int(fields.number("iterations_before") or 0),
    )


def add(workspace: Path, cost: Cost, *, before: Budget | None = None, say: Say = lambda _line: None) -> Budget:
    """Add one run and its cost under the lock; `before` is the budget as it was when its agent started."""
    with hold_lock(workspace):
        return spend(workspace, _read_after(workspace, before, say), cost)


def restore(workspace: Path, before: Budget, say: Say) -> None:
    """Restore what a check has changed: no amount is lowered and no limit is raised."""
    if read(workspace) == before:
        return
    with hold_lock(workspace):
        after, kept = read(workspace), _read_after(workspace, before, say, program="a check")
        if kept != after:
            write(workspace, kept)


def _read_after(workspace: Path, before: Budget | None, say: Say, *, program: str = "an agent") -> Budget:
    """Read the budget after a program that can change it: no amount is lowered, no limit is raised or added."""
    try:
        after = read(workspace)
    except DiskError:
        if before is None:
            raise
        say(f"{budget_file(workspace)} was damaged while {program} ran; the amounts from before count")
        return before
    if before is None:
        return after
    kept = replace(
        after,
        known_cost_usd=max(before.known_cost_usd, after.known_cost_usd),
        iterations=max(before.iterations, after.iterations),
        has_unknown_cost=before.has_unknown_cost or after.has_unknown_cost,
        max_cost_usd=_stricter(before.max_cost_usd, after.max_cost_usd),
        max_iterations=_stricter(before.max_iterations, after.max_iterations),
    )
    if kept != after:
        say(f"{budget_file(workspace)} was changed while {program} ran; the amounts and limits from before count")
    return kept


def _stricter(before: N | None, after: N | None) -> N | None:
    return before if before is None or after is None else min(before, after)


def hold_lock(workspace: Path) -> FileLock:
    """Hold the budget's lock, to be held from reading the budget to writing it."""
    path = private_folder(workspace, STATE_FOLDER) / LOCK_FILE
    return FileLock.hold(path, holder="bridle", wait_seconds=LOCK_SECONDS)


def cost_of(record: Record, agent: str, *, model: str | None = None) -> Cost:
    """Return the cost that the agent reported and the price of what that leaves out, else the price of its tokens.

    `model` is the one that was requested, for agents that do not report theirs.
    """
    reported = record.reported_cost_usd
    if reported is not None:
        least = _least_price(record, agent, model)
        if least is None or reported >= least * (1 - ROUNDING):
            return Cost(reported, "agent")
        return Cost(least, "prices", reported_usd=reported)
    if record.total_cost_usd is not None:
        return _price_of_uncounted(record, agent, model)
    if record.known_cost_usd:  # prices of tokens and the agent's own figures cannot be added
        return Cost(None, None, record.known_cost_usd)
    tokens = record.tokens
    return Cost(None, None) if tokens == Tally() else _price(record, tokens, agent, model)


def cost_so_far(record: Record, agent: str, *, model: str | None = None) -> Cost:
    """Return the cost of an agent that may have been cut off: nothing where a priced model had not answered yet."""
    if not record.events:
        return Cost(0.0, "prices")
    # A line that cannot be decoded may be an answer or a result: its cost is not known, and not nothing.
    has_answered = record.results or record.chunks or record.tool_uses or record.parse_errors
    if has_answered:
        return cost_of(record, agent, model=model)
    return _price(record, record.tokens, agent, model)


def _least_price(record: Record, agent: str, requested: str | None) -> float | None:
    """Return the lowest price of the tokens that an agent reported; None where one of its models has none.

    All of them as those of its cheapest model, and in requests that are too small for a higher rate.
    """
    models = {record.model or requested, *record.model_usage}
    tokens = record.tokens
    pieces = 1 + sum((tokens.input_tokens, tokens.cache_read_input_tokens, tokens.cache_creation_input_tokens)) // PIECE
    found: list[float] = []
    for name in models:
        usd = (
            None
            if name is None
            else prices.cost_usd(
                name,
                input_tokens=tokens.input_tokens // pieces,
                output_tokens=tokens.output_tokens // pieces,
                cache_read_tokens=(tokens.cache_read_input_tokens + tokens.cached_input_tokens) // pieces,
                cache_write_tokens=tokens.cache_creation_input_tokens // pieces,
                input_includes_cached=agent not in ("claude", "bridle-agent", "amp"),
            )
        )
        if usd is None:
            return None
        found.append(usd * pieces)
    return round(min(found), 6)


def _price_of_uncounted(record: Record, agent: str, requested: str | None) -> Cost:
    """Return what the agent reported, with the price of the messages that it left out."""
    price = _price(record, record.uncounted, agent, requested)
    if price.usd is None:
        return Cost(None, None, record.known_cost_usd)
    return Cost(round(record.known_cost_usd + price.usd, 6), "prices")


def _price(record: Record, tokens: Tally, agent: str, requested: str | None) -> Cost:
    model = record.model or requested
    if model is None:
        return Cost(None, None)
    hour = int(JsonFields(record.cache_creation).number("ephemeral_1h_input_tokens") or 0)
    hour = min(hour, tokens.cache_creation_input_tokens)
    usd = prices.cost_usd(
        model,
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cache_read_tokens=tokens.cache_read_input_tokens + tokens.cached_input_tokens,
        cache_write_tokens=max(tokens.cache_creation_input_tokens - hour, 0),
        cache_write_1h_tokens=hour,
        input_includes_cached=agent not in ("claude", "bridle-agent", "amp"),
    )
    return Cost(usd, None if usd is None else "prices")


def _number(value: object, path: Path) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise DiskError(
            f"{path}: every amount must be a number from 0, got {value!r}", remedy="Repair or delete the file."
        )
    return value
