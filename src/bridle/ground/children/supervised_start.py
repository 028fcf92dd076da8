"""Start a child below a supervisor: the keeper forks the supervisor, which starts the child."""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from bridle.ground.children.supervised_watch import SupervisedWatch
from bridle.ground.descendants import keeper_client, supervisor

# A start takes milliseconds, and seconds on a machine that swaps; after this the keeper was stopped.
START_SECONDS = 30.0

# The keeper may be stopped, or killed out of memory, before it has read the request: another one gets it again.
START_LIMIT = 3


class SupervisedStart(NamedTuple):
    """A started child: our ends of its pipes, and the watch that knows its exit."""

    stdin: IO[bytes] | None
    stdout: IO[bytes]
    stderr: IO[bytes] | None
    watch: SupervisedWatch


class _NoResponse(Exception):
    """The keeper was stopped."""


def start(
    argv: list[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    has_stdin: bool,
    merge: bool,
    keep: Mapping[int, int],
    stdio: tuple[int, int] = (0, 1),
    wrappers: int,
    name: str,
    process_limit: int,
) -> SupervisedStart:
    """Start a child; raise what Popen raises where it cannot be started.

    `keep` are descriptors that it inherits, each with its number there; `stdio` are those of its input and output.
    """
    request = supervisor.encode_request(
        [_encode(word) for word in argv],
        [os.path.join(_encode(folder), _encode(argv[0])) for folder in _folders(argv[0], environment)],
        {_encode_name(key): _encode(value) for key, value in environment.items()},
        _encode(os.path.abspath(cwd)),  # the keeper has another working folder
        kept=[*keep.values()],
        stdio=stdio,
        wrappers=wrappers,
        name=name,
        process_limit=process_limit,
    )
    for _ in range(START_LIMIT):
        try:
            started = _try_start(request, has_stdin=has_stdin, merge=merge, keep=keep, failed=(str(cwd), argv[0]))
        except _NoResponse:
            keeper_client.replace_keeper()
            continue
        if started is not None:
            return started
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), argv[0])  # no room for a supervisor


def _try_start(
    request: bytes, *, has_stdin: bool, merge: bool, keep: Collection[int], failed: tuple[str, str]
) -> SupervisedStart | None:
    """Start the child; return None where the keeper or the supervisor was killed; raise _NoResponse at the limit."""
    pipes = _Pipes()
    try:
        order = pipes.memory_file(request)
        stdin = pipes.to_child() if has_stdin else pipes.null()
        stdout = pipes.from_child()
        stderr = stdout if merge else pipes.from_child()
        control, status, failure = pipes.to_child(), pipes.from_child(), pipes.from_child()
        theirs = (order, stdin[1], stdout[1], stderr[1], control[1], status[1], failure[1], *keep)
        keeper_client.start_child(theirs)
        pipes.close_theirs()
        deadline = time.monotonic() + START_SECONDS
        report = _read_line(failure[0], deadline)
        if report:
            where, _, number = report.partition(b" ")
            filename = failed[0] if where == supervisor.FOLDER_FAILED.encode("ascii") else failed[1]
            raise OSError(int(number), os.strerror(int(number)), filename)
        words = _read_line(status[0], deadline).split()
        if not words or words[0] != b"pid":
            return None
        watch = SupervisedWatch(
            int(words[1]), int(words[2]), control=pipes.take(control[0]), status=pipes.take(status[0])
        )
        return SupervisedStart(
            os.fdopen(pipes.take(stdin[0]), "wb", 0) if has_stdin else None,
            os.fdopen(pipes.take(stdout[0]), "rb", 0),
            None if merge else os.fdopen(pipes.take(stderr[0]), "rb", 0),
            watch,
        )
    finally:
        pipes.close()


class _Pipes:
    """The descriptors of one start: ours, and those that the child or its supervisor gets."""

    def __init__(self) -> None:
        self._ours: set[int] = set()
        self._theirs: set[int] = set()

    def to_child(self) -> tuple[int, int]:
        """Return our end and the other end of a pipe that the child reads."""
        theirs, ours = os.pipe()
        return self._add(ours, theirs)

    def from_child(self) -> tuple[int, int]:
        ours, theirs = os.pipe()
        return self._add(ours, theirs)

    def null(self) -> tuple[int, int]:
        fd = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._theirs.add(fd)
        return fd, fd

    def memory_file(self, data: bytes) -> int:
        fd = os.memfd_create("request")
        self._theirs.add(fd)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def take(self, fd: int) -> int:
        """Return one of our ends, which the caller closes."""
        self._ours.discard(fd)
        return fd

    def close_theirs(self) -> None:
        while self._theirs:
            os.close(self._theirs.pop())

    def close(self) -> None:
        self.close_theirs()
        while self._ours:
            os.close(self._ours.pop())

    def _add(self, ours: int, theirs: int) -> tuple[int, int]:
        self._ours.add(ours)
        self._theirs.add(theirs)
        return ours, theirs


def _read_line(fd: int, deadline: float) -> bytes:
    """Read a line, or to the end; byte by byte, since what follows must leave the descriptor readable."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    line = b""
    while True:
        if not poll.poll(max(deadline - time.monotonic(), 0) * 1000):
            raise _NoResponse
        if (byte := os.read(fd, 1)) in (b"", b"\n"):
            return line
        line += byte


def _folders(program: str, environment: Mapping[str, str]) -> list[str]:
    """Return where a program is searched; a path is joined with nothing."""
    return [""] if os.path.dirname(program) else os.get_exec_path(environment)


def _encode(text: str) -> bytes:
    data = os.fsencode(text)
    if b"\0" in data:
        raise ValueError("embedded null byte")
    return data


def _encode_name(name: str) -> bytes:
    if "=" in name:
        raise ValueError("illegal environment variable name")
    return _encode(name)
