"""The known hosts, the agent programs that start Bridle's hooks, as data.

An adapter tells how to detect its host and which environment variables it sets. The hooks and the binding are the same
for every host. Hooks import this module, so it must import nothing heavy.
"""

from __future__ import annotations

import os

from bridle.ground.light.abc_names import Mapping
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions import session_file

FLAG = "--session-id"

# The SessionStart hook exports this variable through the file that Claude Code names in the other one.
SESSION_VARIABLE = "AGENT_SESSION_ID"
ENVIRONMENT_FILE_VARIABLE = "CLAUDE_ENV_FILE"


class Identity:
    """A session id and where it came from."""

    __slots__ = ("session_id", "source")

    def __init__(self, session_id: str, source: str) -> None:
        self.session_id = session_id
        self.source = source
        """`FLAG`, or the name of the environment variable."""

    @property
    def is_inherited(self) -> bool:
        """Return whether the id came from the environment, where it can outlive its session."""
        return self.source != FLAG


class Adapter:
    """One host."""

    __slots__ = (
        "detection_variables",
        "exports_variable",
        "holds_sessions",
        "name",
        "plugin_variables",
        "reads_transcript",
        "session_variables",
    )

    def __init__(
        self,
        name: str,
        *,
        detection_variables: tuple[str, ...] = (),
        session_variables: tuple[str, ...] = (),
        plugin_variables: tuple[str, ...] = (),
        reads_transcript: bool = True,
        exports_variable: str | None = None,
        holds_sessions: bool = True,
    ) -> None:
        self.name = name
        self.detection_variables = detection_variables
        """Environment variables each of which shows that this process runs inside the host."""
        self.session_variables = session_variables
        """Environment variables that may hold the session id, the most reliable first."""
        self.plugin_variables = plugin_variables
        """Environment variables that may hold the plugin's folder."""
        self.reads_transcript = reads_transcript
        """Whether the host writes transcripts in the format that `transcript_tail` reads."""
        self.exports_variable = exports_variable
        """Variable with the path of the file whose exports the host applies to later commands, if any."""
        self.holds_sessions = holds_sessions
        """Whether sessions of this host can be bound to runs and blocked by the Stop hook."""

    def is_active(self, environ: Mapping[str, str]) -> bool:
        """Return whether this process seems to run inside the host."""
        return any(environ.get(name) for name in self.detection_variables)

    def resolve_session_id(self, flag: str | None, environ: Mapping[str, str]) -> Identity | None:
        """Return the session id of the command line, else the inherited one."""
        if not self.holds_sessions:
            return None
        if flag and flag.strip():
            return Identity(flag, FLAG)
        variable = next((name for name in self.session_variables if environ.get(name)), None)
        return Identity(environ[variable], variable) if variable else None

    def resolve_plugin_root(self, flag: str | None, environ: Mapping[str, str]) -> str | None:
        """Return the absolute path of the plugin's folder, if known."""
        root = flag or next((environ[name] for name in self.plugin_variables if environ.get(name)), None)
        return os.path.abspath(root) if root else None

    def resolve_state_dirs(
        self, flag: str | None, plugin_root: str | None, cwd: str | None, environ: Mapping[str, str]
    ) -> tuple[Path, ...]:
        """Return the folders that may hold a session's file; new files go into the first."""
        return session_file.state_dirs(flag, self.resolve_plugin_root(plugin_root, environ), cwd, environ)


# Every hook payload of Claude Code, and every command that it starts, has the session id.
CLAUDE_CODE = Adapter(
    "claude-code",
    detection_variables=(SESSION_VARIABLE, ENVIRONMENT_FILE_VARIABLE),
    # Claude Code itself sets the first one for each command; the others are inherited from exports.
    session_variables=("CLAUDE_CODE_SESSION_ID", SESSION_VARIABLE, "BABYSITTER_SESSION_ID"),
    plugin_variables=("CLAUDE_PLUGIN_ROOT",),
    exports_variable=ENVIRONMENT_FILE_VARIABLE,
)

# Codex has no file for exports and sets its own variable for each command. Its transcript has another format, so the
# last message is read from the payload, which always contains it.
CODEX = Adapter(
    "codex",
    detection_variables=("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_PLUGIN_ROOT"),
    session_variables=("CODEX_THREAD_ID", "CODEX_SESSION_ID", SESSION_VARIABLE, "BABYSITTER_SESSION_ID"),
    plugin_variables=("CODEX_PLUGIN_ROOT",),
    reads_transcript=False,
)

NO_HOST = Adapter("none", holds_sessions=False)

# In order of detection: only Codex sets the variables of Codex, but any host may export those of Claude Code.
_HOSTS = (CODEX, CLAUDE_CODE)
NAMES = (CODEX.name, CLAUDE_CODE.name)


def by_name(name: str) -> Adapter | None:
    """Return the adapter of that name; None for an unknown host."""
    return next((adapter for adapter in (*_HOSTS, NO_HOST) if adapter.name == name), None)


def detect(environ: Mapping[str, str]) -> Adapter:
    """Return the adapter of the host that this process runs inside, else `NO_HOST`."""
    return next((adapter for adapter in _HOSTS if adapter.is_active(environ)), NO_HOST)
