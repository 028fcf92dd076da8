"""What hooks decide about a call beside their permission: approvals, and another output."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from bridle.agent.permissions.approval import Approved, Approver, CallToApprove, Rejected, changed_arguments
from bridle.agent.tools.call_hooks import CallHooks
from bridle.agent.tools.contract.tool import ToolResult, failed_result
from bridle.wire.events.loose_json import to_bytes

_DENIED = "Permission denied by hook"
# What a refusal for the model begins with.
_REFUSAL = "<tool_use_error>InputValidationError: "


async def ask_host_and_hooks(call: CallToApprove, approver: Approver, hooks: CallHooks | None) -> Approved | Rejected:
    """Ask the host and the PermissionRequest hooks at once; the first decision counts, the other is cancelled."""
    if hooks is None or not hooks.has_permission_hooks:
        return await approver.approve(call)
    asking = asyncio.create_task(approver.approve(call))
    deciding = asyncio.create_task(hooks.permission(call.call_id, call.tool, call.arguments, call.verdict.suggestions))
    try:
        await asyncio.wait({asking, deciding}, return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            return asking.result()
        decision = _decision(deciding.result(), approver)
        return decision if decision is not None else await asking
    finally:
        for task in (asking, deciding):
            task.cancel()
        await asyncio.gather(asking, deciding, return_exceptions=True)


def with_output(answer: ToolResult, output: Any) -> ToolResult:
    """Return a result with the output of a hook, in the form of the tool's `tool_use_result`."""
    match output:
        case str():
            content: str | list[dict[str, Any]] = output
        case {"stdout": str(stdout)}:
            content = "\n".join(text for text in (stdout, output.get("stderr")) if text)
        case [{"type": str()}, *_]:
            content = output
        case _:
            content = to_bytes(output).decode()
    return replace(answer, content=content, detail=output)


def invalid_hook_input(tool: str, refusal: ToolResult) -> ToolResult:
    """Return the result of a call for which a hook gave arguments that its tool does not take."""
    return failed_result(
        f"PreToolUse hook for {tool} returned updatedInput that failed schema validation: {_issues(refusal)}"
    )


def invalid_host_input(tool: str, refusal: ToolResult) -> ToolResult:
    """Return the result of a call for which the host gave such arguments: the model is not to blame."""
    text = (
        f"The permission handler returned updatedInput for {tool} that failed schema validation: {_issues(refusal)}\n"
        "The input of the model was valid: correct what canUseTool, the PermissionRequest hook or the permission prompt"
        " tool returns."
    )
    detail = f"InputValidationError: permission handler updatedInput failed schema for {tool}"
    return ToolResult(f"<tool_use_error>{text}</tool_use_error>", detail=detail, is_error=True)


def _issues(refusal: ToolResult) -> str:
    return str(refusal.content).removeprefix(_REFUSAL).removesuffix("</tool_use_error>")


def _decision(decision: dict[str, Any] | None, approver: Approver) -> Approved | Rejected | None:
    if decision is None:
        return None
    match decision:
        case {"behavior": "allow"}:
            approver.update(decision.get("updatedPermissions"))
            return Approved(changed_arguments(decision))
        case {"behavior": "deny"}:
            message = decision.get("message")
            return Rejected(message if isinstance(message, str) and message else _DENIED)
    return None
