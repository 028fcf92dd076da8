"""Answers to control requests that carry a decision: on a tool, and of a hook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

NO_REASON = "permission was refused without a reason"


@dataclass(frozen=True, slots=True)
class Allow:
    """The tool may run, with this input where it is not the one that was asked about."""

    updated_input: dict[str, Any] | None = None
    updated_permissions: tuple[dict[str, Any], ...] = ()

    def payload(self, asked_input: dict[str, Any]) -> dict[str, Any]:
        """The answer as it is sent, which always names the input."""
        chosen = asked_input if self.updated_input is None else self.updated_input
        sent: dict[str, Any] = {"behavior": "allow", "updatedInput": chosen}
        if self.updated_permissions:
            sent["updatedPermissions"] = list(self.updated_permissions)
        return sent


@dataclass(frozen=True, slots=True)
class Deny:
    """The tool may not run; with `interrupt` the turn ends as well."""

    message: str = NO_REASON
    interrupt: bool = False

    def payload(self) -> dict[str, Any]:
        """The answer as it is sent."""
        sent: dict[str, Any] = {"behavior": "deny", "message": self.message}
        return {**sent, "interrupt": True} if self.interrupt else sent


Decision: TypeAlias = Allow | Deny


def read_decision(payload: dict[str, Any]) -> Decision:
    """The decision in an answer. Only a clear `allow` allows."""
    if payload.get("behavior") == "allow":
        chosen, permissions = payload.get("updatedInput"), payload.get("updatedPermissions")
        kept = [item for item in permissions if isinstance(item, dict)] if isinstance(permissions, list) else []
        return Allow(chosen if isinstance(chosen, dict) else None, tuple(kept))
    message = payload.get("message")
    return Deny(
        message=message if isinstance(message, str) and message else NO_REASON,
        interrupt=payload.get("interrupt") is True,
    )


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What a hook decided; nothing set means: go on."""

    go_on: bool = True
    stop_reason: str | None = None
    suppress_output: bool = False
    system_message: str | None = None
    blocks: bool = False
    reason: str | None = None
    specific: dict[str, Any] | None = None
    """What only hooks of this event may say: permissionDecision, updatedInput, additionalContext."""

    def payload(self) -> dict[str, Any]:
        """The answer as it is sent: only what differs from "go on"."""
        sent: dict[str, Any] = {
            "continue": None if self.go_on else False,
            "stopReason": self.stop_reason,
            "suppressOutput": self.suppress_output or None,
            "systemMessage": self.system_message,
            "decision": "block" if self.blocks else None,
            "reason": self.reason,
            "hookSpecificOutput": self.specific,
        }
        return {name: value for name, value in sent.items() if value is not None}


def read_hook_answer(payload: dict[str, Any]) -> HookAnswer:
    """The decision of a hook. Only a clear `false` stops, only a clear `block` blocks."""
    specific = payload.get("hookSpecificOutput")
    return HookAnswer(
        go_on=payload.get("continue") is not False,
        stop_reason=_text(payload, "stopReason"),
        suppress_output=payload.get("suppressOutput") is True,
        system_message=_text(payload, "systemMessage"),
        blocks=payload.get("decision") == "block",
        reason=_text(payload, "reason"),
        specific=specific if isinstance(specific, dict) else None,
    )


def permission_decision(event: str, decision: str, reason: str | None = None) -> HookAnswer:
    """A hook's answer before a tool runs: `allow`, `deny` or `ask`."""
    said: dict[str, Any] = {"hookEventName": event, "permissionDecision": decision}
    return HookAnswer(specific=said if reason is None else {**said, "permissionDecisionReason": reason})


def _text(payload: dict[str, Any], name: str) -> str | None:
    item = payload.get(name)
    return item if isinstance(item, str) else None
