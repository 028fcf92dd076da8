"""What hooks decide: the output of each, and the outcome of all hooks of an event together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from bridle.wire.events.loose_json import from_json

BLOCKS = 2
"""The exit code of a command that blocks."""
# The events whose plain output is context for the model.
_PLAIN_CONTEXT = ("SessionStart", "UserPromptSubmit")
# The events whose texts for the model name their tool.
_OF_TOOLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
# After a condition that is not met, the turn continues: the call is denied, or the model works on.
_CONTINUE = ("PreToolUse", "PostToolUseFailure", "Stop", "SubagentStop")
_NO_REASON = "Blocked by hook"
# The strictest decision wins.
_STRICTNESS = ("allow", "ask", "defer", "deny")


class Condition(msgspec.Struct, frozen=True):
    """What a model says about the condition of a prompt hook."""

    is_met: bool
    reason: str = ""
    continues: bool = False
    """Whether the turn continues if it is not met."""


class HookOutput(msgspec.Struct, frozen=True):
    """What one hook returned."""

    name: str
    """How messages name it: the command, the prompt, or the callback."""
    exit_code: int | None = 0
    """None for a hook that did not end in time, or could not start."""
    stdout: str = ""
    stderr: str = ""
    answer: dict[str, Any] | None = None
    """The answer of a callback; a command's is in its stdout."""
    condition: Condition | None = None
    """The answer to a prompt."""


class Block(msgspec.Struct, frozen=True):
    """Why one hook blocks."""

    name: str
    text: str


class HookOutcome(msgspec.Struct, frozen=True):
    """What all hooks of an event decide together."""

    blocks: tuple[Block, ...] = ()
    """The hooks that block the event."""
    permission: str | None = None
    """`allow`, `ask`, `defer` or `deny`."""
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    contexts: tuple[str, ...] = ()
    """Texts for the model."""
    stops: str | None = None
    """The reason of a hook that ends the turn."""
    updated_output: Any = UNSET
    """The output that replaces that of a tool."""
    updated_mcp_output: Any = UNSET
    """The output that replaces that of a tool of an MCP server."""
    decision: dict[str, Any] | None = None
    """The decision of a PermissionRequest."""

    @property
    def block(self) -> str | None:
        """Why the event is blocked; None if it is not."""
        return "\n".join(block.text for block in self.blocks) if self.blocks else None


def outcome_of(event: str, subject: str, outputs: Iterable[HookOutput]) -> HookOutcome:
    """Combine the outputs of an event's hooks: what blocks or denies wins, contexts add up."""
    outcome = HookOutcome()
    for output in outputs:
        outcome = _combine(outcome, _single(event, subject, output))
    return outcome


def _single(event: str, subject: str, output: HookOutput) -> HookOutcome:
    if output.condition is not None:
        return _from_condition(event, subject, output.name, output.condition)
    if output.exit_code == BLOCKS:
        return _blocked(event, subject, output.name, output.stderr if output.stderr.strip() else "No stderr output")
    if output.exit_code != 0:
        return HookOutcome()
    answer = output.answer if output.answer is not None else _parse(output.stdout)
    if answer is not None:
        return _from_answer(event, subject, output.name, answer)
    if event in _PLAIN_CONTEXT and (text := output.stdout.strip()):
        return HookOutcome(contexts=(f"{event}{f':{subject}' if subject else ''} hook success: {text}",))
    return HookOutcome()


def _from_condition(event: str, subject: str, name: str, condition: Condition) -> HookOutcome:
    if condition.is_met:
        return HookOutcome()
    outcome = _blocked(event, subject, name, condition.reason)
    if condition.continues or event in _CONTINUE:
        return outcome
    return msgspec.structs.replace(outcome, stops=condition.reason)


def _blocked(event: str, subject: str, name: str, why: str) -> HookOutcome:
    text = f"[{name}]: {why}"
    if event == "PreToolUse":
        return HookOutcome(permission="deny", reason=f"PreToolUse:{subject} hook error: {text}")
    return HookOutcome(blocks=(Block(name, text),))


def _from_answer(event: str, subject: str, name: str, answer: dict[str, Any]) -> HookOutcome:
    specific = answer.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    if specific.get("hookEventName", event) != event:  # an answer to another event is invalid
        return HookOutcome()
    reason = _text(answer.get("reason"))
    permission = specific.get("permissionDecision")
    blocks: tuple[Block, ...] = ()
    if permission not in _STRICTNESS:
        permission = None
    match answer.get("decision"):
        case "block" if event == "PreToolUse":
            permission = permission or "deny"
        case "block":
            blocks = (Block(name, reason or _NO_REASON),)
        case "approve" if event == "PreToolUse":
            permission = permission or "allow"
    context = _text(specific.get("additionalContext"))
    title = f"{event}:{subject}" if event in _OF_TOOLS else event
    return HookOutcome(
        blocks=blocks,
        permission=permission,
        reason=_text(specific.get("permissionDecisionReason")) or reason or ("" if permission == "ask" else _NO_REASON),
        updated_input=_object(specific.get("updatedInput")),
        contexts=(f"{title} hook additional context: {context}",) if context else (),
        stops=_text(answer.get("stopReason")) if answer.get("continue") is False else None,
        updated_output=specific.get("updatedToolOutput", UNSET),
        updated_mcp_output=specific.get("updatedMCPToolOutput", UNSET),
        decision=_object(specific.get("decision")),
    )


def _combine(one: HookOutcome, other: HookOutcome) -> HookOutcome:
    decided = other if _strictness(other) > _strictness(one) else one
    return HookOutcome(
        blocks=one.blocks + other.blocks,
        permission=decided.permission,
        reason=decided.reason,
        updated_input=_newer(one.updated_input, other.updated_input, None),
        contexts=one.contexts + other.contexts,
        stops=one.stops if one.stops is not None else other.stops,
        updated_output=_newer(one.updated_output, other.updated_output, UNSET),
        updated_mcp_output=_newer(one.updated_mcp_output, other.updated_mcp_output, UNSET),
        decision=_stricter(one.decision, other.decision),
    )


def _newer(one: Any, other: Any, missing: object) -> Any:
    return one if other is missing else other


def _stricter(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the decision that denies, or else the first."""
    return other if one is None or (other is not None and other.get("behavior") == "deny") else one


def _strictness(outcome: HookOutcome) -> int:
    return -1 if outcome.permission is None else _STRICTNESS.index(outcome.permission)


def _parse(stdout: str) -> dict[str, Any] | None:
    if not stdout.lstrip().startswith("{"):
        return None
    value = from_json(stdout.encode("utf-8", "surrogatepass"))
    return value if isinstance(value, dict) else None


def _object(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
