"""The supervisor: a small process between Bridle and a child, to which every orphan of that child returns.

A daemon that forks twice, makes a session of its own and empties its environment can be found neither by its parents
nor by its token. But the new parent of an orphan is its nearest ancestor that is a "subreaper": the supervisor. It
exits when no descendant is left, which the kernel reports exactly, so its exit is the proof.

It is a fork of Bridle that executes no program, since the start of a Python costs three times as much. Other threads
may have held any lock at the fork: here only the operating system is called. Linux only.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator

from bridle.ground.descendants.enclosing_agent import SUPERVISOR_NAME

# prctl(2)
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36

# A killed process ends at once unless the kernel holds it, for instance on a network disk that does not respond.
KILL_SECONDS = 4.0

# Time for an agent to save its session if Bridle is killed.
ABANDONED_SECONDS = 1.0

# The interval at which descendants are listed again while they end.
POLL_SECONDS = 0.01

# bwrap, and the first process of its namespace: signals go to the child of that one.
SANDBOX_PROCESSES = 2

# The exit code where descendants could not be killed.
SURVIVORS = 1

# Signals that the supervisor must outlive: it is the last to end.
_IGNORED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGPIPE,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


def is_supported() -> bool:
    """Return whether an ancestor can become the parent of orphans on this system."""
    return sys.platform == "linux"


def between(control: int, status: int, *, wrappers: int = 0, name: str = SUPERVISOR_NAME) -> Callable[[], None]:
    """Return the function that makes a fork of Bridle the supervisor of what it executes.

    To be called in a fork that is about to execute a program: it returns in a second fork, and the first serves.
    From `control` it reads lines, `signal <number>` and `end <seconds of grace>`; the end of the input means that
    Bridle has ended. With `wrappers` the program starts others, one below the other, and signals go to the one below
    that many. To `status` it writes `pid <pid>`, and when the child itself has ended `exit <code> alone|others`.
    """
    import ctypes  # late: slow to import

    prctl = ctypes.CDLL(None).prctl  # before the fork: the loader takes locks

    def fork() -> None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        wakeup = _wake_at_exits()
        child = os.fork()
        if child == 0:
            os.setsid()
            prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)  # it ends if its supervisor is killed
            return
        code = SURVIVORS
        try:
            prctl(_PR_SET_NAME, name.encode("ascii"), 0, 0, 0)
            code = _Supervisor(child, control, status, wakeup, wrappers).serve()
        finally:
            os._exit(code)

    return fork


class _Supervisor:
    def __init__(self, child: int, control: int, status: int, wakeup: tuple[int, int], wrappers: int) -> None:
        gc.disable()
        self._child: int | None = child
        self._control, self._status, self._wakeup = control, status, wakeup[0]
        self._input = b""
        self._wrappers = wrappers
        for sig in _IGNORED:
            signal.signal(sig, signal.SIG_IGN)
        _close_others({control, status, *wakeup})
        os.chdir("/")
        self._report(f"pid {child}\n")

    def serve(self) -> int:
        """Serve until no descendant is left, and return the exit code."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        while not self._is_alone():
            ready = [fd for fd, _ in poll.poll()]
            if self._wakeup in ready:
                os.read(self._wakeup, 4096)
            if self._control in ready and (grace := self._obey()) is not None:
                return self._end(grace)
        return 0

    def _is_alone(self) -> bool:
        """Reap what has ended; return whether no descendant is left."""
        exit_code: int | None = None
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._child:
                    self._child = None
                    exit_code = os.waitstatus_to_exitcode(ended[1])
            is_alone = False
        except ChildProcessError:
            is_alone = True
        if exit_code is not None:
            self._report(f"exit {exit_code} {'alone' if is_alone else 'others'}\n")
        return is_alone

    def _obey(self) -> float | None:
        """Carry out what Bridle asks for; return the grace with which everything is to end, or None."""
        received = os.read(self._control, 4096)
        if not received:
            return ABANDONED_SECONDS
        *lines, self._input = (self._input + received).split(b"\n")
        for line in lines:
            word, _, value = line.partition(b" ")
            if word == b"end":
                return float(value)
            if self._child is not None:
                _kill(self._wrapped()[-1], int(value))
        return None

    def _wrapped(self) -> list[int]:
        """Return the child and, below it, what it starts for us: as much of it as there is."""
        found = [self._child] if self._child is not None else []
        while found and len(found) <= self._wrappers and (below := _children(found[-1])):
            found.append(below[0])
        return found

    def _end(self, grace_seconds: float) -> int:
        """End all descendants: SIGTERM, after the grace SIGKILL."""
        deadline = time.monotonic() + grace_seconds
        asked: set[int] = set()
        exits = select.poll()
        exits.register(self._wakeup, select.POLLIN)
        while not self._is_alone():
            now = time.monotonic()
            if now >= deadline + KILL_SECONDS:
                return SURVIVORS
            found = list(_descendants(os.getpid()))
            if now < deadline:
                # Without its wrappers the child would be killed at once.
                asked.update(self._wrapped()[: self._wrappers])
                for pid in found:
                    if pid not in asked:
                        _kill(pid, signal.SIGTERM)
                        _kill(pid, signal.SIGCONT)  # a stopped process handles SIGTERM only when it continues
                asked.update(found)
            else:
                for pid in found:
                    _kill(pid, signal.SIGKILL)
            # An exit wakes it at once: a process that forks and exits without pause is killed between two forks.
            if exits.poll(POLL_SECONDS * 1000):
                os.read(self._wakeup, 4096)
        return 0

    def _report(self, line: str) -> None:
        try:
            os.write(self._status, line.encode("ascii"))
        except BrokenPipeError:
            pass  # Bridle has ended; the control pipe says so too


def _wake_at_exits() -> tuple[int, int]:
    """Return the ends of a pipe; the reading end becomes readable when a child exits."""
    # Before the child is started: where Bridle was started with SIGCHLD ignored, an exit code would be lost.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, _ignore)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    return reading, writing


def _ignore(_number: int, _frame: object) -> None:
    """Do nothing: the wakeup descriptor tells of the signal."""


def _close_others(kept: set[int]) -> None:
    """Close all other descriptors: the ends of pipes, and locks that must be free once Bridle has ended."""
    first = 0
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _kill(pid: int, sig: int) -> None:
    try:
        os.kill(pid, sig)
    except (ProcessLookupError, PermissionError):
        pass  # ended; or of another user, and then it is reported as a survivor


def _descendants(pid: int) -> Iterator[int]:
    """List the descendants of a process, the nearest first."""
    todo = [pid]
    while todo:
        found = _children(todo.pop())
        yield from found
        todo += found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    except (OSError, ValueError):
        return found if found or pid != os.getpid() else _children_by_stat(pid)
    return found


def _children_by_stat(pid: int) -> list[int]:
    """List the children of a process where the kernel has no list of them."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = _read(f"/proc/{name}/stat").rpartition(b") ")[2].split()
        except OSError:
            continue
        if fields and int(fields[1]) == pid:
            found.append(int(name))
    return found


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while part := os.read(fd, 65536):
            data += part
        return data
    finally:
        os.close(fd)
