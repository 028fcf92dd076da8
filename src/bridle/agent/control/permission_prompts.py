"""Permission prompts of `--permission-prompt-tool stdio`: the host decides about calls that need approval."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from bridle.agent.control.host_requests import CLOSED, HostRequests
from bridle.agent.permissions.approval import Approved, CallToApprove, Rejected
from bridle.agent.permissions.rules.file_access import READERS, WRITERS
from bridle.errors import HostFailure

_NO_REASON = "The user doesn't want to take this action right now."


class PermissionPrompts:
    """Asks the host about calls, any number at once."""

    def __init__(self, host: HostRequests, update: Callable[[object], None]) -> None:
        """`update` applies the permission updates of an approval."""
        self._host, self._update = host, update

    def update(self, updates: object) -> None:
        """Apply the permission updates of a decision."""
        self._update(updates)

    async def approve(self, call: CallToApprove) -> Approved | Rejected:
        """Ask the host. A host that fails, closes its input or answers something else rejects the call."""
        try:
            answer = await self._host.send(_request(call))
        except HostFailure as failure:
            subject = "Tool permission " if failure.message == CLOSED else ""
            return Rejected(f"Tool permission request failed: Error: {subject}{failure.message}")
        match answer:
            case {"behavior": "allow"}:
                self._update(answer.get("updatedPermissions"))
                changed = answer.get("updatedInput")
                return Approved(changed if isinstance(changed, dict) else None)
            case {"behavior": "deny"}:
                message = answer.get("message")
                text = message if isinstance(message, str) and message else _NO_REASON
                return Rejected(text, ends_turn=answer.get("interrupt") is True)
        return Rejected("Tool permission request failed: Error: behavior must be allow or deny")


def _request(call: CallToApprove) -> dict[str, Any]:
    verdict = call.verdict
    request: dict[str, Any] = {
        "subtype": "can_use_tool",
        "tool_name": call.tool,
        "display_name": call.tool,
        "input": call.arguments,
        "description": _description(call),
        "permission_suggestions": list(verdict.suggestions) or None,
        "blocked_path": verdict.blocked_path,
        "decision_reason": verdict.text,
        "tool_use_id": call.call_id,
        "agent_id": call.agent_id,
    }
    return {name: value for name, value in request.items() if value is not None}


def _description(call: CallToApprove) -> str | None:
    """Return the subject that a host shows: the name of a file, or the description of a command, else the command."""
    path = call.arguments.get({**READERS, **WRITERS}.get(call.tool, "description"))
    if path is None and call.tool == "Bash":
        path = call.arguments.get("command")
    return os.path.basename(path) if isinstance(path, str) and call.tool in (*READERS, *WRITERS) else path
