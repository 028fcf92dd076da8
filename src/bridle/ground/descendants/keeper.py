"""The keeper: a small process that starts the supervisors of children, and ends the agents of a Bridle that was killed.

It reads lines from its standard input, a socket whose other end only Bridle has:

    add <token> <pid> <create time>     an agent to end if Bridle dies (pid 0: not known yet)
    supervised <token> <pid> <create time>   its supervisor: ends it if Bridle dies
    start <count>                       start a child: that many descriptors come with this line
    drop <token>                        the agent has ended
    lock <name>                         a lock, whose descriptor comes with this line: held until the keeper ends
    unlock <name>                       the lock was released

The end of the input means that Bridle has ended. Run as a program, by path, in a Python without
installed packages; standard library and this package's own light modules only.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

# Time for an agent to save its session.
GRACE_SECONDS = 1.0

# A supervisor ends its agent and everything below it within this time.
SUPERVISOR_SECONDS = 6.0

READ_BYTES = 65536
DESCRIPTORS = 64  # of one read; Bridle sends one at a time


def main() -> int:
    """Serve until the input ends, then end what is still registered."""
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    ignored = [sig for sig in ends if signal.getsignal(sig) == signal.SIG_IGN]
    for sig in (*ends, signal.SIGCHLD):  # the supervisors report their ends themselves
        signal.signal(sig, signal.SIG_IGN)
    # At the end of the path, so that no installed package can shadow the standard library.
    folder = os.path.abspath(__file__)
    for _ in range(4):  # ground/descendants of the package bridle
        folder = os.path.dirname(folder)
    sys.path.append(folder)
    # Imported now: during an upgrade of Bridle its files may be missing later.
    from bridle.errors import ProcessError
    from bridle.ground.descendants import supervisor, terminate

    starter = supervisor.Starter(ignored=ignored) if supervisor.is_supported() else None
    agents: dict[str, terminate.ProcessRef] = {}
    supervised: set[str] = set()
    locks: dict[str, int] = {}
    received: list[int] = []
    bridle = socket.socket(fileno=0)
    rest = b""
    while True:
        chunk, descriptors, _, _ = socket.recv_fds(bridle, READ_BYTES, DESCRIPTORS)
        if not chunk:
            break
        received += descriptors  # each arrives with its line or before it
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            match line.decode("ascii", "replace").split():
                case ["add", token, pid, created]:
                    agents[token] = terminate.ProcessRef(int(pid), float(created), "agent")
                case ["supervised", token, pid, created]:
                    agents[token] = terminate.ProcessRef(int(pid), float(created), "supervisor")
                    supervised.add(token)
                case ["start", count] if starter is not None:
                    starter.start(received[: int(count)])
                    del received[: int(count)]
                case ["drop", token]:
                    agents.pop(token, None)
                    supervised.discard(token)
                case ["lock", name]:
                    locks[name] = received.pop(0)
                case ["unlock", name] if name in locks:
                    os.close(locks.pop(name))
    try:
        terminate.wait_gone([agents[token] for token in supervised], SUPERVISOR_SECONDS)
        if agents:
            terminate.end_many(tuple(agents), grace_seconds=GRACE_SECONDS, known=tuple(agents.values()))
        for lock in locks.values():
            os.utime(lock)  # the next holder reads when they had ended
    except (ProcessError, OSError):
        return 1  # there is no process to report it to
    return 0


if __name__ == "__main__":
    sys.exit(main())
