"""Who of the listed agents can be asked now: the first that is neither at its limit nor unusable. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

# After the moment at which a limit is lifted; the endpoint's clock and ours are not the same.
AFTER_RESET_SECONDS = 10
# After an answer that the limit stands though its reset is over: each time that it is asked costs an iteration.
SOONEST_RESET_SECONDS = 60
# Where nobody said when: as long as the shortest window of any account.
UNKNOWN_RESET_SECONDS = 30 * 60


def lifted_at(resets_at: object, now: datetime) -> datetime:
    """When an agent at its limit can be asked again."""
    if not isinstance(resets_at, str):
        return now + timedelta(seconds=UNKNOWN_RESET_SECONDS)
    lifted = datetime.fromisoformat(resets_at)
    if lifted > now:
        return lifted + timedelta(seconds=AFTER_RESET_SECONDS)
    return now + timedelta(seconds=SOONEST_RESET_SECONDS)


@dataclass
class AgentPool:
    """The agents in the order in which a person named them; the first one that is free works."""

    agents: Sequence[str]
    limited: dict[str, datetime] = field(default_factory=dict)
    """Agents whose account is used up, and until when."""
    unusable: dict[str, str] = field(default_factory=dict)
    """Agents that only a person can mend, and what they said."""

    def free(self, now: Callable[[], datetime]) -> str | None:
        """The agent to ask; one whose limit is lifted meanwhile is asked again before those named after it.

        The clock is read only where it matters: each reading is kept in the journal.
        """
        for name in self.agents:
            if name not in self.unusable and (name not in self.limited or self.limited[name] <= now()):
                return name
        return None

    def next_reset(self) -> datetime | None:
        """When the first of them is free again; None where time alone frees none."""
        return min((until for name, until in self.limited.items() if name not in self.unusable), default=None)

    def lift(self, until: datetime) -> None:
        """That moment was waited for, or a person has cut the wait short: who was to be free then is asked again."""
        self.limited = {name: moment for name, moment in self.limited.items() if moment > until}
