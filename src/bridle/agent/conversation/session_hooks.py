"""The hooks of a session at its events: start, prompt, tool call, stop, compaction, end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from bridle.agent.hooks.outcome import HookOutcome
from bridle.agent.hooks.run_hooks import Hooks
from bridle.agent.tools.call_hooks import AfterCall, BeforeCall
from bridle.agent.tools.contract.tool import ToolResult
from bridle.agent.tools.toolbox import FinishedCall

# A Stop hook that blocks more often than this in a row, without a tool call, is overruled; 0 for no limit.
STOP_BLOCKS = 8
STOP_BLOCKS_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"


class StopDecision(msgspec.Struct, frozen=True):
    """What the Stop hooks decide."""

    feedback: str | None = None
    """What the model must do before it may stop."""
    ends: bool = False
    """Whether a hook ends the turn at once."""
    is_context: bool = False
    """Whether the feedback is context for the model, which is not printed."""


class SessionHooks:
    """Runs the hooks at the events of a session."""

    def __init__(
        self,
        hooks: Hooks,
        environment: Mapping[str, str],
        mode: Callable[[], str],
        effort: Callable[[], str | None],
        agent: Mapping[str, str] | None = None,
    ) -> None:
        """`mode` and `effort` return the current ones; `agent` are the fields that name a sub-agent."""
        self.hooks = hooks
        self.mode, self.effort, self._agent = mode, effort, dict(agent or {})
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
        return await self.hooks.run("UserPromptSubmit", {"prompt": text}, context={"permission_mode": self.mode()})

    async def expansion(self, command: str, arguments: str, source: str, text: str) -> HookOutcome:
        """Run UserPromptExpansion, for a slash command whose text goes to the model."""
        fields = {"expansion_type": "slash_command", "command_name": command, "command_args": arguments}
        fields |= {"command_source": source} if source else {}
        context = {"permission_mode": self.mode()}
        return await self.hooks.run("UserPromptExpansion", {**fields, "prompt": text}, context=context, subject=command)

    async def before(self, call_id: str, tool: str, arguments: dict[str, Any]) -> BeforeCall:
        """Run PreToolUse."""
        fields = {"tool_name": tool, "tool_input": arguments, "tool_use_id": call_id}
        outcome = await self._of_call("PreToolUse", fields, tool, call_id)
        return BeforeCall(
            outcome.permission, outcome.reason, outcome.updated_input, _reminders(outcome.contexts), outcome.stops
        )

    @property
    def has_permission_hooks(self) -> bool:
        """Whether there are hooks that decide about calls which need approval."""
        return self.hooks.has("PermissionRequest")

    async def permission(
        self, call_id: str, tool: str, arguments: dict[str, Any], suggestions: Sequence[dict[str, Any]]
    ) -> dict[str, Any] | None:
        """Run PermissionRequest; return the decision, or None."""
        fields: dict[str, Any] = {"tool_name": tool, "tool_input": arguments}
        fields |= {"permission_suggestions": list(suggestions)} if suggestions else {}
        return (await self._of_call("PermissionRequest", fields, tool, call_id)).decision

    async def after(
        self, call_id: str, tool: str, arguments: dict[str, Any], answer: ToolResult, *, milliseconds: int
    ) -> AfterCall:
        """Run PostToolUse, or PostToolUseFailure for an error."""
        fields: dict[str, Any] = {"tool_name": tool, "tool_input": arguments}
        if answer.is_error:
            event = "PostToolUseFailure"
            fields |= {"tool_use_id": call_id, "error": _error_text(answer), "is_interrupt": False}
        else:
            event = "PostToolUse"
            fields |= {"tool_response": answer.detail, "tool_use_id": call_id}
        outcome = await self._of_call(event, {**fields, "duration_ms": milliseconds}, tool, call_id)
        title = f"{event}:{tool} hook blocking error from command"
        blocks = tuple(f'{title}: "{block.name}": {block.text}' for block in outcome.blocks)
        updated = outcome.updated_output
        if updated is UNSET and tool.startswith("mcp__"):
            updated = outcome.updated_mcp_output
        return AfterCall(_reminders((*blocks, *outcome.contexts)), outcome.stops, updated)

    async def after_batch(self, calls: Sequence[FinishedCall]) -> AfterCall:
        """Run PostToolBatch, when all calls of an answer have their results."""
        if not self.hooks.has("PostToolBatch"):
            return AfterCall()
        listed = [
            {
                "tool_name": done.call.name,
                "tool_input": done.call.arguments,
                "tool_use_id": done.call.call_id,
                "tool_response": done.answer.content,
            }
            for done in calls
        ]
        outcome = await self.hooks.run("PostToolBatch", {"tool_calls": listed}, context=self.turn_fields())
        stops = outcome.stops if outcome.stops is not None else outcome.block
        return AfterCall(_reminders(outcome.contexts), stops)

    async def folder_changed(self, old: str, new: str) -> None:
        """Run CwdChanged, when the working folder of the shell is another one."""
        if old != new:
            await self.hooks.run("CwdChanged", {"old_cwd": old, "new_cwd": new})

    async def failed(self, kind: str, text: str) -> None:
        """Run StopFailure, when an error of the endpoint has ended a turn."""
        effort = self.effort()
        context = {"effort": {"level": effort}} if effort is not None else {}
        fields = {"error": kind, "last_assistant_message": text}
        await self.hooks.run("StopFailure", fields, context=context, subject=kind)

    async def stop(self, last_text: str, *, is_active: bool) -> StopDecision:
        """Run Stop; `is_active` says whether the model continues because of an earlier one."""
        outcome = await self.hooks.run("Stop", stop_fields(last_text, is_active=is_active), context=self.turn_fields())
        return decision_of(outcome)

    async def before_compaction(self, trigger: str, instructions: str) -> None:
        """Run PreCompact."""
        fields = {"trigger": trigger, "custom_instructions": instructions or None}
        await self.hooks.run("PreCompact", fields, subject=trigger)

    async def after_compaction(self, trigger: str, model: str, summary: str) -> None:
        """Run SessionStart, whose texts go to the model with the next prompt, and PostCompact."""
        fields = {"source": "compact", "model": model}
        outcome = await self.hooks.run("SessionStart", fields, subject="compact")
        self._contexts += outcome.contexts
        await self.hooks.run("PostCompact", {"trigger": trigger, "compact_summary": summary}, subject=trigger)

    async def end(self) -> None:
        """Run SessionEnd, and end the commands that run without being waited for."""
        await self.hooks.run("SessionEnd", {"reason": "other"}, subject="other")
        await self.hooks.close()

    def turn_fields(self) -> dict[str, Any]:
        """Return the fields of events during a turn."""
        effort = self.effort()
        level = {"effort": {"level": effort}} if effort is not None else {}
        return {"permission_mode": self.mode(), **self._agent, **level}

    async def _of_call(self, event: str, fields: dict[str, Any], tool: str, call_id: str) -> HookOutcome:
        return await self.hooks.run(event, fields, context=self.turn_fields(), subject=tool, call_id=call_id)


def stop_fields(last_text: str, *, is_active: bool, **more: str) -> dict[str, Any]:
    """Return the fields of Stop and SubagentStop."""
    return {
        "stop_hook_active": is_active,
        **more,
        "last_assistant_message": last_text,
        "background_tasks": [],
        "session_crons": [],
    }


def decision_of(outcome: HookOutcome) -> StopDecision:
    """Return what the hooks of Stop or SubagentStop decide."""
    if outcome.stops is not None:
        return StopDecision(ends=True)
    if outcome.block is not None:
        return StopDecision(f"Stop hook feedback:\n{outcome.block}")
    return (
        StopDecision("\n\n".join(_reminders(outcome.contexts)), is_context=True) if outcome.contexts else StopDecision()
    )


def _reminders(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"<system-reminder>\n{text}\n</system-reminder>" for text in texts)


def _error_text(answer: ToolResult) -> str:
    return answer.content if isinstance(answer.content, str) else str(answer.detail or "")
