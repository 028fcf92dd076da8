"""Every error that Bridle raises, under one root. The class says whose fault it is.

    Error
    ├── UserError            what a person or a calling program gave us is wrong
    │   ├── UsageError       a flag, an argument, an id, a setting
    │   │   ├── HookTypeMissing      nobody said which hook of the host it is
    │   │   ├── HookTypeUnknown      it is none that we answer
    │   │   └── HarnessUnsupported   its host is none that we know
    │   ├── PlanError        a plan that cannot be worked on
    │   ├── SettingsError    a bridle.toml, or a flag in its place, that cannot be used
    │   ├── ScriptError      a stage script that cannot be played
    │   ├── SessionError     a conversation that cannot be gone on with (bridle-agent)
    │   ├── RunNotFound      there is no such run
    │   ├── RunExists        a run of that id is already there
    │   ├── BindingError     a host's session and a run cannot be brought together so
    │   │   ├── SessionIdMissing     nobody said which session
    │   │   ├── StateFolderMissing   nobody said where session files are
    │   │   ├── RunIdMissing         nobody said which run
    │   │   ├── SessionExists        the session has its file already
    │   │   ├── SessionNotFound      the session has no file
    │   │   ├── RunAssociated        the session has a run already
    │   │   ├── RunStillActive       the run of the session has not ended
    │   │   └── RunIsCompleted       the run has completed and cannot be gone on with
    │   └── EffectError      an effect that cannot take this result
    │       ├── EffectNotFound   the run has no such effect
    │       ├── EffectResolved   it has a result already
    │       └── KeyMismatch      it is another effect than the caller thinks
    ├── AgentError           the agent program cannot be used
    │   ├── AgentNotFound    no such program on this machine
    │   ├── AgentNotReady    it is there but cannot start (not executable, not logged in)
    │   ├── EndpointError    a model's endpoint refused one request or broke it off; the model layer decides what then
    │   └── ModelFailure     the model gave no answer that can be used (bridle-agent's own conversation)
    ├── MachineError         the operating system refused
    │   ├── DiskError        a file could not be read or made durable
    │   │   └── SessionFileUnusable  the file of a host's session
    │   ├── GitError         git refused, or is not there
    │   ├── JournalBroken    what is written in a run's folder contradicts itself
    │   ├── LockHeld         somebody else is at work there
    │   ├── NetworkError     a connection could not be made, or broke
    │   └── ProcessError     a child could not be started or ended
    ├── RunError             a run cannot go on as its process stands
    │   ├── ProcessNotLoaded     its file cannot be read, compiled or imported
    │   ├── ProcessDiverged      it asks for something other than what is recorded
    │   ├── BadTask              a task, its definition or its arguments cannot be used
    │   ├── NotInProcess         it does what no replay could repeat
    │   └── EffectFailed         the result of an effect is an error; the process gets it where it awaits
    └── InternalError        our own mistake

An expected end (a limit, a refusal, a time-out, an agent's own failure) is an Outcome, not one of these.
"""

from __future__ import annotations


