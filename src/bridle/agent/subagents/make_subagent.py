"""Makes a sub-agent: chooses its model, its permissions and its tools, and opens its transcript."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bridle.agent.conversation.model_setup import ModelSetup
from bridle.agent.model.api.models import DEFAULT_CHAT_MODEL, Model, resolve_model
from bridle.agent.permissions.approval import Approved, Approver, CallToApprove, Rejected
from bridle.agent.permissions.rules.policy import Policy, in_worktree, with_mode, with_shell_folder
from bridle.agent.permissions.rules.syntax import parse_rule
from bridle.agent.subagents.definitions import AgentDefinition
from bridle.agent.subagents.git_worktree import GitWorktree
from bridle.agent.tools.shell.shell import Shell

# Tools that only the main agent has.
MAIN_ONLY = frozenset(
    {"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "ScheduleWakeup", "StructuredOutput", "TaskOutput", "Workflow"}
)
# Tools of an agent in the background, beside those of MCP servers.
IN_BACKGROUND = frozenset(
    {
        "Agent",
        "Bash",
        "Edit",
        "Glob",
        "Grep",
        "NotebookEdit",
        "Read",
        "SendMessage",
        "Skill",
        "TaskStop",
        "WebFetch",
        "WebSearch",
        "Write",
    }
)
MCP_PREFIX = "mcp__"
# Modes that allow less than asking does: any definition may set them.
_RESTRICTING = ("default", "dontAsk", "plan")
# Modes of a caller that hold for its agents, whatever these say.
_KEPT = ("acceptEdits", "auto", "bypassPermissions")


class AgentSetup(ModelSetup, kw_only=True):
    """The model of a sub-agent, and permissions that follow those of its caller."""

    caller: ModelSetup
    mode: str | None = None
    """The permission mode of the agent; None for that of its caller."""
    worktree: GitWorktree | None = None
    """The agent's own worktree; without one it works where its caller does."""

    @property
    def folder(self) -> Path | None:
        """The worktree of the agent or of its callers; None in the working copy of the session."""
        if self.worktree is not None:
            return self.worktree.path
        return self.caller.folder if isinstance(self.caller, AgentSetup) else None

    def current_policy(self) -> Policy:
        """Return the policy for a call that runs now."""
        policy = self.caller.current_policy()
        if self.mode is not None:
            policy = with_mode(policy, self.mode)
        if self.worktree is not None:
            policy = in_worktree(policy, str(self.worktree.path), str(self.worktree.top))
        return with_shell_folder(policy, self.shell_folder())


class AgentShell(Shell):
    """A shell whose commands all start in the same folder."""

    def _move(self, folder: str) -> bool:  # noqa: ARG002  # the agent's next command starts in the project again
        return True


class AgentApprover:
    """Asks the host about calls of one sub-agent."""

    def __init__(self, approver: Approver, agent_id: str) -> None:
        self._approver, self._agent_id = approver, agent_id

    async def approve(self, call: CallToApprove) -> Approved | Rejected:
        """Return the decision of the host, which learns which agent made the call."""
        return await self._approver.approve(replace(call, agent_id=self._agent_id))

    def update(self, updates: object) -> None:
        """Apply the permission updates of a decision."""
        self._approver.update(updates)


def chosen_model(
    definition: AgentDefinition, requested: str | None, caller: Model, environment: Mapping[str, str]
) -> Model:
    """Return the model of the call, of the definition or of the caller; the caller's keeps its context window."""
    name = requested or definition.model
    if name is None:
        return caller
    model = resolve_model(name, environment)
    # A chat endpoint without a model of that name has the model of the conversation.
    return caller if model.id in (caller.id, DEFAULT_CHAT_MODEL) else model


def chosen_mode(definition: AgentDefinition, caller: str, *, may_bypass: bool, is_trusted: bool) -> str | None:
    """Return the permission mode of a definition; None if its caller's holds.

    A definition that a repository ships can allow more only if the repository is trusted.
    """
    mode = definition.permission_mode
    if mode is None or caller in _KEPT:
        return None
    if mode in _RESTRICTING:
        return mode
    if mode == "bypassPermissions" and not may_bypass:
        return None
    return mode if definition.source not in ("project", "plugin") or is_trusted else None


def chosen_tools(definition: AgentDefinition, offered: list[str], *, in_background: bool, may_start: bool) -> list[str]:
    """Return the names of the agent's tools, of those that the main agent is offered.

    `may_start` says whether the agent may start agents of its own.
    """
    usable = [name for name in offered if name not in MAIN_ONLY and (may_start or name != "Agent")]
    if in_background:
        usable = [name for name in usable if name in IN_BACKGROUND or name.startswith(MCP_PREFIX)]
    if definition.tools is not None:
        usable = [name for wanted in definition.tools for name in usable if _names(wanted, name)]
    return [
        name for name in dict.fromkeys(usable) if not any(_names(denied, name) for denied in definition.denied_tools)
    ]


def _names(pattern: str, tool: str) -> bool:
    """Return whether a name means a tool: the tool itself, or all tools of an MCP server."""
    if pattern == tool:
        return True
    rule = parse_rule(pattern)
    return (
        rule is not None and pattern.startswith(MCP_PREFIX) and tool.startswith(pattern.rstrip("*").rstrip("_") + "__")
    )


class AgentFolder(msgspec.Struct, frozen=True):
    """Where sub-agents work."""

    cwd: Path
    environment: Mapping[str, str]
    session_id: str
    folders: tuple[Path, ...] = ()

    def shell(self) -> AgentShell:
        """Return the shell of one agent."""
        return AgentShell(self.cwd, environment=self.environment, session_id=self.session_id, folders=self.folders)
