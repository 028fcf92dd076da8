"""Claude Code as a host: every hook payload and every command that it starts has the session id."""

from __future__ import annotations

from bridle.hosts.adapters.adapter import Adapter

# The SessionStart hook exports this variable through the file that Claude Code names in the other one.
SESSION_VARIABLE = "AGENT_SESSION_ID"
ENVIRONMENT_FILE_VARIABLE = "CLAUDE_ENV_FILE"

adapter = Adapter(
    "claude-code",
    detection_variables=(SESSION_VARIABLE, ENVIRONMENT_FILE_VARIABLE),
    # Claude Code itself sets the first one for each command; the others are inherited from exports.
    session_variables=("CLAUDE_CODE_SESSION_ID", SESSION_VARIABLE, "BABYSITTER_SESSION_ID"),
    plugin_variables=("CLAUDE_PLUGIN_ROOT",),
    exports_variable=ENVIRONMENT_FILE_VARIABLE,
)
