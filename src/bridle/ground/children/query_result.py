"""The result of a short command. A plain class: commands that must start fast import it."""

from __future__ import annotations


class QueryResult:
    """The output of a command and how it ended."""

    __slots__ = ("exit_code", "is_truncated", "stderr", "stdout", "timed_out")

    def __init__(
        self,
        stdout: bytes,
        stderr: bytes,
        exit_code: int | None,
        *,
        timed_out: bool = False,
        is_truncated: bool = False,
    ) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.exit_code = exit_code
        """None where we killed it."""
        self.timed_out = timed_out
        self.is_truncated = is_truncated
        """The command printed more than the limit; stdout holds the beginning."""
