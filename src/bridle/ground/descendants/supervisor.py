"""The supervisor: a small process between Bridle and a child, to which every orphan of that child returns.

A daemon that forks twice, makes a session of its own and empties its environment can be found neither by its parents
nor by its token. But the new parent of an orphan is its nearest ancestor that is a "subreaper": the supervisor. It
exits when no descendant is left, which the kernel reports exactly, so its exit is the proof.

It is a fork of the keeper, which is small and has no threads: a fork of Bridle would cost more the larger Bridle is,
and could wait forever for a lock of another thread. All signals but SIGCHLD stay blocked: it is the last to end.
Linux only.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # has no stub; `signal` makes enums of every mask, which takes longer
import errno
import fcntl
import gc
import marshal
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from bridle.ground.descendants.child_pids import children, descendants, read_all

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

# How often descendants are counted: a process needs some time to start thousands.
COUNT_SECONDS = 1.0

# If memory runs out, the kernel ends what agents and checks have started before programs of the user: proc(5).
_OOM_SCORE = 500

# bwrap, and the first process of its namespace: signals go to the child of that one.
SANDBOX_PROCESSES = 2

# The largest number that a descriptor can have.
_LAST_DESCRIPTOR = 2**31 - 2

# The exit code where descendants could not be killed.
SURVIVORS = 1

# Signals that the keeper handles or ignores, as every Python does some; a child gets them as Bridle had them.
_KEEPER_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGCHLD,
    signal.SIGPIPE,
    signal.SIGXFSZ,
)

# What a child that could not be started reports, with an errno.
FOLDER_FAILED = "folder"
PROGRAM_FAILED = "program"


def is_supported() -> bool:
    """Return whether an ancestor can become the parent of orphans on this system."""
    return sys.platform == "linux"


def encode_request(
    argv: Sequence[bytes],
    programs: Sequence[bytes],
    environment: Mapping[bytes, bytes],
    cwd: bytes,
    *,
    kept: Sequence[int],
    stdio: tuple[int, int] = (0, 1),
    wrappers: int,
    name: str,
    process_limit: int,
) -> bytes:
    """Encode what is to be started: `programs` are tried in order, `kept` are the numbers of inherited descriptors.

    With `wrappers` the program starts others, one below the other, and signals go to the one below that many. Above
    `process_limit` processes all of them are killed; 0 disables the limit. `stdio` are the numbers of input and output:
    if they are others, the usual ones are empty.
    """
    lists = list(argv), list(programs), dict(environment), cwd, list(kept), stdio
    return marshal.dumps((*lists, wrappers, name.encode("ascii"), process_limit))


class Starter:
    """Starts supervisors; made once, before the first of them."""

    def __init__(self, *, ignored: Collection[int]) -> None:
        """`ignored` are the signals that a child ignores from its start, as Bridle did."""
        import ctypes  # late: Bridle does not need it

        libc = ctypes.CDLL(None)
        self._prctl: Callable[..., int] = libc.prctl
        self._close_range: Callable[..., int] | None = getattr(libc, "close_range", None)
        self._ignored = ignored
        self._mask = _signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._all_signals = _signal.valid_signals()
        gc.disable()
        gc.freeze()  # a collection would write to memory that is shared with the supervisors

    def start(self, received: Sequence[int]) -> None:
        """Fork a supervisor and close the descriptors here: of the request, stdin, stdout, stderr, and its three lines.

        From `control` the supervisor reads `signal <number>` and `end <seconds of grace>`; the end of the input means
        that Bridle has ended. To `status` it writes `pid <child> <supervisor>`, when the child itself has ended
        `exit <code> alone|others`, `limit <processes>` if it ends everything for that reason, and last `end <code>`.
        To `failure` the child writes why it cannot be started.
        """
        try:
            if os.fork() == 0:
                self._supervise(received)
        except OSError as error:
            os.write(received[6], f"{PROGRAM_FAILED} {error.errno}".encode("ascii"))
        finally:
            for fd in received:
                os.close(fd)

    def _supervise(self, received: Sequence[int]) -> None:
        code = SURVIVORS
        status = received[5]
        try:
            request, stdin, stdout, stderr, control, status, failure, *kept = received
            _signal.pthread_sigmask(signal.SIG_BLOCK, self._all_signals)
            argv, programs, environment, cwd, targets, stdio, wrappers, name, limit = marshal.loads(read_all(request))  # noqa: S302  # Bridle wrote it
            self._close_others(set(received))
            os.setsid()
            self._prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            self._prctl(_PR_SET_NAME, name, 0, 0, 0)
            wakeup = _wake_at_exits()
            try:
                child = os.fork()
            except OSError as error:
                os.write(failure, f"{PROGRAM_FAILED} {error.errno}".encode("ascii"))
                return
            if child == 0:
                null = stdin if stdio == (0, 1) else os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
                usual = {0: null, 1: null, 2: stderr, stdio[0]: stdin, stdio[1]: stdout}
                descriptors = {**usual, **dict(zip(targets, kept, strict=True))}
                self._execute(argv, programs, environment, cwd, descriptors, failure)
            self._close_others({control, status, *wakeup})
            code = _Supervisor(child, control, status, wakeup[0], wrappers, limit).serve()
        finally:
            _report(status, f"end {code}\n")
            os._exit(code)

    def _close_others(self, kept: set[int]) -> None:
        """Close all other descriptors: the ends of pipes, and locks that the keeper holds."""
        close, first = self._close_range, 0
        for fd in (*sorted(kept), _LAST_DESCRIPTOR + 1):
            if close is None or (first < fd and close(first, fd - 1, 0) != 0):
                _close_all_but(kept)
                return
            first = fd + 1

    def _execute(
        self,
        argv: list[bytes],
        programs: list[bytes],
        environment: dict[bytes, bytes],
        cwd: bytes,
        descriptors: Mapping[int, int],
        failure: int,
    ) -> None:
        """Become the child."""
        problem = PROGRAM_FAILED, errno.EINVAL
        try:
            os.setsid()
            self._prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)  # it ends if its supervisor is killed
            failure = _place(descriptors, failure)
            self._close_others({*descriptors, failure})
            for sig in _KEEPER_SIGNALS:
                _signal.signal(sig, _signal.SIG_IGN if sig in self._ignored else _signal.SIG_DFL)
            _signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            _be_ended_first()
            problem = FOLDER_FAILED, 0
            os.chdir(cwd)
            problem = PROGRAM_FAILED, _first_failure(programs, argv, environment)
        except OSError as error:
            problem = problem[0], error.errno or errno.EINVAL
        finally:
            os.write(failure, f"{problem[0]} {problem[1]}".encode("ascii"))
            os._exit(1)


def _be_ended_first() -> None:
    """Let the kernel choose this process and what it starts when memory runs out."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return  # a system without it
    try:
        if int(read_all(fd)) < _OOM_SCORE:
            os.write(fd, b"%d" % _OOM_SCORE)
    except (OSError, ValueError):
        pass  # it is not needed
    finally:
        os.close(fd)


