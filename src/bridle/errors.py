"""Every error that Bridle raises, under one root. The class says whose fault it is.

    Error
    ├── UserError            the input of a user or a calling program is wrong
    │   ├── UsageError       a flag, an argument, an id, a setting
    │   │   ├── InsideAgent          an agent or a check called a command that steers a run
    │   │   ├── HookTypeMissing      --hook-type is missing
    │   │   ├── HookTypeUnknown      not a hook that Bridle handles
    │   │   └── HarnessUnsupported   not a host that Bridle supports
    │   ├── PlanError        a plan with errors
    │   ├── SettingsError    a bridle.toml or a flag with errors
    │   ├── ScriptError      a stage script with errors
    │   ├── SessionError     a conversation that cannot be continued (bridle-agent)
    │   ├── RunNotFound      the run does not exist
    │   ├── RunExists        a run with that id exists
    │   ├── BindingError     a host's session and a run cannot be bound
    │   │   ├── SessionIdMissing     --session-id is missing
    │   │   ├── StateFolderMissing   no folder of session files is known
    │   │   ├── RunIdMissing         --run-id is missing
    │   │   ├── SessionExists        the session file exists
    │   │   ├── SessionNotFound      the session has no file
    │   │   ├── RunAssociated        the session is bound to a run
    │   │   ├── RunStillActive       the run of the session has not ended
    │   │   └── RunIsCompleted       the run has completed and cannot be continued
    │   └── EffectError      an effect that cannot take this result
    │       ├── EffectNotFound   the run has no such effect
    │       ├── EffectResolved   it already has a result
    │       └── KeyMismatch      its key differs from the caller's
    ├── AgentError           the agent program cannot be used
    │   ├── AgentNotFound    no such program on this machine
    │   ├── AgentNotReady    it cannot start (not executable, not logged in)
    │   ├── EndpointError    a model's endpoint rejected or interrupted a request; handled in the model layer
    │   ├── ModelFailure     the model returned no usable answer (bridle-agent)
    │   ├── HostFailure      the program that drives bridle-agent reported an error, or is gone
    │   └── ServerFailure    an MCP server of bridle-agent reported an error, or is gone
    ├── MachineError         the operating system refused
    │   ├── DiskError        a file could not be read or made durable
    │   │   └── SessionFileUnusable  the file of a host's session
    │   ├── GitError         git failed, or is not installed
    │   ├── JournalBroken    the files of a run are inconsistent
    │   ├── LockHeld         another process holds the lock
    │   ├── NetworkError     a connection failed
    │   └── ProcessError     a child could not be started or ended
    ├── RunError             a run cannot continue with its process
    │   ├── ProcessNotLoaded     its file cannot be read, compiled or imported
    │   ├── ProcessDiverged      it requests something other than recorded
    │   ├── BadTask              a task, its definition or its arguments cannot be used
    │   ├── NotInProcess         it does something that a replay cannot repeat
    │   └── EffectFailed         the result of an effect is an error; the process gets it where it awaits
    └── InternalError        a bug in Bridle

An expected end (a limit, a refusal, a timeout, an agent's own failure) is an Outcome, not an error.
"""

from __future__ import annotations


