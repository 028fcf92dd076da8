"""Start a child process, with an error that names the cause where that fails."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bridle.errors import ProcessError, UsageError
from bridle.ground.descendants.census import TOKEN_SEPARATOR, TOKEN_VARIABLE

# How the system reports that it has no room for another process.
SHORTAGES = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
SHORTAGE_REMEDY = "Run less at once, or raise the limits: check ulimit -u, ulimit -n and memory."


@dataclass(frozen=True)
class Spawn:
    """A child to start."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """The whole environment; nothing else is inherited."""
    token: str
    """A token of this child alone: all processes with it are ended with the child."""
    has_stdin: bool = False
    """Whether we write to its standard input, which is /dev/null otherwise."""


@dataclass(frozen=True)
class SpawnFailure:
    """The payload of the ProcessError: the cause, and the errno."""

    about: Literal["program", "interpreter", "folder", "arguments", "machine"]
    errno: int | None


def launch(spawn: Spawn, *, merge: bool = False, keep: Collection[int] = ()) -> subprocess.Popen[bytes]:
    """Start the child in a session of its own, with its token in its environment.

    With `merge` stdout and stderr are one pipe; `keep` are descriptors that it inherits.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", spawn.token):
        raise UsageError(f"a run token must be letters, digits, '_' and '-', got {spawn.token!r}")
    try:
        return subprocess.Popen(
            list(spawn.argv),
            cwd=spawn.cwd,
            env=_with_token(spawn),
            stdin=subprocess.PIPE if spawn.has_stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge else subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=tuple(keep),
        )
    except OSError as error:
        raise _explain(spawn, error) from error
    except ValueError as error:  # a NUL or a lone surrogate
        program = spawn.argv[0] if spawn.argv else ""
        raise ProcessError(
            f"{program} could not be started: an argument or a variable is not valid: {error}",
            remedy="Remove NUL characters and broken Unicode from the prompt and the settings.",
            payload=SpawnFailure("arguments", None),
        ) from error


def _with_token(spawn: Spawn) -> dict[str, str]:
    outer = spawn.environment.get(TOKEN_VARIABLE)
    chain = f"{outer}{TOKEN_SEPARATOR}{spawn.token}" if outer else spawn.token
    return {**spawn.environment, TOKEN_VARIABLE: chain}


def _explain(spawn: Spawn, error: OSError) -> ProcessError:
    program, number = spawn.argv[0], error.errno or 0
    about, message, remedy = _cause(spawn, number, str(error.filename or ""))
    reason = error.strerror or str(error)
    return ProcessError(
        f"{program} could not be started: {message} ({reason})",
        remedy=remedy,
        payload=SpawnFailure(about, error.errno),
    )


_About = Literal["program", "interpreter", "folder", "arguments", "machine"]


def _cause(spawn: Spawn, number: int, filename: str) -> tuple[_About, str, str]:
    if filename == str(spawn.cwd) and filename != spawn.argv[0]:
        return "folder", f"its working folder {spawn.cwd} cannot be used", "Check that the folder exists."
    if number == errno.ENOENT:
        import shutil  # slow to import, and only used here

        found = shutil.which(spawn.argv[0], path=spawn.environment.get("PATH", os.defpath))
        if found is None:
            return "program", "there is no such program", "Install it, or check its name and PATH."
        return "interpreter", f"the interpreter in the first line of {found} is missing", "Install it."
    if number in (errno.EACCES, errno.EPERM, errno.ENOTDIR):
        return "program", "it is not executable", "Check that it is a program, and run: chmod +x"
    if number == errno.ENOEXEC:
        return "program", "it is not a program for this machine", "Install the one for this architecture."
    if number == errno.E2BIG:
        return "arguments", "its arguments are too long", "Pass the prompt through standard input or a file."
    return "machine", "the system cannot start another process", SHORTAGE_REMEDY
