"""System events, which the agent program prints about itself: one struct per subtype, others kept as System."""

# No `from __future__ import annotations`: msgspec is slow to evaluate annotations that are text.
from typing import Any, ClassVar

import msgspec

from bridle.wire.events.events import Event
from bridle.wire.events.loose_json import JsonObject

IGNORED_LINE = "bridle_kept"  # subtype for a line of another agent that has no fact for the record


class System(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """A system event of a subtype without its own struct; `value` is the whole object."""

    subtype: str = ""
    value: JsonObject = msgspec.field(default_factory=dict)


class Init(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed at the start of each turn: the session, its tools and settings."""

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
    """Printed before the program waits and retries a failed request."""

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
    """Printed when a request or compaction starts, or the permission mode changes."""

    always: ClassVar[frozenset[str]] = frozenset({"status"})

    subtype: str = "status"
    status: str | None = None
    permission_mode: str | None = msgspec.field(default=None, name="permissionMode")
    compact_result: str | None = None
    compact_error: str | None = None
    uuid: str | None = None
    session_id: str | None = None


class TaskStarted(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed when a sub-agent or a background command starts."""

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
    """Printed while a sub-agent is running."""

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
    """Printed when a sub-agent or a background command changes its state."""

    subtype: str = "task_updated"
    task_id: str | None = None
    patch: Any = None
    uuid: str | None = None
    session_id: str | None = None

    @property
    def status(self) -> str | None:
        """The new state, if the event has one."""
        match self.patch:
            case {"status": str(status)}:
                return status
        return None


class TaskNotification(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Printed when a sub-agent or a background command ends."""

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
    """Printed where the older part of the conversation was replaced by a summary."""

    subtype: str = "compact_boundary"
    session_id: str | None = None
    uuid: str | None = None
    compact_metadata: Any = None


class Notice(Event, frozen=True, kw_only=True, tag="system", eq=False):
    """Built by a dialect from an agent's warning that did not fail its turn."""

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
