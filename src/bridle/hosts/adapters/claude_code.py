"""Claude Code as a host."""

from __future__ import annotations

from bridle.hosts.adapters.adapter import Adapter

NAME = "claude-code"

# What the session-start hook exports, and where to: the host adds the lines of that file to every later command.
SESSION_VARIABLE = "AGENT_SESSION_ID"
ENVIRONMENT_FILE_VARIABLE = "CLAUDE_ENV_FILE"


class ClaudeCode(Adapter):
    """Claude Code, which tells its session id in every hook's payload and to every command that it starts."""

    name = NAME
    signs = (SESSION_VARIABLE, ENVIRONMENT_FILE_VARIABLE)
    # The host itself sets the first one anew for each command; the others are passed on by whoever exports them.
    session_variables = ("CLAUDE_CODE_SESSION_ID", SESSION_VARIABLE, "BABYSITTER_SESSION_ID")
    plugin_variables = ("CLAUDE_PLUGIN_ROOT",)
    exports_variable = ENVIRONMENT_FILE_VARIABLE


adapter = ClaudeCode()
