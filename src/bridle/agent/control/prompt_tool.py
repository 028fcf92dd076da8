"""Permission prompts of `--permission-prompt-tool mcp__server__tool`: a tool of an MCP server decides about calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.agent.permissions.approval import Approved, CallToApprove, Rejected, changed_arguments
from bridle.agent.tools.contract.tool import Tool, ToolResult

_NO_REASON = "The permission prompt tool denied the call and gave no reason."
_EXPECTED = 'must return {"behavior": "allow", "updatedInput": {...}} or {"behavior": "deny", "message": "..."} as JSON'


class PromptTool:
    """Calls the tool for each call that needs approval; its result is `{"behavior": "allow" | "deny", ...}`."""

    def __init__(self, name: str, tools: Callable[[], Mapping[str, Tool]], update: Callable[[object], None]) -> None:
        """`tools` returns the tools of MCP servers, `update` applies the permission updates of an approval."""
        self._name, self._tools, self._update = name, tools, update

    def update(self, updates: object) -> None:
        """Apply the permission updates of a decision."""
        self._update(updates)

    async def approve(self, call: CallToApprove) -> Approved | Rejected:
        """Ask the tool. One that does not exist, fails or returns something else rejects the call."""
        tools = self._tools()
        tool = tools.get(self._name)
        if tool is None:
            known = ", ".join(tools) or "none"
            return Rejected(
                f"Error: MCP tool {self._name} (passed via --permission-prompt-tool) not found. Available MCP tools:"
                f" {known}",
                is_failure=True,
            )
        asked = {"tool_name": call.tool, "input": call.arguments, "tool_use_id": call.call_id}
        result = await tool.run(asked, call_id=call.call_id)
        match _decision(result):
            case {"behavior": "allow", "updatedInput": dict()} as decision:
                self._update(decision.get("updatedPermissions"))
                return Approved(changed_arguments(decision))
            case {"behavior": "deny"} as decision:
                text = str(decision.get("message") or _NO_REASON)
                return Rejected(text, ends_turn=decision.get("interrupt") is True)
        return Rejected(f"{self._name} {_EXPECTED}, got {_text(result)[:200]!r}", is_failure=True)


def _decision(result: ToolResult) -> Any:
    try:
        return msgspec.json.decode(_text(result))
    except msgspec.DecodeError:
        return None


def _text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return next((str(block["text"]) for block in result.content if "text" in block), "")
