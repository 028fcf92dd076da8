"""Every error that Bridle raises, under one root. The class says whose fault it is.

    Error
    ├── UserError            what a person or a calling program gave us is wrong
    │   ├── UsageError       a flag, an argument, an id, a setting
    │   └── ScriptError      a stage script that cannot be played
    ├── AgentError           the agent program cannot be used
    │   ├── AgentNotFound    no such program on this machine
    │   └── AgentNotReady    it is there but cannot start (not executable, not logged in)
    ├── MachineError         the operating system refused
    │   ├── DiskError        a file could not be read or made durable
    │   ├── LockHeld         somebody else is at work there
    │   └── ProcessError     a child could not be started or ended
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


class ScriptError(UserError):
    """A stage script cannot be played."""

    code = "BAD_SCRIPT"


class AgentError(Error):
    """The agent program cannot be used."""

    code = "AGENT"


class AgentNotFound(AgentError):
    """The agent program is not on this machine."""

    code = "AGENT_NOT_FOUND"


class AgentNotReady(AgentError):
    """The agent program is there but cannot start."""

    code = "AGENT_NOT_READY"


class MachineError(Error):
    """The operating system refused."""

    code = "MACHINE"


class DiskError(MachineError):
    """A file could not be read or made durable."""

    code = "DISK"


class LockHeld(MachineError):
    """Somebody else is at work in this place."""

    code = "LOCK_HELD"


class ProcessError(MachineError):
    """A child process could not be started or ended."""

    code = "PROCESS"


class InternalError(Error):
    """Our own mistake."""

    code = "INTERNAL"
