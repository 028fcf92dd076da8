"""Start a child process; every way in which that can fail is told apart."""

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


@dataclass(frozen=True)
class Spawn:
    """A child to start."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """The whole environment; nothing is inherited besides."""
    token: str
    """One for each child: whatever carries it is ended with the child."""
    talk: bool = False
    """Whether we write to its standard input, which is /dev/null otherwise."""


@dataclass(frozen=True)
class SpawnFailure:
    """The payload of the ProcessError: what could not be used, and the system's number for it."""

    about: Literal["program", "interpreter", "folder", "arguments", "machine"]
    errno: int | None


def launch(spawn: Spawn, *, merge: bool = False, keep: Collection[int] = ()) -> subprocess.Popen[bytes]:
    """Start the child in a session of its own, with its token in its environment.

    With `merge`, both its outputs are one pipe, in the order in which it prints; `keep` are descriptors it inherits.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", spawn.token):
        raise UsageError(f"run token {spawn.token!r} cannot be used", remedy="Use one made by new_token.")
    try:
        return subprocess.Popen(
            list(spawn.argv),
            cwd=spawn.cwd,
            env=_with_token(spawn),
            stdin=subprocess.PIPE if spawn.talk else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge else subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=tuple(keep),
        )
    except OSError as error:
        raise _explain(spawn, error) from error
    except ValueError as error:  # a NUL or a lone surrogate, which no system call can carry
        program = spawn.argv[0] if spawn.argv else ""
        raise ProcessError(
            f"{program} could not be started: an argument or a variable cannot be passed on: {error}",
            remedy="Take characters that are not text (NUL, broken Unicode) out of the prompt and the settings.",
            payload=SpawnFailure("arguments", None),
        ) from error


def _with_token(spawn: Spawn) -> dict[str, str]:
    outer = spawn.environment.get(TOKEN_VARIABLE)
    chain = f"{outer}{TOKEN_SEPARATOR}{spawn.token}" if outer else spawn.token
    return {**spawn.environment, TOKEN_VARIABLE: chain}


def _explain(spawn: Spawn, error: OSError) -> ProcessError:
    program, number = spawn.argv[0], error.errno or 0
    about, what, remedy = _cause(spawn, number, str(error.filename or ""))
    reason = error.strerror or str(error)
    return ProcessError(
        f"{program} could not be started: {what} ({reason})",
        remedy=remedy,
        payload=SpawnFailure(about, error.errno),
    )


_About = Literal["program", "interpreter", "folder", "arguments", "machine"]


def _cause(spawn: Spawn, number: int, filename: str) -> tuple[_About, str, str]:
    if filename == str(spawn.cwd) and filename != spawn.argv[0]:
        return "folder", f"its working folder {spawn.cwd} cannot be used", "Check that the folder exists."
    if number == errno.ENOENT:
        import shutil  # it takes long to import, and this is the only use

        found = shutil.which(spawn.argv[0], path=spawn.environment.get("PATH", os.defpath))
        if found is None:
            return "program", "there is no such program", "Install it, or check its name and PATH."
        return "interpreter", f"the first line of {found} names a program that is missing", "Install that one."
    if number in (errno.EACCES, errno.EPERM, errno.ENOTDIR):
        return "program", "it may not be run", "Check that it is a program and executable (chmod +x)."
    if number == errno.ENOEXEC:
        return "program", "it is not a program for this machine", "Install the one for this machine."
    if number == errno.E2BIG:
        return "arguments", "its arguments are too long", "Pass the prompt through standard input or a file."
    return "machine", "the system has no room for another process", "Check ulimit -u, ulimit -n and memory."
