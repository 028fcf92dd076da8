"""The payloads of control responses that have a decision: on a tool, and of a hook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bridle.wire.events.loose_json import JsonObject

NO_REASON = "permission was refused without a reason"


@dataclass(frozen=True, slots=True)
class Allow:
    """The tool may run, with a changed input if there is one."""

    updated_input: JsonObject | None = None
    updated_permissions: tuple[JsonObject, ...] = ()

    def payload(self, requested_input: JsonObject) -> JsonObject:
        """Return the payload, which always has the input."""
        final_input = requested_input if self.updated_input is None else self.updated_input
        sent: JsonObject = {"behavior": "allow", "updatedInput": final_input}
        if self.updated_permissions:
            sent["updatedPermissions"] = list(self.updated_permissions)
        return sent


@dataclass(frozen=True, slots=True)
class Deny:
    """The tool may not run; with `interrupt` the turn ends as well."""

    message: str = NO_REASON
    interrupt: bool = False

    def payload(self) -> JsonObject:
        """Return the payload."""
        sent: JsonObject = {"behavior": "deny", "message": self.message}
        return {**sent, "interrupt": True} if self.interrupt else sent


Decision: TypeAlias = Allow | Deny


def read_decision(payload: JsonObject) -> Decision:
    """Parse a decision; only an explicit `allow` allows."""
    if payload.get("behavior") == "allow":
        updated_input, permissions = payload.get("updatedInput"), payload.get("updatedPermissions")
        updates = [item for item in permissions if isinstance(item, dict)] if isinstance(permissions, list) else []
        return Allow(updated_input if isinstance(updated_input, dict) else None, tuple(updates))
    message = payload.get("message")
    return Deny(
        message=message if isinstance(message, str) and message else NO_REASON,
        interrupt=payload.get("interrupt") is True,
    )


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """The decision of a hook; by default to continue."""

    continues: bool = True
    stop_reason: str | None = None
    suppress_output: bool = False
    system_message: str | None = None
    blocks: bool = False
    reason: str | None = None
    specific: JsonObject | None = None
    """Fields of this event only: permissionDecision, updatedInput, additionalContext."""

    def payload(self) -> JsonObject:
        """Return the payload: only the fields that differ from the default."""
        sent: JsonObject = {
            "continue": None if self.continues else False,
            "stopReason": self.stop_reason,
            "suppressOutput": self.suppress_output or None,
            "systemMessage": self.system_message,
            "decision": "block" if self.blocks else None,
            "reason": self.reason,
            "hookSpecificOutput": self.specific,
        }
        return {name: value for name, value in sent.items() if value is not None}


def read_hook_answer(payload: JsonObject) -> HookAnswer:
    """Parse a hook's decision; only an explicit `false` stops, only an explicit `block` blocks."""
    specific = payload.get("hookSpecificOutput")
    return HookAnswer(
        continues=payload.get("continue") is not False,
        stop_reason=_text(payload, "stopReason"),
        suppress_output=payload.get("suppressOutput") is True,
        system_message=_text(payload, "systemMessage"),
        blocks=payload.get("decision") == "block",
        reason=_text(payload, "reason"),
        specific=specific if isinstance(specific, dict) else None,
    )


def permission_decision(event: str, decision: str, reason: str | None = None) -> HookAnswer:
    """Build a hook's decision before a tool runs: `allow`, `deny` or `ask`."""
    specific: JsonObject = {"hookEventName": event, "permissionDecision": decision}
    return HookAnswer(specific=specific if reason is None else {**specific, "permissionDecisionReason": reason})


def _text(payload: JsonObject, name: str) -> str | None:
    item = payload.get(name)
    return item if isinstance(item, str) else None
