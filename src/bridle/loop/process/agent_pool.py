"""Which of the listed agents is available: the first without a reached limit that is usable. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, field

# Added to the moment of a reset, since the endpoint's clock and ours differ.
AFTER_RESET_SECONDS = 10
# Waited after a reset that did not lift the limit: each attempt costs an iteration.
SOONEST_RESET_SECONDS = 60
# Waited where the reset is unknown: the shortest window of any account.
UNKNOWN_RESET_SECONDS = 30 * 60


def retry_at(limit_resets_at: str | None, now: datetime) -> datetime:
    """Return when an agent that reached its limit can be tried again."""
    if limit_resets_at is None:
        return now + timedelta(seconds=UNKNOWN_RESET_SECONDS)
    reset = datetime.fromisoformat(limit_resets_at)
    if reset > now:
        return reset + timedelta(seconds=AFTER_RESET_SECONDS)
    return now + timedelta(seconds=SOONEST_RESET_SECONDS)


class AgentPool(Struct):
    """The agents in the order in which the user listed them."""

    agents: Sequence[str]
    limited: dict[str, datetime] = field(default_factory=dict)
    """Agents whose account reached its limit, and when to try them again."""
    unusable: dict[str, str] = field(default_factory=dict)
    """Agents that only the user can make usable, and why."""

    def available(self, now: Callable[[], datetime]) -> str | None:
        """Return the first available agent; one whose limit has been reset comes before those listed after it.

        The clock is read only where the answer depends on it: each reading is recorded in the journal.
        """
        for name in self.agents:
            if name not in self.unusable and (name not in self.limited or self.limited[name] <= now()):
                return name
        return None

    def choose(self, agents: Sequence[str] | None) -> None:
        """Use these agents from now on; None: nothing changes."""
        if agents and tuple(agents) != tuple(self.agents):
            self.agents = tuple(agents)

    def next_reset(self) -> datetime | None:
        """Return when the first limit is reset; None where waiting makes no agent available."""
        return min((until for name, until in self.limited.items() if name not in self.unusable), default=None)

    def clear_limits(self, until: datetime) -> None:
        """Make agents available whose limit is reset by then; also called when the user ends the wait early."""
        self.limited = {name: moment for name, moment in self.limited.items() if moment > until}