class Error(Exception):
    """An error that stops the command: a message, and what to do."""

    code = "ERROR"

    def __init__(self, message: str, *, remedy: str | None = None, payload: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.payload = payload

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message


class UserError(Error):
    """The input of a user or a calling program is wrong."""

    code = "BAD_INPUT"


class UsageError(UserError):
    """A flag, an argument, an id or a setting is wrong."""

    code = "USAGE"


class InsideAgent(UsageError):
    """An agent or a check called a command that steers a run."""

    code = "INSIDE_AGENT"


class HookTypeMissing(UsageError):
    """The type of the hook is missing."""

    code = "MISSING_HOOK_TYPE"


class HookTypeUnknown(UsageError):
    """Bridle does not handle this type of hook."""

    code = "UNKNOWN_HOOK_TYPE"


class HarnessUnsupported(UsageError):
    """Bridle does not support this host."""

    code = "UNSUPPORTED_HARNESS"


class PlanError(UserError):
    """The plan has errors; `payload` lists each with its line."""

    code = "BAD_PLAN"


class SettingsError(UserError):
    """A bridle.toml or a flag has errors; `payload` lists each with its line."""

    code = "BAD_SETTINGS"


class ScriptError(UserError):
    """The stage script has errors."""

    code = "BAD_SCRIPT"


class SessionError(UserError):
    """A conversation cannot be continued; `payload` is the session id of the answer."""

    code = "SESSION"


class RunNotFound(UserError):
    """The run does not exist."""

    code = "RUN_NOT_FOUND"


class RunExists(UserError):
    """A run with that id exists."""

    code = "RUN_EXISTS"


class BindingError(UserError):
    """A host's session and a run cannot be bound; `payload` has more fields for the JSON document."""

    code = "BINDING"


class SessionIdMissing(BindingError):
    """The id of the host's session is missing."""

    code = "MISSING_SESSION_ID"


class StateFolderMissing(BindingError):
    """The folder of session files is missing."""

    code = "MISSING_STATE_DIR"


class RunIdMissing(BindingError):
    """The id of the run to bind is missing."""

    code = "MISSING_RUN_ID"


class SessionExists(BindingError):
    """The file of the host's session exists."""

    code = "SESSION_EXISTS"


class SessionNotFound(BindingError):
    """The host's session has no file."""

    code = "SESSION_NOT_FOUND"


class RunAssociated(BindingError):
    """The host's session is bound to another run."""

    code = "RUN_ALREADY_ASSOCIATED"


class RunStillActive(BindingError):
    """The run that the host's session is bound to has not ended."""

    code = "RUN_STILL_ACTIVE"


class RunIsCompleted(BindingError):
    """The run has completed; nothing is left to do."""

    code = "RUN_COMPLETED"


class EffectError(UserError):
    """An effect cannot take this result."""

    code = "EFFECT"


class EffectNotFound(EffectError):
    """The run has no such effect."""

    code = "EFFECT_NOT_FOUND"


class EffectResolved(EffectError):
    """The effect already has a result."""

    code = "EFFECT_NOT_REQUESTED"


class KeyMismatch(EffectError):
    """The effect's key differs from the caller's."""

    code = "INVOCATION_KEY_MISMATCH"


class AgentError(Error):
    """The agent program cannot be used."""

    code = "AGENT"


class AgentNotFound(AgentError):
    """The agent program is not on this machine."""

    code = "AGENT_NOT_FOUND"


class AgentNotReady(AgentError):
    """The agent program cannot start."""

    code = "AGENT_NOT_READY"


class EndpointError(AgentError):
    """A model's endpoint rejected or interrupted a request; never leaves the model layer."""

    code = "ENDPOINT"


class ModelFailure(AgentError):
    """The model returned no usable answer; the turn ends with this text."""

    code = "MODEL"

    def __init__(
        self,
        text: str,
        *,
        error: str,
        status: int | None = None,
        request_id: str | None = None,
        terminal_reason: str = "completed",
        payload: object = None,
    ) -> None:
        super().__init__(text, payload=payload)
        self.text = text
        self.error = error
        """The kind of error, as in the synthetic assistant event: `rate_limit`, `server_error`, …"""
        self.status = status
        """`api_error_status` of the result."""
        self.request_id = request_id
        self.terminal_reason = terminal_reason
        """`prompt_too_long` asks for compaction; most are `completed`."""


class HostFailure(AgentError):
    """The host of an agent reported an error, or closed its input before it responded."""

    code = "HOST_FAILED"


class ServerFailure(AgentError):
    """An MCP server cannot be reached, reported an error, or ended before it responded."""

    code = "MCP_SERVER_FAILED"

    def __init__(self, message: str, *, needs_login: bool = False, rpc_code: int | None = None) -> None:
        super().__init__(message)
        self.needs_login = needs_login
        """Whether the server refused the request because it does not know the user."""
        self.rpc_code = rpc_code
        """The code of an error that the server itself reported."""


class MachineError(Error):
    """The operating system refused."""

    code = "MACHINE"


class DiskError(MachineError):
    """A file could not be read or made durable."""

    code = "DISK"


class SessionFileUnusable(DiskError):
    """The file of a host's session could not be read or made durable."""

    code = "FS_ERROR"


class JournalBroken(MachineError):
    """The files of a run are inconsistent."""

    code = "JOURNAL_BROKEN"


class GitError(MachineError):
    """git failed, took too long or is not installed."""

    code = "GIT"


class LockHeld(MachineError):
    """Another process holds the lock."""

    code = "LOCK_HELD"


class NetworkError(MachineError):
    """A connection failed, was cut or timed out."""

    code = "NETWORK"

    def __init__(self, message: str, *, kind: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind
        """refused, unreachable, reset, cut, slow, tls, proxy or garbled; agent/model/http/socket.py says when."""


class ProcessError(MachineError):
    """A child process could not be started or ended."""

    code = "PROCESS"


class RunError(Error):
    """A run cannot continue with its process."""

    code = "RUN"


class ProcessNotLoaded(RunError):
    """The file of a process cannot be read, compiled or imported."""

    code = "PROCESS_NOT_LOADED"


class ProcessDiverged(RunError):
    """A process requests something other than recorded."""

    code = "PROCESS_DIVERGED"


class BadTask(RunError):
    """A task, its definition or its arguments cannot be used."""

    code = "BAD_TASK"


class NotInProcess(RunError):
    """A process does something that a replay cannot repeat."""

    code = "NOT_IN_PROCESS"


class EffectFailed(RunError):
    """The result of an effect is an error; the process gets it where it awaits the effect."""

    code = "EFFECT_FAILED"

    def __init__(self, message: str, *, name: str = "Error", data: object = None, payload: object = None) -> None:
        super().__init__(message, payload=payload)
        self.name = name
        """The name of the error, as posted."""
        self.data = data
        """The data posted with it."""


class InternalError(Error):
    """A bug in Bridle."""

    code = "INTERNAL"
