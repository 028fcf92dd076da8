"""What a tool is, what it is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec


class ToolResult(msgspec.Struct, frozen=True):
    """What one call of a tool gives back."""

    content: str | list[dict[str, Any]]
    """What the model reads: text, or blocks (an image)."""
    detail: Any = None
    """`tool_use_result` of the event: an object on success, text on failure; for programs that read the stream."""
    is_error: bool = False
    names_success: bool = False
    """Whether the result block says `is_error: false`; only Bash does."""
    follow_up: tuple[str | dict[str, Any], ...] = ()
    """What goes to the model right after the result, as messages of the program: texts (the body of a skill) or
    content blocks (a PDF)."""
    ends_turn: bool = False
    """Whether the turn is over with this call (structured output that fits)."""


def failed_result(text: str) -> ToolResult:
    """The call was understood and did not work."""
    return ToolResult(text, detail=f"Error: {text}", is_error=True)


def rejected_call(text: str) -> ToolResult:
    """The call itself was wrong: the model must call in another way."""
    return ToolResult(f"<tool_use_error>{text}</tool_use_error>", detail=f"Error: {text}", is_error=True)


def as_block(item: str | dict[str, Any]) -> dict[str, Any]:
    """What follows a result, as a content block."""
    return {"type": "text", "text": item} if isinstance(item, str) else item


class Tool(Protocol):
    """One tool. Its calls run side by side, and any of them may be cancelled at any await."""

    @property
    def name(self) -> str:
        """The name on the wire."""

    @property
    def description(self) -> str:
        """What the model is told about it, in our words."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its input, as recorded."""

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:
        """Do it. Arguments fit the schema and have its defaults; permission was given."""
