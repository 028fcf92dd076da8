"""The tools of a session: offers them to the model, validates its calls, and runs those that are permitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from bridle.agent.model.api.stream_pieces import UNPARSED
from bridle.agent.permissions.decide import decide, only_reads
from bridle.agent.permissions.rules.policy import Denied, NeedsApproval, Policy
from bridle.agent.permissions.rules.syntax import canonical
from bridle.agent.tools.arguments import validate_arguments
from bridle.agent.tools.contract.tool import ContentBlock, Tool, ToolResult, failed_result, run_tool
from bridle.agent.tools.shell_tools import normalize_arguments
from bridle.agent.tools.structured_output import StructuredOutput

# Calls that change nothing another call could see: any number of them may run concurrently.
_READ_ONLY = frozenset({"Glob", "Grep", "Read", "TaskGet", "TaskList", "TaskOutput", "WebFetch"})


class ToolCall(msgspec.Struct, frozen=True):
    """A tool call of the model, after validation."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    """With defaults; as the model sent them if they are invalid."""
    refusal: ToolResult | None
    """The result of a call that cannot run."""
    is_concurrent: bool = False
    """Whether it may run concurrently; a call that changes something waits for those before it."""

    @property
    def block(self) -> ContentBlock:
        """The call as it is printed and sent back."""
        return {"type": "tool_use", "id": self.call_id, "name": self.name, "input": self.arguments}


class FinishedCall(msgspec.Struct, frozen=True):
    """A tool call and its result."""

    call: ToolCall
    answer: ToolResult
    is_denied: bool = False


class Toolbox:
    """All tools of this program, and the subset that the model is offered."""

    def __init__(self, tools: Sequence[Tool], offered: Sequence[str], *, note: Callable[[str], None]) -> None:
        """Use `note` to log each permission decision to the debug log."""
        self._note = note
        self._known = {tool.name: tool for tool in tools}
        self._offered = {name: self._known[name] for name in offered}

    @property
    def names(self) -> list[str]:
        """The names of the offered tools."""
        return list(self._offered)

    def definitions(self) -> list[ContentBlock]:
        """Return the `tools` of a request."""
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
            for tool in self._offered.values()
        ]

    def prepare(self, block: ContentBlock, policy: Callable[[], Policy]) -> ToolCall:
        """Validate a `tool_use` block: find its tool and complete its arguments, or say why it cannot run."""
        call_id, name, sent = str(block.get("id") or ""), str(block.get("name") or ""), block.get("input")
        arguments = sent if isinstance(sent, dict) else {}
        tool = self._offered.get(canonical(name))
        if tool is None:
            return ToolCall(call_id, name, arguments, self._no_such_tool(name), is_concurrent=True)
        if UNPARSED in arguments:
            return ToolCall(call_id, name, arguments, _unparsed_input(name, arguments[UNPARSED]), is_concurrent=True)
        if isinstance(tool, StructuredOutput):  # it accepts more than the validation
            return ToolCall(call_id, name, tool.matching_input(arguments), None)
        checked = validate_arguments(tool.name, tool.schema, normalize_arguments(name, arguments))
        if isinstance(checked, ToolResult):
            return ToolCall(call_id, name, arguments, checked, is_concurrent=True)
        is_concurrent = name in _READ_ONLY or (name == "Bash" and only_reads(checked, policy()))
        return ToolCall(call_id, name, checked, None, is_concurrent)

    async def run(self, call: ToolCall, policy: Callable[[], Policy]) -> FinishedCall:
        """Run a call if it is permitted; every call gets a result."""
        if call.refusal is not None:
            return FinishedCall(call, call.refusal)
        verdict = decide(call.name, call.arguments, policy())
        self._note(f"{call.name} {call.call_id}: {verdict}")
        if isinstance(verdict, Denied):
            return FinishedCall(call, _denied(verdict.text), is_denied=verdict.is_listed)
        if isinstance(verdict, NeedsApproval):  # no user is there to decide
            return FinishedCall(call, failed_result(verdict.text), is_denied=True)
        tool = self._offered[canonical(call.name)]
        try:
            answer = await run_tool(tool, call.arguments, call_id=call.call_id, resolved=verdict.path)
            return FinishedCall(call, answer)
        except Exception as error:  # noqa: BLE001  # a bug in a tool must not end the conversation
            return FinishedCall(
                call, failed_result(f"{call.name} failed with an internal error: {type(error).__name__}: {error}")
            )

    def _no_such_tool(self, name: str) -> ToolResult:
        message = f"Error: No such tool available: {name}"
        if canonical(name) in self._known:
            message += f". {name} exists but is not enabled in this context. Use one of the available tools instead."
        return ToolResult(f"<tool_use_error>{message}</tool_use_error>", detail=message, is_error=True)


def _denied(text: str) -> ToolResult:
    """Return a denial; programs get the text without the tags that some denials have for the model."""
    bare = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    return ToolResult(text, detail=f"Error: {bare}", is_error=True)


def _unparsed_input(name: str, about: Any) -> ToolResult:
    raw, size = (about["raw"], about["len"]) if isinstance(about, dict) else ("", 0)
    shown = raw[:200]
    message = (
        f"InputValidationError: {name} was called with input that could not be parsed as JSON.\n"
        f"You sent (first {len(shown)} of {size} bytes): {shown}\n"
        "It is truncated, or contains an unescaped backslash or control character. Send it again as valid JSON."
    )
    detail = f"InputValidationError: JSON parse failed ({size} bytes)"
    return ToolResult(f"<tool_use_error>{message}</tool_use_error>", detail=detail, is_error=True)
