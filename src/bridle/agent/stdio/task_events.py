"""The events of tasks: sub-agents, and commands in the background."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType


class System(Struct, tag_field="type", tag="system"):
    """An event of type `system`; `subtype` tells the kinds apart."""


class TaskUsage(Struct):
    """What a sub-agent has used so far."""

    total_tokens: int
    tool_uses: int
    duration_ms: int


class TaskStarted(System, kw_only=True):
    """A sub-agent, or a command in the background, was started."""

    subtype: str = "task_started"
    task_id: str
    tool_use_id: str
    description: str
    subagent_type: str | UnsetType = UNSET
    task_type: str = "local_bash"
    prompt: str | UnsetType = UNSET
    session_id: str = ""
    uuid: str = ""


class TaskProgress(System, kw_only=True):
    """A sub-agent calls a tool."""

    subtype: str = "task_progress"
    task_id: str
    tool_use_id: str
    description: str
    subagent_type: str
    usage: TaskUsage
    last_tool_name: str
    session_id: str = ""
    uuid: str = ""


class TaskPatch(Struct):
    """The changed fields of a task."""

    status: str
    end_time: int


class TaskUpdated(System, kw_only=True):
    """A task has ended."""

    subtype: str = "task_updated"
    task_id: str
    patch: TaskPatch
    session_id: str = ""
    uuid: str = ""


class TaskNotification(System, kw_only=True):
    """The end of a task, as the client shows it; not printed if the model got it as a result or during a turn."""

    subtype: str = "task_notification"
    task_id: str
    tool_use_id: str
    status: str
    output_file: str
    summary: str
    usage: TaskUsage | UnsetType = UNSET
    session_id: str = ""
    uuid: str = ""
