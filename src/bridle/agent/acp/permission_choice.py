"""The choices that an editor offers for a call that needs approval, and what the user's choice means. Pure."""

from __future__ import annotations

from typing import Any

from bridle.agent.acp.tool_cards import call_card
from bridle.wire.events.loose_json import JsonObject

ALLOW, ALWAYS, REJECT = "allow", "allow_always", "reject"
_REJECTED = "The user rejected this call in the editor. Do not repeat it; ask how to continue, or do something else."


def permission_request(session_id: str, request: JsonObject, cwd: str) -> JsonObject:
    """Return the parameters of `session/request_permission` for a `can_use_tool` request."""
    arguments = request.get("input")
    card = call_card(
        str(request.get("tool_use_id")),
        str(request.get("tool_name")),
        arguments if isinstance(arguments, dict) else {},
        cwd,
    )
    options = [{"optionId": ALLOW, "name": "Allow", "kind": "allow_once"}]
    if suggestions := _suggestions(request):
        options.append({"optionId": ALWAYS, "name": _always(suggestions), "kind": "allow_always"})
    options.append({"optionId": REJECT, "name": "Reject", "kind": "reject_once"})
    return {"sessionId": session_id, "toolCall": card, "options": options}


def decision(request: JsonObject, answer: Any) -> JsonObject:
    """Return the response to a `can_use_tool` request; a cancelled choice ends the turn."""
    match answer:
        case {"outcome": {"outcome": "selected", "optionId": "allow" | "allow_always" as chosen}}:
            updates = {"updatedPermissions": _suggestions(request)} if chosen == ALWAYS else {}
            return {"behavior": "allow", "updatedInput": request.get("input"), **updates}
        case {"outcome": {"outcome": "cancelled"}}:
            return {"behavior": "deny", "message": _REJECTED, "interrupt": True}
    return {"behavior": "deny", "message": _REJECTED}


def _suggestions(request: JsonObject) -> list[JsonObject]:
    given = request.get("permission_suggestions")
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _always(suggestions: list[JsonObject]) -> str:
    """Describe what the updates allow until the session ends."""
    parts = []
    for update in suggestions:
        match update:
            case {"type": "setMode", "mode": str(mode)}:
                parts.append(f"mode {mode}")
            case {"type": "addRules", "rules": list(rules)}:
                parts += [_rule(rule) for rule in rules if isinstance(rule, dict)]
            case {"type": "addDirectories", "directories": list(folders)}:
                parts += [f"folder {folder}" for folder in folders]
    return f"Always allow in this session: {', '.join(parts)}" if parts else "Always allow in this session"


def _rule(rule: JsonObject) -> str:
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if content else str(rule.get("toolName"))
