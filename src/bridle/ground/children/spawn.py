"""Start a child process, with an error that names the cause where that fails."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Literal

from msgspec import Struct

from bridle.errors import ProcessError, UsageError
from bridle.ground.children import supervised_start
from bridle.ground.children.exit_watch import ExitWatch
from bridle.ground.children.sandbox_stdio import MovedStdio, choose_numbers
from bridle.ground.children.supervised_watch import SupervisedWatch
from bridle.ground.descendants import supervisor
from bridle.ground.descendants.census import TOKEN_SEPARATOR, TOKEN_VARIABLE
from bridle.ground.descendants.enclosing_agent import SUPERVISOR_NAME, USER_SUPERVISOR_NAME
from bridle.ground.descendants.proc_files import PROCESS_LIMIT
from bridle.ground.ids import USER_PREFIX

# How the system reports that it has no room for another process.
SHORTAGES = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
# A killed child ends at once unless the kernel holds it, for instance on a network disk that does not respond.
DISCARD_SECONDS = 5.0
SHORTAGE_REMEDY = "Run less at once, or raise the limits: check ulimit -u, ulimit -n and memory."


class Sandbox(Struct, frozen=True):
    """A program that starts the child in namespaces of its own: bubblewrap, or one with the same interface."""

    program: str
    options: tuple[str, ...]
    """Passed through a descriptor: they are in no list of processes."""
    status: int
    """The descriptor of a file to which it reports, as JSON, the exit code of a child that has run."""
    system_call_filter: bytes = b""
    """A seccomp filter for the child; none if it is empty."""
    mark: str = ""
    """Printed to stderr if the child could not be executed; with it only the child has its stdin and stdout open."""


class Spawn(Struct, frozen=True):
    """A child to start."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """The whole environment; nothing else is inherited."""
    token: str
    """A token of this child alone: all processes with it are ended with the child."""
    has_stdin: bool = False
    """Whether we write to its standard input, which is /dev/null otherwise."""
    sandbox: Sandbox | None = None
    """The program that isolates it."""
    process_limit: int = PROCESS_LIMIT
    """Above so many processes all of them are killed, where the system can count them; 0 disables the limit."""


class SpawnFailure(Struct, frozen=True):
    """The payload of the ProcessError: the cause, and the errno."""

    about: Literal["program", "interpreter", "folder", "arguments", "machine"]
    errno: int | None


class Launched(Struct, frozen=True):
    """A started child: its pipes, and the watch that knows its exit."""

    stdin: IO[bytes] | None
    stdout: IO[bytes]
    stderr: IO[bytes] | None
    watch: ExitWatch | SupervisedWatch
    pid: int
    """Of the child itself."""

    def discard(self) -> None:
        """Kill a child that was just started, and close its descriptors."""
        self.watch.signal(signal.SIGKILL)
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()
        self.watch.reap(limit_seconds=DISCARD_SECONDS)
        self.watch.close()


def launch(spawn: Spawn, *, merge: bool = False, keep: Collection[int] = (), supervised: bool = True) -> Launched:
    """Start the child in a session of its own, with its token in its environment.

    With `merge` stdout and stderr are one pipe; `keep` are descriptors that it inherits. With `supervised`, where the
    system can, every orphan of it is found: see `ground/descendants/supervisor.py`.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", spawn.token):
        raise UsageError(f"a run token must be letters, digits, '_' and '-', got {spawn.token!r}")
    is_supervised = (supervised or spawn.sandbox is not None) and supervisor.is_supported()
    kept = [*keep]
    argv = list(spawn.argv)
    files: list[int] = []
    moved: MovedStdio | None = None
    try:
        if spawn.sandbox is not None:
            files.append(_memory_file(b"".join(os.fsencode(option) + b"\0" for option in spawn.sandbox.options)))
            words = ["--args", str(files[0]), "--json-status-fd", str(spawn.sandbox.status)]
            if spawn.sandbox.system_call_filter:
                files.append(_memory_file(spawn.sandbox.system_call_filter))
                words += ["--seccomp", str(files[1])]
            kept += [*files, spawn.sandbox.status]
            if spawn.sandbox.mark and is_supervised and not merge:
                moved = choose_numbers(kept, spawn.environment)
            if moved is not None:
                argv = moved.command(argv)
                files.append(_memory_file(os.fsencode(f"{spawn.sandbox.mark}\n")))
            argv = [spawn.sandbox.program, *words, "--", *argv]
        if not is_supervised:
            return _launch_alone(spawn, argv, merge=merge, keep=kept)
        return _launch_supervised(
            spawn, argv, merge=merge, keep=kept, moved=None if moved is None else (moved, files[-1])
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
    finally:
        for fd in files:
            os.close(fd)


def _launch_supervised(
    spawn: Spawn, argv: list[str], *, merge: bool, keep: list[int], moved: tuple[MovedStdio, int] | None
) -> Launched:
    numbers, mark = moved if moved is not None else (None, 0)
    try:
        started = supervised_start.start(
            argv,
            cwd=spawn.cwd,
            environment=_with_token(spawn),
            has_stdin=spawn.has_stdin,
            merge=merge,
            keep={fd: fd for fd in keep} if numbers is None else {**{fd: fd for fd in keep}, mark: numbers.mark},
            stdio=(0, 1) if numbers is None else (numbers.stdin, numbers.stdout),
            wrappers=0 if spawn.sandbox is None else supervisor.SANDBOX_PROCESSES,
            name=USER_SUPERVISOR_NAME if spawn.token.startswith(USER_PREFIX) else SUPERVISOR_NAME,
            process_limit=spawn.process_limit,
        )
    except ProcessError as error:  # of the keeper
        raise ProcessError(error.message, remedy=error.remedy, payload=SpawnFailure("machine", None)) from error
    return Launched(started.stdin, started.stdout, started.stderr, started.watch, started.watch.pid)


def _launch_alone(spawn: Spawn, argv: list[str], *, merge: bool, keep: list[int]) -> Launched:
    process = subprocess.Popen(
        argv,
        cwd=spawn.cwd,
        env=_with_token(spawn),
        stdin=subprocess.PIPE if spawn.has_stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merge else subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        pass_fds=tuple(keep),
    )
    assert process.stdout is not None  # noqa: S101  # for the type checker: it is a pipe
    return Launched(process.stdin, process.stdout, process.stderr, ExitWatch(process), process.pid)


def _memory_file(data: bytes) -> int:
    fd = os.memfd_create("options")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


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
