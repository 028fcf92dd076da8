"""The result of one agent run, with what all of its attempts used."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from bridle.errors import AgentError
from bridle.run.budget import Cost
from bridle.run.watchdog import Watchdog
from bridle.wire.record.outcome import Outcome
from bridle.wire.record.record import Record, Tally


class Attempted(Struct, frozen=True):
    """What an attempt used that was retried."""

    cost: Cost
    tokens: Tally
    seconds: float = 0.0
    """Its time; 0 where the duration of the run includes it."""


class Finished(Struct, frozen=True):
    """The result of one agent run."""

    record: Record
    outcome: Outcome
    cost: Cost
    attempts: int
    duration_seconds: float
    log_path: Path | None = None
    stderr_path: Path | None = None
    killed_after_result: bool = False
    limit: Watchdog | None = None
    """The limit that ended it, if any."""
    program: str | None = None
    auth: str | None = None
    corrections: int = 0
    session_id: str | None = None
    """The session to resume next; None where the run names none, or failed to resume the one that it had to."""
    retried: tuple[Attempted, ...] = ()
    """The attempts before the last one."""
    log_paths: tuple[Path, ...] = ()
    """The logs of all attempts."""
    cwd_differs: str | None = None
    """The working folder that the agent reported, where it is not that of the request."""
    unusable: AgentError | None = None
    """Set when the agent cannot be used at all: not found, not logged in, or its endpoint not reached."""

    @property
    def known_cost_usd(self) -> float:
        """The known cost of all attempts."""
        return round(sum(cost.known_usd for cost in self._costs), 6)

    @property
    def total_cost_usd(self) -> float | None:
        """The cost of all attempts; None where that of one is not known."""
        return None if any(cost.usd is None for cost in self._costs) else self.known_cost_usd

    @property
    def cost_source(self) -> str | None:
        """The source of the total: `prices` if that of one attempt was computed; None where one is not known."""
        sources = [cost.source for cost in self._costs]
        return None if None in sources else "prices" if "prices" in sources else "agent"

    @property
    def total_tokens(self) -> Tally:
        """The tokens of all attempts, counted from messages where there is no result."""
        total = Tally()
        for tokens in (self.record.tokens, *(attempted.tokens for attempted in self.retried)):
            total.add(tokens)
        return total

    @property
    def total_seconds(self) -> float:
        """The time of all attempts."""
        return self.duration_seconds + sum(attempted.seconds for attempted in self.retried)

    @property
    def _costs(self) -> list[Cost]:
        return [self.cost, *(attempted.cost for attempted in self.retried)]
