"""The inputs and `tool_use_result` of tools that have a card of their own, as structs.

Fields of type Any are shown as text whatever they hold.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from bridle.wire.events.loose_json import JsonObject


class FileArguments(Struct, frozen=True):
    """The input of a tool that changes a file, without the texts."""

    file_path: str = ""
    notebook_path: str = ""
    old_string: str | None = None


class TodoEntry(Struct, frozen=True):
    """An entry of a to-do list, or the input that creates or updates a task."""

    content: Any = None
    subject: Any = None
    status: Any = None
    id: Any = None
    task_id: Any = field(default="", name="taskId")


class QuestionEntry(Struct, frozen=True):
    """A question to the user."""

    question: Any = None
    header: Any = None
    options: list[Any] = []
    multi_select: bool = field(default=False, name="multiSelect")


class OptionEntry(Struct, frozen=True):
    """An option of a question."""

    label: Any = None
    description: Any = None


class Hunk(Struct, frozen=True, rename="camel"):
    """A hunk of a patch."""

    old_start: int = 0
    old_lines: int = 0
    new_start: int = 0
    new_lines: int = 0
    lines: list[Any] = []


class ToolDetails(Struct, frozen=True, rename="camel"):
    """What a tool reported besides the text for the model; each tool has some of these fields."""

    type: str = ""
    file_path: str = ""
    structured_patch: tuple[Hunk, ...] = ()
    original_file: str = ""
    old_source: str = field(default="", name="old_source")
    task: Any = None
    tasks: list[Any] | None = None
    answers: JsonObject = {}
    content: Any = None
    resolved_model: str = ""
    total_tool_use_count: int | None = None
    total_tokens: int | None = None
    interrupted: bool = False
    background_task_id: Any = None
    is_async: bool = False


NO_DETAILS = ToolDetails()
