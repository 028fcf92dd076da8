"""Permission prompts of `--permission-prompt-tool stdio`: the host decides about calls that need approval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridle.agent.control.host_requests import CLOSED, HostRequests
from bridle.agent.permissions.approval import Approved, CallToApprove, Rejected, changed_arguments
from bridle.agent.permissions.rules.file_access import READERS, WRITERS
from bridle.errors import HostFailure

# The kinds of reasons that the host gets by name.
_NAMED_KINDS = frozenset({"hook", "rule", "safetyCheck", "subcommandResults", "workingDir"})
_SUBJECTS = {"Bash": "command", "WebFetch": "url"}
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
                return Approved(changed_arguments(answer))
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
        "decision_reason_type": verdict.kind if verdict.kind in _NAMED_KINDS else None,
        "tool_use_id": call.call_id,
        "agent_id": call.agent_id,
    }
    return {name: value for name, value in request.items() if value is not None}


def _description(call: CallToApprove) -> str | None:
    """Return the subject that a host shows: the path of a file, an address, or the description of a command."""
    if (name := {**READERS, **WRITERS}.get(call.tool)) is not None:
        path = call.arguments.get(name)
        return path.removeprefix(f"{call.folder.rstrip('/')}/") if isinstance(path, str) and call.folder else path
    subject = call.arguments.get(_SUBJECTS.get(call.tool, "description"))
    return call.arguments.get("description", subject)
