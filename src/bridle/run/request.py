"""What is asked of one agent run. Plain values: nothing here looks at the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bridle.wire.record.outcome import Policy


class Mode(StrEnum):
    """What the agent is for, which decides what it may use."""

    PLANNER = "planner"
    CODER = "coder"
    SUMMARIZER = "summarizer"


class Reasoning(StrEnum):
    """How much thinking the model is allowed."""

    NONE = "none"
    LOW = "low"
    MED = "med"
    HIGH = "high"


class Auth(StrEnum):
    """Whose account pays."""

    AUTO = "auto"
    """The login; an inherited API key only where it was given together with an endpoint on loopback."""
    LOGIN = "login"
    """The login, whatever key is in the environment."""
    KEY = "key"
    """The API key in the environment."""


class Permission(StrEnum):
    """What the agent may do without being asked. Anything beyond the tools of its mode is refused by default."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    BYPASS = "bypass"
    """Everything. Never a default: only for a machine that may be lost."""


# A run longer than this is more often stuck in a loop than at work.
RUN_SECONDS = 2 * 60 * 60.0
# The longest silence of a healthy Claude Code is its waiting between retries (35 s) plus a long answer
# without partial messages (minutes); ten minutes of nothing is a hang.
IDLE_SECONDS = 10 * 60.0
# A tool call may be silent for its own time limit, which agents let go up to ten minutes, and a test suite
# or a build run by a sub-agent for longer.
TOOL_IDLE_SECONDS = 30 * 60.0
# Claude Code stays up to 5 seconds after its result for background commands; twice that is enough.
AFTER_RESULT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait for what."""

    run_seconds: float = RUN_SECONDS
    """The whole run."""
    idle_seconds: float = IDLE_SECONDS
    """Without a byte, while no tool is at work."""
    tool_idle_seconds: float = TOOL_IDLE_SECONDS
    """Without a byte, while a tool or a sub-agent is at work."""
    after_result_seconds: float = AFTER_RESULT_SECONDS
    """Alive after its result, with nothing left in the background."""


@dataclass(frozen=True, slots=True)
class Request:
    """One agent run."""

    prompt: str
    cwd: Path
    agent: str = "claude"
    mode: Mode = Mode.CODER
    task: str = "ask"
    purpose: str = ""
    """What it is for, in the caller's words; its log keeps them, so that whoever comes later knows it again."""
    system_prompt: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    """None: those of the mode."""
    continue_session: bool = False
    resume: str | None = None
    model: str | None = None
    reasoning: Reasoning | None = None
    """None: the agent's own default."""
    json_schema: Mapping[str, Any] | None = None
    extra_args: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    auth: Auth = Auth.AUTO
    permission: Permission = Permission.DEFAULT
    limits: Limits = field(default_factory=Limits)
    policy: Policy = Policy.HARNESS
    hang_heuristic: bool = True
    denials_fail: bool = True
    retries: int = 1
    """Times that a crash or a missing result is tried again."""
    partial_messages: bool = False
    own_folder: bool = False
    """The working folder belongs to this run alone, so no lock on the workspace is needed."""
    home: Path | None = None
    """The workspace that keeps the logs and the budget, where the working folder is only lent; None: that folder."""

    @property
    def workspace(self) -> Path:
        """The folder whose `.ralph` this run writes to."""
        return self.home or self.cwd
