"""The AskUserQuestion tool: the host answers when it approves the call."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from bridle.agent.tools.contract.input_schema import JsonSchema, input_schema
from bridle.agent.tools.contract.tool import ToolResult

_TEXT = {"type": "string"}
_OPTION = {
    "type": "object",
    "properties": {"label": _TEXT, "description": _TEXT, "preview": _TEXT},
    "required": ["label", "description"],
    "additionalProperties": False,
}
_QUESTION = {
    "type": "object",
    "properties": {
        "question": _TEXT,
        "header": _TEXT,
        "options": {"minItems": 2, "maxItems": 4, "type": "array", "items": _OPTION},
        "multiSelect": {"default": False, "type": "boolean"},
    },
    "required": ["question", "header", "options", "multiSelect"],
    "additionalProperties": False,
}
_NOTES = {"type": "object", "properties": {"preview": _TEXT, "notes": _TEXT}, "additionalProperties": False}


class AskUserQuestionInput(msgspec.Struct, frozen=True):
    """The input of AskUserQuestion; `answers` are the host's."""

    questions: list[dict[str, Any]]
    answers: dict[str, str] = {}
    annotations: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class AskUserQuestion:
    """Returns the answers that the host added to the questions."""

    name = "AskUserQuestion"
    description = (
        "Ask the user up to four questions, each with two to four options; the user may also answer in words of their "
        "own. Use it when a decision is the user's and you cannot find the answer yourself. header is a label of at "
        "most twelve characters. Put the option that you recommend first. multiSelect allows several options."
    )
    input_type = AskUserQuestionInput
    schema: ClassVar[JsonSchema] = input_schema(
        {
            "questions": {"minItems": 1, "maxItems": 4, "type": "array", "items": _QUESTION},
            "answers": {"type": "object", "propertyNames": _TEXT, "additionalProperties": _TEXT},
            "annotations": {"type": "object", "propertyNames": _TEXT, "additionalProperties": _NOTES},
            "metadata": {"type": "object", "properties": {"source": _TEXT}, "additionalProperties": False},
        },
        ["questions"],
    )

    async def run(self, request: AskUserQuestionInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Return the answers as one sentence."""
        if not request.answers:
            unanswered = {"questions": request.questions, "answers": {}}
            return ToolResult("The user did not answer the questions.", detail=unanswered)
        pairs = ", ".join(f'"{question}"="{answer}"' for question, answer in request.answers.items())
        text = f"Your questions have been answered: {pairs}. You can now continue with these answers in mind."
        detail = {"questions": request.questions, "answers": request.answers, "annotations": request.annotations}
        return ToolResult(text, detail={name: value for name, value in detail.items() if value})
