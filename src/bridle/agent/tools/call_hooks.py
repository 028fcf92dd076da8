"""What hooks may do with a tool call: before it runs, and with its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from msgspec import UNSET

from bridle.agent.tools.contract.tool import ToolResult


class BeforeCall(msgspec.Struct, frozen=True):
    """What the hooks before a call decide."""

    permission: str | None = None
    """`allow` skips the approval, `ask` demands it, `defer` ends the turn before the call, `deny` ends the call.

    None changes nothing.
    """
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
    output: Any = UNSET
    """What the tool returns instead, as its `tool_use_result`."""


class CallHooks(Protocol):
    """Runs the hooks of tool calls."""

    async def before(self, call_id: str, tool: str, arguments: dict[str, Any]) -> BeforeCall:
        """Run the hooks before a call."""

    async def after(
        self, call_id: str, tool: str, arguments: dict[str, Any], answer: ToolResult, *, milliseconds: int
    ) -> AfterCall:
        """Run the hooks after a call that was executed."""

    @property
    def has_permission_hooks(self) -> bool:
        """Whether there are hooks that decide about calls which need approval."""

    async def permission(
        self, call_id: str, tool: str, arguments: dict[str, Any], suggestions: Sequence[dict[str, Any]]
    ) -> dict[str, Any] | None:
        """Run the hooks that decide about a call that needs approval; None if none decides."""
