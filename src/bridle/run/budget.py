"""The budget of a workspace: the cost of its runs so far, and the limits that stop the next one."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk, prices
from bridle.ground.json_fields import JsonFields
from bridle.ground.lock import FileLock
from bridle.run.logs import STATE_FOLDER, private_folder
from bridle.wire.record.record import Record, Tally

LOCK_FILE = "budget.lock"
# An update takes milliseconds; parallel agents may end at the same moment.
LOCK_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Budget:
    """Amounts used and their limits; a limit of None is unlimited."""

    total_cost_usd: float = 0.0
    max_cost_usd: float | None = None
    iterations: int = 0
    max_iterations: int | None = None

    @property
    def exhausted(self) -> str | None:
        """Return why the next run may not start; None if it may."""
        if self.max_cost_usd is not None and self.total_cost_usd >= self.max_cost_usd:
            return f"the budget is spent: {self.total_cost_usd:.4f} of {self.max_cost_usd:.4f} USD"
        if self.max_iterations is not None and self.iterations >= self.max_iterations:
            return f"the budget is spent: {self.iterations} of {self.max_iterations} runs"
        return None


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a run and the source of the figure."""

    usd: float | None
    source: str | None
    """`agent`: reported by the agent. `prices`: computed from its tokens. None: not known."""


def budget_file(workspace: Path) -> Path:
    return workspace / STATE_FOLDER / "budget.json"


def read(workspace: Path) -> Budget:
    """Read the budget of a workspace; without a file it is unlimited."""
    path = budget_file(workspace)
    document = disk.read_json(path)
    if document is None:
        return Budget()
    if not isinstance(document, dict):
        raise DiskError(f"{path} must hold a JSON object", remedy="Repair it, or delete it to reset the budget.")
    cost, max_cost, iterations, max_iterations = (_number(document.get(field.name), path) for field in fields(Budget))
    return Budget(
        total_cost_usd=cost or 0.0,
        max_cost_usd=max_cost,
        iterations=int(iterations or 0),
        max_iterations=None if max_iterations is None else int(max_iterations),
    )


def spend(workspace: Path, budget: Budget, cost: Cost) -> Budget:
    """Add one run and its cost to a budget, and write it."""
    spent = replace(
        budget,
        total_cost_usd=round(budget.total_cost_usd + (cost.usd or 0.0), 6),
        iterations=budget.iterations + 1,
    )
    return write(workspace, spent)


def write(workspace: Path, budget: Budget) -> Budget:
    private_folder(workspace, STATE_FOLDER)
    disk.write_json_atomic(budget_file(workspace), asdict(budget))
    return budget


def add(workspace: Path, cost: Cost) -> Budget:
    """Add one run and its cost under the lock."""
    with hold_lock(workspace):
        return spend(workspace, read(workspace), cost)


def hold_lock(workspace: Path) -> FileLock:
    """Hold the budget's lock, to be held from reading the budget to writing it."""
    path = private_folder(workspace, STATE_FOLDER) / LOCK_FILE
    return FileLock.hold(path, holder="bridle", wait_seconds=LOCK_SECONDS)


def cost_of(record: Record, agent: str) -> Cost:
    """Return the cost that the agent reported, else the price of its tokens."""
    if record.total_cost_usd is not None:
        return Cost(record.total_cost_usd, "agent")
    tokens = record.usage if record.usage != Tally() else record.usage_estimate
    if tokens is None or record.model is None:
        return Cost(None, None)
    hour = int(JsonFields(record.cache_creation).number("ephemeral_1h_input_tokens") or 0)
    usd = prices.cost_usd(
        record.model,
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
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DiskError(f"{path}: every amount must be a number, got {value!r}", remedy="Repair or delete the file.")
    return value
