"""What hooks decide: the output of each, and the outcome of all hooks of an event together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bridle.wire.events.loose_json import from_json

BLOCKS = 2
"""The exit code of a command that blocks."""
# The events whose plain output is context for the model.
_PLAIN_CONTEXT = ("SessionStart", "UserPromptSubmit")
# The strictest decision wins.
_STRICTNESS = ("allow", "ask", "deny")


class HookOutput(msgspec.Struct, frozen=True):
    """What one hook returned."""

    name: str
    """How messages name it: the command, or the callback."""
    exit_code: int | None = 0
    """None for a hook that did not end in time, or could not start."""
    stdout: str = ""
    stderr: str = ""
    answer: dict[str, Any] | None = None
    """The answer of a callback; a command's is in its stdout."""


class HookOutcome(msgspec.Struct, frozen=True):
    """What all hooks of an event decide together."""

    block: str | None = None
    """Why the event is blocked."""
    permission: str | None = None
    """`allow`, `deny` or `ask`."""
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    contexts: tuple[str, ...] = ()
    """Texts for the model."""
    stops: str | None = None
    """The reason of a hook that ends the turn."""


def outcome_of(event: str, subject: str, outputs: Iterable[HookOutput]) -> HookOutcome:
    """Combine the outputs of an event's hooks: what blocks or denies wins, contexts add up."""
    outcome = HookOutcome()
    for output in outputs:
        outcome = _combine(outcome, _single(event, subject, output))
    return outcome


def _single(event: str, subject: str, output: HookOutput) -> HookOutcome:
    if output.exit_code == BLOCKS:
        text = f"[{output.name}]: {output.stderr.strip() or 'No stderr output'}"
        if event == "PreToolUse":
            return HookOutcome(permission="deny", reason=f"PreToolUse:{subject} hook error: {text}")
        return HookOutcome(block=text)
    if output.exit_code != 0:
        return HookOutcome()
    answer = output.answer if output.answer is not None else _parsed(output.stdout)
    if answer is not None:
        return _from_answer(event, answer)
    if event in _PLAIN_CONTEXT and (text := output.stdout.strip()):
        return HookOutcome(contexts=(f"{event}{f':{subject}' if subject else ''} hook success: {text}",))
    return HookOutcome()


def _from_answer(event: str, answer: dict[str, Any]) -> HookOutcome:
    specific = answer.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    reason = _text(answer.get("reason"))
    permission, block = specific.get("permissionDecision"), None
    if permission not in _STRICTNESS:
        permission = None
    match answer.get("decision"):
        case "block" if event == "PreToolUse":
            permission = permission or "deny"
        case "block":
            block = reason or "Blocked by hook"
        case "approve" if event == "PreToolUse":
            permission = permission or "allow"
    context = _text(specific.get("additionalContext"))
    updated = specific.get("updatedInput")
    return HookOutcome(
        block=block,
        permission=permission,
        reason=_text(specific.get("permissionDecisionReason")) or reason or "Blocked by hook",
        updated_input=updated if isinstance(updated, dict) else None,
        contexts=(f"{event} hook additional context: {context}",) if context else (),
        stops=_text(answer.get("stopReason")) if answer.get("continue") is False else None,
    )


def _combine(one: HookOutcome, other: HookOutcome) -> HookOutcome:
    decided = other if _strictness(other) > _strictness(one) else one
    blocks = [text for text in (one.block, other.block) if text is not None]
    return HookOutcome(
        block="\n".join(blocks) if blocks else None,
        permission=decided.permission,
        reason=decided.reason,
        updated_input=other.updated_input if other.updated_input is not None else one.updated_input,
        contexts=one.contexts + other.contexts,
        stops=one.stops if one.stops is not None else other.stops,
    )


def _strictness(outcome: HookOutcome) -> int:
    return -1 if outcome.permission is None else _STRICTNESS.index(outcome.permission)


def _parsed(stdout: str) -> dict[str, Any] | None:
    if not stdout.lstrip().startswith("{"):
        return None
    value = from_json(stdout.encode("utf-8", "surrogatepass"))
    return value if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