def _place(descriptors: Mapping[int, int], failure: int) -> int:
    """Give the descriptors their numbers; return that for failures, which an exec closes."""
    free = max(descriptors) + 1
    moved = {number: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, free) for number, fd in descriptors.items()}
    failure = fcntl.fcntl(failure, fcntl.F_DUPFD_CLOEXEC, free)
    for number, fd in moved.items():
        os.dup2(fd, number)
    return failure


def _first_failure(programs: list[bytes], argv: list[bytes], environment: dict[bytes, bytes]) -> int:
    """Execute the first program that can be; return the errno of the one that exists, if any."""
    found, last = 0, errno.ENOENT
    for program in programs:
        try:
            os.execve(program, argv, environment)  # noqa: S606  # this is how a program is started
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                found = found or error.errno or errno.EINVAL
            last = error.errno or errno.EINVAL
    return found or last


class _Supervisor:
    def __init__(self, child: int, control: int, status: int, wakeup: int, wrappers: int, limit: int) -> None:
        self._child: int | None = child
        self._limit = limit
        self._counted = time.monotonic()
        self._control, self._status, self._wakeup = control, status, wakeup
        self._input = b""
        self._wrappers = wrappers
        _report(status, f"pid {child} {os.getpid()}\n")

    def serve(self) -> int:
        """Serve until no descendant is left, and return the exit code."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        while not self._is_alone():
            ready = [fd for fd, _ in poll.poll(COUNT_SECONDS * 1000 if self._limit else None)]
            if self._has_too_many():
                _report(self._status, f"limit {self._limit}\n")
                return self._end(0)
            if self._wakeup in ready:
                os.read(self._wakeup, 4096)
            if self._control in ready and (grace := self._obey()) is not None:
                return self._end(grace)
        return 0

    def _has_too_many(self) -> bool:
        """Count the descendants from time to time; stop at the limit."""
        now = time.monotonic()
        if not self._limit or now < self._counted + COUNT_SECONDS:
            return False
        found = sum(1 for _ in zip(descendants(os.getpid()), range(self._limit + 1), strict=False))
        # A large tree takes some time to count; it must not take all of it.
        self._counted = time.monotonic() + 10 * (time.monotonic() - now)
        return found > self._limit

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
            _report(self._status, f"exit {exit_code} {'alone' if is_alone else 'others'}\n")
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
        while found and len(found) <= self._wrappers and (below := children(found[-1])):
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
            found = list(descendants(os.getpid()))
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


def _report(status: int, line: str) -> None:
    try:
        os.write(status, line.encode("ascii"))
    except OSError:
        pass  # Bridle has ended; the control pipe says so too


def _wake_at_exits() -> tuple[int, int]:
    """Return the ends of a pipe; the reading end becomes readable when a child exits."""
    # Before the child is started: the keeper ignores SIGCHLD, so an exit code would be lost.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    _signal.signal(signal.SIGCHLD, _ignore)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    _signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    return reading, writing


def _ignore(_number: int, _frame: object) -> None:
    """Do nothing: the wakeup descriptor tells of the signal."""


def _close_all_but(kept: set[int]) -> None:
    """Close all other descriptors where the system has no call for it."""
    # Listed, and not all up to the limit of descriptors: in some containers that is a thousand million.
    for name in os.listdir("/proc/self/fd"):
        if (fd := int(name)) not in kept:
            try:
                os.close(fd)
            except OSError:
                pass  # the descriptor of the list


def _kill(pid: int, sig: int) -> None:
    try:
        os.kill(pid, sig)
    except (ProcessLookupError, PermissionError):
        pass  # ended; or of another user, and then it is reported as a survivor
