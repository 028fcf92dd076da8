"""The tools of a session: what is offered, what a call means, and whether it may run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from bridle.agent.model.api.stream_pieces import UNPARSED
from bridle.agent.permissions.decide import decide
from bridle.agent.permissions.rules.policy import Allowed, Asks, Denied, Policy
from bridle.agent.permissions.rules.syntax import canonical
from bridle.agent.tools.arguments import validate_arguments
from bridle.agent.tools.contract.tool import Tool, ToolResult, failed_result
from bridle.agent.tools.shell_tools import normalize_arguments
from bridle.agent.tools.structured_output import StructuredOutput

# Calls that change nothing that another call could see: any number of them may run at once.
_SHARED = frozenset({"Glob", "Grep", "Read", "TaskGet", "TaskList", "TaskOutput", "WebFetch"})


class ToolCall(msgspec.Struct, frozen=True):
    """A call of the model, understood as far as it can be."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    """With defaults; as the model sent them where they are wrong."""
    refusal: ToolResult | None
    """Why it cannot run at all."""

    @property
    def block(self) -> dict[str, Any]:
        """The call as it is shown and sent back."""
        return {"type": "tool_use", "id": self.call_id, "name": self.name, "input": self.arguments}


class FinishedCall(msgspec.Struct, frozen=True):
    """A call that has its answer."""

    call: ToolCall
    answer: ToolResult
    is_denied: bool = False


class Toolbox:
    """Every tool that this program has, and those of them that the model is offered."""

    def __init__(self, tools: Sequence[Tool], offered: Sequence[str], *, note: Callable[[str], None]) -> None:
        """`note` hears what was decided about each call, for the debug log."""
        self._note = note
        self._known = {tool.name: tool for tool in tools}
        self._offered = {name: self._known[name] for name in offered}

    @property
    def names(self) -> list[str]:
        """The names of the offered tools."""
        return list(self._offered)

    def definitions(self) -> list[dict[str, Any]]:
        """What a request tells the model about them."""
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
            for tool in self._offered.values()
        ]

    def prepare(self, block: dict[str, Any]) -> ToolCall:
        """Understand a call: its tool, its arguments with defaults, or why it cannot run."""
        call_id, name, given = str(block.get("id") or ""), str(block.get("name") or ""), block.get("input")
        arguments = given if isinstance(given, dict) else {}
        tool = self._offered.get(canonical(name))
        if tool is None:
            return ToolCall(call_id, name, arguments, self._missing(name))
        if UNPARSED in arguments:
            return ToolCall(call_id, name, arguments, _unparsed(name, arguments[UNPARSED]))
        if isinstance(tool, StructuredOutput):  # it is more patient than the check
            return ToolCall(call_id, name, tool.shown(arguments), None)
        checked = validate_arguments(tool.name, tool.schema, normalize_arguments(name, arguments))
        if isinstance(checked, ToolResult):
            return ToolCall(call_id, name, arguments, checked)
        return ToolCall(call_id, name, checked, None)

    def is_shared(self, call: ToolCall, policy: Policy) -> bool:
        """Whether the call may run beside others; one that changes something waits for those before it."""
        if call.refusal is not None or call.name in _SHARED:
            return True
        if call.name != "Bash":
            return False
        # What needs no permission only reads.
        bare = Policy(cwd=policy.cwd, home=policy.home, folders=policy.folders, shell_folder=policy.shell_folder)
        return isinstance(decide("Bash", call.arguments, bare), Allowed)

    async def run(self, call: ToolCall, policy: Callable[[], Policy]) -> FinishedCall:
        """Run a call if it may run; whatever happens, the model gets an answer."""
        if call.refusal is not None:
            return FinishedCall(call, call.refusal)
        verdict = decide(call.name, call.arguments, policy())
        self._note(f"{call.name} {call.call_id}: {verdict}")
        if isinstance(verdict, Denied):
            return FinishedCall(call, _denied(verdict.text), is_denied=verdict.is_listed)
        if isinstance(verdict, Asks):  # nobody is here to be asked
            return FinishedCall(call, failed_result(verdict.text), is_denied=True)
        tool = self._offered[canonical(call.name)]
        try:
            return FinishedCall(call, await tool.run(call.arguments, call_id=call.call_id))
        except Exception as error:  # noqa: BLE001  # a tool that breaks must not take the conversation with it
            return FinishedCall(call, failed_result(f"{call.name} failed inside: {type(error).__name__}: {error}"))

    def _missing(self, name: str) -> ToolResult:
        said = f"Error: No such tool available: {name}"
        if canonical(name) in self._known:
            said += f". {name} exists but is not enabled in this context. Use one of the available tools instead."
        return ToolResult(f"<tool_use_error>{said}</tool_use_error>", detail=said, is_error=True)


def _denied(text: str) -> ToolResult:
    """Some refusals stand in tags for the model, and programs see them without."""
    bare = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    return ToolResult(text, detail=f"Error: {bare}", is_error=True)


def _unparsed(name: str, about: Any) -> ToolResult:
    raw = about.get("raw", "") if isinstance(about, dict) else ""
    size = about.get("len", len(raw)) if isinstance(about, dict) else 0
    shown = raw[:200]
    said = (
        f"InputValidationError: {name} was called with input that could not be parsed as JSON.\n"
        f"You sent (first {len(shown)} of {size} bytes): {shown}\n"
        "It was cut off, or holds a backslash or a control character that is not escaped. Send it again as valid JSON."
    )
    detail = f"InputValidationError: JSON parse failed ({size} bytes)"
    return ToolResult(f"<tool_use_error>{said}</tool_use_error>", detail=detail, is_error=True)
