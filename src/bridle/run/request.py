"""The request for one agent run. Values only: nothing here reads the machine."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from bridle.run.isolation.sandbox_rules import ChosenSandbox
from bridle.wire.record.policy import Policy


class Mode(StrEnum):
    """The role of the agent, which decides the tools it gets."""

    PLANNER = "planner"
    CODER = "coder"
    SUMMARIZER = "summarizer"


class Reasoning(StrEnum):
    """The level of thinking."""

    NONE = "none"
    LOW = "low"
    MED = "med"
    HIGH = "high"


class Auth(StrEnum):
    """The account that pays."""

    AUTO = "auto"
    """The login. An API key is used only if the request sets it, or the endpoint is on loopback."""
    LOGIN = "login"
    """The login, even if a key is in the environment."""
    KEY = "key"
    """The API key in the environment."""


class Permission(StrEnum):
    """The permission mode. Tools beyond those of the agent's mode are denied by default."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    BYPASS = "bypass"
    """No permission checks. Never a default: only for a sandbox."""


# A longer run is more often stuck in a loop than making progress.
RUN_SECONDS = 2 * 60 * 60.0
# The longest silence of a healthy Claude Code is the wait between retries (35 s) plus a long answer without partial
# messages (minutes); ten minutes without output is a hang.
IDLE_SECONDS = 10 * 60.0
# A tool call may be silent for its own time limit, in agents up to ten minutes, and a test suite or a build that a
# sub-agent runs for longer.
TOOL_IDLE_SECONDS = 30 * 60.0
# Claude Code runs up to 5 seconds after its result for background commands; this is twice that.
AFTER_RESULT_SECONDS = 10.0


class Limits(Struct, frozen=True):
    """Time limits of a run."""

    run_seconds: float = RUN_SECONDS
    """The whole run."""
    idle_seconds: float = IDLE_SECONDS
    """Without output, while no tool runs."""
    tool_idle_seconds: float = TOOL_IDLE_SECONDS
    """Without output, while a tool or a sub-agent runs."""
    after_result_seconds: float = AFTER_RESULT_SECONDS
    """Between the result and the exit, with no background task left."""


class Request(Struct, frozen=True):
    """One agent run."""

    prompt: str
    cwd: Path
    agent: str = "claude"
    mode: Mode = Mode.CODER
    task: str = "ask"
    purpose: str = ""
    """The caller's own key for this run; it is logged, so that the run can be found again."""
    driver: str | None = None
    """The driver that starts it."""
    driver_seconds: float = 0.0
    """How long that driver has run; logged too, so that its time is known if it is killed."""
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
    """Retries after a crash or a missing result."""
    partial_messages: bool = False
    own_folder: bool = False
    """No other run uses the working folder, so the workspace is not locked."""
    home: Path | None = None
    """The workspace that holds logs and budget, where `cwd` is a temporary folder; None: `cwd`."""
    sandbox: ChosenSandbox = field(default_factory=ChosenSandbox)
    read_only: tuple[Path, ...] = ()
    """Files and folders that the agent must not change, where a sandbox is in force."""

    @property
    def workspace(self) -> Path:
        """The folder whose `.ralph` this run writes to."""
        return self.home or self.cwd