class Error(Exception):
    """Something that stops the command: what happened, to what, and what to do."""

    code = "ERROR"

    def __init__(self, message: str, *, remedy: str | None = None, payload: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.payload = payload

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message


class UserError(Error):
    """What a person or a calling program gave us is wrong."""

    code = "BAD_INPUT"


class UsageError(UserError):
    """A flag, an argument, an id or a setting is wrong."""

    code = "USAGE"


class HookTypeMissing(UsageError):
    """Nobody said which hook of the host is to be answered."""

    code = "MISSING_HOOK_TYPE"


class HookTypeUnknown(UsageError):
    """The hook is none that is answered here."""

    code = "UNKNOWN_HOOK_TYPE"


class HarnessUnsupported(UsageError):
    """The host is none that is known here."""

    code = "UNSUPPORTED_HARNESS"


class PlanError(UserError):
    """A plan cannot be worked on; `payload` lists each problem with its line."""

    code = "BAD_PLAN"


class SettingsError(UserError):
    """A bridle.toml, or a flag in its place, cannot be used; `payload` lists each problem with its line."""

    code = "BAD_SETTINGS"


class ScriptError(UserError):
    """A stage script cannot be played."""

    code = "BAD_SCRIPT"


class SessionError(UserError):
    """A conversation cannot be gone on with; `payload` is the session id that the run answers under."""

    code = "SESSION"


class RunNotFound(UserError):
    """There is no such run."""

    code = "RUN_NOT_FOUND"


class RunExists(UserError):
    """A run of that id is already there."""

    code = "RUN_EXISTS"


class BindingError(UserError):
    """A host's session and a run cannot be brought together so; `payload` is what else a program is told."""

    code = "BINDING"


class SessionIdMissing(BindingError):
    """Nobody said which session of the host is meant."""

    code = "MISSING_SESSION_ID"


class StateFolderMissing(BindingError):
    """Nobody said where session files are."""

    code = "MISSING_STATE_DIR"


class RunIdMissing(BindingError):
    """Nobody said which run the session is to be bound to."""

    code = "MISSING_RUN_ID"


class SessionExists(BindingError):
    """The session of the host has its file already."""

    code = "SESSION_EXISTS"


class SessionNotFound(BindingError):
    """The session of the host has no file."""

    code = "SESSION_NOT_FOUND"


class RunAssociated(BindingError):
    """The session of the host is bound to another run."""

    code = "RUN_ALREADY_ASSOCIATED"


class RunStillActive(BindingError):
    """The run that the session of the host is bound to has not ended."""

    code = "RUN_STILL_ACTIVE"


class RunIsCompleted(BindingError):
    """The run has completed; a session has nothing left to do for it."""

    code = "RUN_COMPLETED"


class EffectError(UserError):
    """An effect cannot take this result."""

    code = "EFFECT"


class EffectNotFound(EffectError):
    """The run has no such effect."""

    code = "EFFECT_NOT_FOUND"


class EffectResolved(EffectError):
    """The effect has a result already."""

    code = "EFFECT_NOT_REQUESTED"


class KeyMismatch(EffectError):
    """The effect is another one than the caller thinks."""

    code = "INVOCATION_KEY_MISMATCH"


class AgentError(Error):
    """The agent program cannot be used."""

    code = "AGENT"


class AgentNotFound(AgentError):
    """The agent program is not on this machine."""

    code = "AGENT_NOT_FOUND"


class AgentNotReady(AgentError):
    """The agent program is there but cannot start."""

    code = "AGENT_NOT_READY"


class EndpointError(AgentError):
    """A model's endpoint refused one request or broke it off; never leaves the model layer."""

    code = "ENDPOINT"


class ModelFailure(AgentError):
    """The model gave no answer that can be used; the turn ends with this text."""

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
        """The kind of trouble, in the word of the synthetic assistant event: `rate_limit`, `server_error`, …"""
        self.status = status
        """`api_error_status` of the result."""
        self.request_id = request_id
        self.terminal_reason = terminal_reason
        """`prompt_too_long` asks for compaction; most are `completed`."""


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
    """What is written in a run's folder contradicts itself."""

    code = "JOURNAL_BROKEN"


class GitError(MachineError):
    """The program git refused, took too long or is not there."""

    code = "GIT"


class LockHeld(MachineError):
    """Somebody else is at work in this place."""

    code = "LOCK_HELD"


class NetworkError(MachineError):
    """A connection could not be made, or broke, or stood still."""

    code = "NETWORK"

    def __init__(self, message: str, *, kind: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind
        """refused, unreachable, reset, cut, slow, tls, proxy or garbled; agent/model/http/socket.py says when."""


class ProcessError(MachineError):
    """A child process could not be started or ended."""

    code = "PROCESS"


class RunError(Error):
    """A run cannot go on as its process stands."""

    code = "RUN"


class ProcessNotLoaded(RunError):
    """The file of a process cannot be read, compiled or imported."""

    code = "PROCESS_NOT_LOADED"


class ProcessDiverged(RunError):
    """A process asks for something other than what is recorded."""

    code = "PROCESS_DIVERGED"


class BadTask(RunError):
    """A task, its definition or its arguments cannot be used."""

    code = "BAD_TASK"


class NotInProcess(RunError):
    """A process does what no replay could repeat."""

    code = "NOT_IN_PROCESS"


class EffectFailed(RunError):
    """The result of an effect is an error; the process gets it where it awaits the effect."""

    code = "EFFECT_FAILED"

    def __init__(self, message: str, *, name: str = "Error", data: object = None, payload: object = None) -> None:
        super().__init__(message, payload=payload)
        self.name = name
        """What kind of error it is, in the words of whoever posted it."""
        self.data = data
        """What else was posted with it."""


class InternalError(Error):
    """Our own mistake."""

    code = "INTERNAL"
