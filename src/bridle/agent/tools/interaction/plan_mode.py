"""The EnterPlanMode and ExitPlanMode tools: they change the permission mode once the host has approved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from bridle.agent.tools.contract.input_schema import JsonSchema, input_schema
from bridle.agent.tools.contract.tool import ToolResult

PLAN = "plan"
_PROMPT = {
    "type": "object",
    "properties": {"tool": {"type": "string", "enum": ["Bash"]}, "prompt": {"type": "string"}},
    "required": ["tool", "prompt"],
    "additionalProperties": False,
}


class ModeSwitch(msgspec.Struct):
    """The permission mode that the plan tools change."""

    current: Callable[[], str]
    change: Callable[[str], None]
    before: str = "default"
    """The mode to return to after planning."""


class EnterPlanModeInput(msgspec.Struct, frozen=True):
    """EnterPlanMode has no input."""


class EnterPlanMode:
    """Switches to plan mode."""

    name = "EnterPlanMode"
    description = (
        "Switch to plan mode, in which you explore and write a plan but change nothing. Use it before work of several "
        "files or with more than one sensible design. The user must agree. Leave it with ExitPlanMode."
    )
    input_type = EnterPlanModeInput
    schema: ClassVar[JsonSchema] = input_schema({}, [])

    def __init__(self, mode: ModeSwitch) -> None:
        self._mode = mode

    async def run(self, request: EnterPlanModeInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Switch to plan mode; remember the mode before it."""
        if self._mode.current() != PLAN:
            self._mode.before = self._mode.current()
            self._mode.change(PLAN)
        text = "Plan mode is on: explore and design, and change no file. Present the plan with ExitPlanMode."
        return ToolResult(text, detail={"message": text})


class ExitPlanModeInput(msgspec.Struct, frozen=True):
    """The input of ExitPlanMode; a model may send its plan too."""

    plan: Any = None
    allowed_prompts: Any = msgspec.field(default=None, name="allowedPrompts")


class ExitPlanMode:
    """Leaves plan mode with the plan that the user approved."""

    name = "ExitPlanMode"
    description = (
        "Present your plan to the user and ask to leave plan mode. Pass the whole plan as plan, in Markdown. Call it "
        "only when the plan is complete and its open questions are answered."
    )
    input_type = ExitPlanModeInput
    schema: ClassVar[JsonSchema] = {
        **input_schema({"allowedPrompts": {"type": "array", "items": _PROMPT}}, []),
        "additionalProperties": {},
    }

    def __init__(self, mode: ModeSwitch) -> None:
        self._mode = mode

    async def run(self, request: ExitPlanModeInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Return to the mode before plan mode."""
        if self._mode.current() == PLAN:
            self._mode.change(self._mode.before)
        plan = request.plan if isinstance(request.plan, str) else ""
        text = "The user has approved your plan. You can start now." + (f"\n\nApproved plan:\n{plan}" if plan else "")
        return ToolResult(text, detail={"plan": plan, "isAgent": False})
