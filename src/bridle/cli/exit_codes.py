"""The exit codes of every command, and which error leads to which. Imports nothing at the top: commands start fast."""

from __future__ import annotations

SUCCESS = 0
FAILED = 1
USAGE = 2
LIMIT_REACHED = 3
WAITING = 4
AGENT_UNUSABLE = 5
INTERRUPTED = 130
# What a shell reports for a program that SIGPIPE ended: `bridle show … | head` looks like any other program.
READER_GONE = 141

MEANINGS = {
    SUCCESS: "success",
    FAILED: "failed",
    USAGE: "wrong usage or bad input; nothing was started",
    LIMIT_REACHED: "a limit was reached",
    WAITING: "waiting for you",
    AGENT_UNUSABLE: "the agent cannot be used (not found, not logged in, endpoint not reachable)",
    INTERRUPTED: "interrupted; state is safe",
    READER_GONE: "the reader of the output closed it",
}


def of_error(error: type[Exception]) -> int:
    """Return the exit code for one of our own errors, by its class."""
    from bridle import errors

    if issubclass(error, errors.UserError):
        return USAGE
    return AGENT_UNUSABLE if issubclass(error, errors.AgentError) else FAILED
