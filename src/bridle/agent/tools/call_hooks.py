"""What hooks may do with a tool call: before it runs, and with its result."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from bridle.agent.tools.contract.tool import ToolResult


class BeforeCall(msgspec.Struct, frozen=True):
    """What the hooks before a call decide."""

    permission: str | None = None
    """`allow` skips the approval, `ask` demands it, `deny` ends the call; None changes nothing."""
    reason: str = ""
    arguments: dict[str, Any] | None = None
    """What runs instead of the arguments of the model."""
    texts: tuple[str, ...] = ()
    """Texts for the model, after the result."""
    stops: str | None = None
    """The reason of a hook that ends the turn."""


class AfterCall(msgspec.Struct, frozen=True):
    """What the hooks after a call add."""

    texts: tuple[str, ...] = ()
    stops: str | None = None


class CallHooks(Protocol):
    """Runs the hooks of tool calls."""

    async def before(self, call_id: str, tool: str, arguments: dict[str, Any]) -> BeforeCall:
        """Run the hooks before a call."""

    async def after(
        self, call_id: str, tool: str, arguments: dict[str, Any], answer: ToolResult, *, milliseconds: int
    ) -> AfterCall:
        """Run the hooks after a call that was executed."""
