"""One process in /proc: its stat and the tokens in its environment. Imports little: commands start fast."""

from __future__ import annotations

import os

# In the environment of every agent and its descendants. A run inside a run appends its own token after a colon, so
# that the outer run still finds what the inner one started.
TOKEN_VARIABLE = "BRIDLE_RUN_TOKEN"  # noqa: S105  # a name, not a secret

TOKEN_SEPARATOR = ":"  # noqa: S105  # a colon, not a secret

_MARK = TOKEN_VARIABLE.encode() + b"="

# Fields of a file `stat` in /proc, counted from the name.
NAME, PARENT, STARTED = 0, 2, 20

PROCESS_LIMIT = 4096
"""The most processes that a child may have at the same time, unless the user sets another limit."""

# One read gets the whole environment of nearly every process.
_READ_BYTES = 128 * 1024


def read_stat(pid: int | str) -> list[bytes] | None:
    """Return the name of a process and what follows it in its file `stat`; None where there is no such process."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(fd, 4096)
    except OSError:  # ended between open and read
        return None
    finally:
        os.close(fd)
    # The name is in parentheses and may contain spaces and parentheses.
    head, _, tail = text.rpartition(b") ")
    return [head.partition(b" (")[2], *tail.split()]


def read_tokens(pid: int) -> tuple[str, ...] | None:
    """Return the tokens in its environment; None where that is empty or cannot be read."""
    try:
        fd = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        environment = b"\0"
        while part := os.read(fd, _READ_BYTES):
            environment += part
    except OSError:
        return None
    finally:
        os.close(fd)
    if environment == b"\0":
        return None
    _, found, rest = environment.partition(b"\0" + _MARK)
    return split_tokens(rest.partition(b"\0")[0].decode("ascii", "replace")) if found else ()


def split_tokens(value: str) -> tuple[str, ...]:
    """Return the tokens in the value of the variable."""
    return tuple(value.split(TOKEN_SEPARATOR))
