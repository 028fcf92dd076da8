"""System events: what the agent program says about itself. One value for each subtype, others kept as System."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from bridle.wire.events.events import Event

IGNORED_LINE = "bridle_kept"  # the subtype of a line that only holds another agent's words for "nothing new"


class System(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """A system event of a subtype that has no value of its own here; `value` is the whole object."""

    subtype: str = ""
    value: dict[str, Any] = msgspec.field(default_factory=dict)


class Init(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed at the start of each turn: the session and what the agent may use in it."""

    subtype: str = "init"
    cwd: str | None = None
    session_id: str | None = None
    tools: tuple[str, ...] | None = None
    mcp_servers: Any = None
    model: str | None = None
    permission_mode: str | None = msgspec.field(default=None, name="permissionMode")
    slash_commands: tuple[str, ...] | None = None
    api_key_source: str | None = msgspec.field(default=None, name="apiKeySource")
    claude_code_version: str | None = None
    output_style: str | None = None
    agents: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    plugins: Any = None
    uuid: str | None = None
    memory_paths: Any = None
    fast_mode_state: str | None = None


class ApiRetry(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed before the program waits and sends a failed request again."""

    always: ClassVar[frozenset[str]] = frozenset({"error_status"})

    subtype: str = "api_retry"
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None
    session_id: str | None = None
    uuid: str | None = None


class Status(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed when the program begins a request or a compaction, or its permission mode changed."""

    always: ClassVar[frozenset[str]] = frozenset({"status"})

    subtype: str = "status"
    status: str | None = None
    permission_mode: str | None = msgspec.field(default=None, name="permissionMode")
    compact_result: str | None = None
    compact_error: str | None = None
    uuid: str | None = None
    session_id: str | None = None


class TaskStarted(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed when a sub-agent or a background command begins."""

    subtype: str = "task_started"
    task_id: str | None = None
    tool_use_id: str | None = None
    description: str | None = None
    subagent_type: str | None = None
    task_type: str | None = None
    prompt: str | None = None
    uuid: str | None = None
    session_id: str | None = None


class TaskProgress(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed while a sub-agent works."""

    subtype: str = "task_progress"
    task_id: str | None = None
    tool_use_id: str | None = None
    description: str | None = None
    subagent_type: str | None = None
    usage: Any = None
    last_tool_name: str | None = None
    uuid: str | None = None
    session_id: str | None = None


class TaskUpdated(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed when a sub-agent or a background command changed its state."""

    subtype: str = "task_updated"
    task_id: str | None = None
    patch: Any = None
    uuid: str | None = None
    session_id: str | None = None

    @property
    def status(self) -> str | None:
        """The new state, where the event names one."""
        status = self.patch.get("status") if isinstance(self.patch, dict) else None
        return status if isinstance(status, str) else None


class TaskNotification(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed when a sub-agent or a background command has ended."""

    subtype: str = "task_notification"
    task_id: str | None = None
    tool_use_id: str | None = None
    status: str | None = None
    output_file: str | None = None
    summary: str | None = None
    usage: Any = None
    uuid: str | None = None
    session_id: str | None = None


class HookStarted(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed before a hook runs."""

    subtype: str = "hook_started"
    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None
    uuid: str | None = None
    session_id: str | None = None


class HookResponse(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed after a hook ran."""

    subtype: str = "hook_response"
    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    outcome: str | None = None
    uuid: str | None = None
    session_id: str | None = None


class CompactBoundary(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed where older parts of the conversation were replaced by a summary."""

    subtype: str = "compact_boundary"
    session_id: str | None = None
    uuid: str | None = None
    compact_metadata: Any = None


class Notice(Event, frozen=True, kw_only=True, tag="system", eq=False):
    """Made by a dialect where an agent warned of something that did not fail its turn."""

    subtype: str = "bridle_notice"
    text: str | None = None
    session_id: str | None = None


SYSTEM_KINDS: dict[str, type[Event]] = {
    "init": Init,
    "api_retry": ApiRetry,
    "status": Status,
    "task_started": TaskStarted,
    "task_progress": TaskProgress,
    "task_updated": TaskUpdated,
    "task_notification": TaskNotification,
    "hook_started": HookStarted,
    "hook_response": HookResponse,
    "compact_boundary": CompactBoundary,
    "bridle_notice": Notice,
}
