"""Who of the listed agents can be asked now: the first that is neither at its limit nor unusable. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass
class Roster:
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
