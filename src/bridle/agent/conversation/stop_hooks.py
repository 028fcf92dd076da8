"""The Stop hooks of one turn: they may send the model back to work, within a cap."""

from __future__ import annotations

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from bridle.agent.conversation.session_hooks import SessionHooks
from bridle.agent.conversation.turn_result import Ending


class StopFeedback(msgspec.Struct, frozen=True):
    """What the model must do before it may stop."""

    text: str
    is_first: bool
    """Whether no other hook of this turn has blocked before."""
    is_context: bool = False
    """Whether it is context for the model, which is not printed."""


class StopHooks:
    """Decides whether a turn may end."""

    def __init__(self, hooks: SessionHooks | None) -> None:
        self._hooks = hooks
        self._blocks = 0
        self._has_blocked = False

    def note_calls(self) -> None:
        """Reset the cap: a model that calls tools works."""
        self._blocks = 0

    async def check(self, ending: Ending) -> Ending | StopFeedback:
        """Run the Stop hooks of a successful turn; return its ending, or the feedback of a hook that blocks.

        Structured output is final. Beyond the cap the turn ends without a text, as in Claude Code.
        """
        hooks = self._hooks
        if hooks is None or ending.subtype != "success" or ending.is_error or ending.structured is not UNSET:
            return ending
        if ending.terminal_reason != "completed":
            return ending
        decision = await hooks.stop(ending.text, is_active=self._has_blocked)
        if decision.ends:
            return replace(ending, terminal_reason="stop_hook_prevented")
        if decision.feedback is None:
            return ending
        self._blocks += 1
        if 0 < hooks.stop_cap < self._blocks:
            return ending if decision.is_context else replace(ending, text="")
        if decision.is_context:
            return StopFeedback(decision.feedback, is_first=False, is_context=True)
        is_first, self._has_blocked = not self._has_blocked, True
        return StopFeedback(decision.feedback, is_first)
