"""What a host decides about a call that needs approval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from bridle.agent.permissions.rules.policy import NeedsApproval


class Approved(msgspec.Struct, frozen=True):
    """The call may run."""

    arguments: dict[str, Any] | None = None
    """What runs instead of the arguments of the model; None to keep those."""


class Rejected(msgspec.Struct, frozen=True):
    """The call must not run."""

    text: str
    """The message for the model."""
    ends_turn: bool = False
    """Whether the whole turn is interrupted."""
    is_failure: bool = False
    """Whether there is no decision: the call failed and was not denied."""


class CallToApprove(msgspec.Struct, frozen=True):
    """A call that waits for the host."""

    call_id: str
    tool: str
    arguments: dict[str, Any]
    verdict: NeedsApproval
    agent_id: str | None = None
    """The sub-agent that made the call; None for the main agent."""
    folder: str = ""
    """The folder of the project, which the host need not be shown."""


class Approver(Protocol):
    """Asks the host about a call."""

    async def approve(self, call: CallToApprove) -> Approved | Rejected:
        """Return the decision of the host; a host that cannot answer rejects."""

    def update(self, updates: object) -> None:
        """Apply the permission updates of a decision."""


def changed_arguments(decision: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of an approval; none, or an empty object, keeps those of the call."""
    changed = decision.get("updatedInput")
    return changed if isinstance(changed, dict) and changed else None
