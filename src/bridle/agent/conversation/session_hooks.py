"""The hooks of a session at its events: start, prompt, tool call, stop, compaction, end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.agent.hooks.outcome import HookOutcome
from bridle.agent.hooks.run_hooks import Hooks
from bridle.agent.tools.call_hooks import AfterCall, BeforeCall
from bridle.agent.tools.contract.tool import ToolResult

# A Stop hook that blocks more often than this in a row, without a tool call, is overruled; 0 for no limit.
STOP_BLOCKS = 8
STOP_BLOCKS_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"


class StopDecision(msgspec.Struct, frozen=True):
    """What the Stop hooks decide."""

    feedback: str | None = None
    """What the model must do before it may stop."""
    ends: bool = False
    """Whether a hook ends the turn at once."""


class SessionHooks:
    """Runs the hooks at the events of a session."""

    def __init__(
        self, hooks: Hooks, environment: Mapping[str, str], prompt_fields: Callable[[], dict[str, Any]]
    ) -> None:
        """`prompt_fields` are the fields that events have after the first prompt."""
        self.hooks = hooks
        self.prompt_fields = prompt_fields
        self._contexts: list[str] = []
        cap = environment.get(STOP_BLOCKS_VARIABLE, "")
        self.stop_cap = int(cap) if cap.isdecimal() else STOP_BLOCKS

    async def start(self, source: str, variables: Mapping[str, str]) -> None:
        """Run SessionStart; its texts go to the model with the first prompt."""
        outcome = await self.hooks.run("SessionStart", {"source": source}, subject=source, variables=variables)
        self._contexts += outcome.contexts

    def take_contexts(self) -> list[str]:
        """Return the texts of SessionStart, once."""
        contexts, self._contexts = self._contexts, []
        return contexts

    async def prompt(self, text: str) -> HookOutcome:
        """Run UserPromptSubmit."""
        return await self.hooks.run("UserPromptSubmit", {**self.prompt_fields(), "prompt": text})

    async def before(self, call_id: str, tool: str, arguments: dict[str, Any]) -> BeforeCall:
        """Run PreToolUse."""
        fields = {"tool_name": tool, "tool_input": arguments, "tool_use_id": call_id}
        outcome = await self._of_call("PreToolUse", fields, tool, call_id)
        return BeforeCall(
            outcome.permission, outcome.reason, outcome.updated_input, _reminders(outcome.contexts), outcome.stops
        )

    async def after(
        self, call_id: str, tool: str, arguments: dict[str, Any], answer: ToolResult, *, milliseconds: int
    ) -> AfterCall:
        """Run PostToolUse, or PostToolUseFailure for an error."""
        fields: dict[str, Any] = {"tool_name": tool, "tool_input": arguments, "tool_use_id": call_id}
        if answer.is_error:
            event = "PostToolUseFailure"
            fields |= {"error": _error_text(answer), "is_interrupt": False, "duration_ms": milliseconds}
        else:
            event = "PostToolUse"
            fields |= {"tool_response": answer.detail, "duration_ms": milliseconds}
        outcome = await self._of_call(event, fields, tool, call_id)
        texts = outcome.contexts
        if outcome.block is not None:
            texts = (f"{event}:{tool} hook blocking error: {outcome.block}", *texts)
        return AfterCall(_reminders(texts), outcome.stops)

    async def stop(self, last_text: str, *, is_active: bool) -> StopDecision:
        """Run Stop; `is_active` says whether the model continues because of an earlier one."""
        fields = {
            **self.prompt_fields(),
            "stop_hook_active": is_active,
            "last_assistant_message": last_text,
            "background_tasks": [],
            "session_crons": [],
        }
        outcome = await self.hooks.run("Stop", fields)
        if outcome.stops is not None:
            return StopDecision(ends=True)
        return StopDecision(None if outcome.block is None else f"Stop hook feedback:\n{outcome.block}")

    async def before_compaction(self, trigger: str, instructions: str) -> None:
        """Run PreCompact."""
        fields = {**self.prompt_fields(), "trigger": trigger, "custom_instructions": instructions}
        await self.hooks.run("PreCompact", fields, subject=trigger)

    async def end(self) -> None:
        """Run SessionEnd."""
        await self.hooks.run("SessionEnd", {**self.prompt_fields(), "reason": "other"}, subject="other")

    async def _of_call(self, event: str, fields: dict[str, Any], tool: str, call_id: str) -> HookOutcome:
        return await self.hooks.run(event, {**self.prompt_fields(), **fields}, subject=tool, call_id=call_id)


def _reminders(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"<system-reminder>\n{text}\n</system-reminder>" for text in texts)


def _error_text(answer: ToolResult) -> str:
    return answer.content if isinstance(answer.content, str) else str(answer.detail or "")
