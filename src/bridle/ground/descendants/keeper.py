"""The keeper: a small process that outlives Bridle by a moment and ends the agents it left behind.

It reads lines from its standard input, a socket whose other end only Bridle holds:

    add <token> <pid> <create time>     an agent to end if Bridle dies (pid 0: not known yet)
    drop <token>                        that agent is gone
    lock <name>                         a lock comes with this line, as a descriptor: held until the keeper ends
    unlock <name>                       that lock was let go

The end of the input means that Bridle is gone, however it went. Run as a program, by path, in a Python without
installed packages; standard library and this package's own light modules only.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

# Time for an agent to write down its session; nobody is left to wait for more.
GRACE_SECONDS = 1.0

READ_BYTES = 65536
DESCRIPTORS = 64  # as many as one read may bring; Bridle sends one at a time


def main() -> int:
    """Serve until the input ends, then end what is still registered."""
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)
    # At the end of the path, so that no installed package can stand in for a module of the standard library.
    folder = os.path.abspath(__file__)
    for _ in range(4):  # ground/descendants of the package bridle
        folder = os.path.dirname(folder)
    sys.path.append(folder)
    # Imported before anything can go wrong: while Bridle is being replaced its files may be missing.
    from bridle.errors import ProcessError
    from bridle.ground.descendants import terminate

    agents: dict[str, terminate.Victim] = {}
    locks: dict[str, int] = {}
    came: list[int] = []
    bridle = socket.socket(fileno=0)
    rest = b""
    while True:
        chunk, descriptors, _, _ = socket.recv_fds(bridle, READ_BYTES, DESCRIPTORS)
        if not chunk:
            break
        came += descriptors  # each of them comes with its line or before it
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            match line.decode("ascii", "replace").split():
                case ["add", token, pid, created]:
                    agents[token] = terminate.Victim(int(pid), float(created), "agent")
                case ["drop", token]:
                    agents.pop(token, None)
                case ["lock", name]:
                    locks[name] = came.pop(0)
                case ["unlock", name] if name in locks:
                    os.close(locks.pop(name))
    if not agents:
        return 0
    try:
        terminate.end_many(tuple(agents), grace_seconds=GRACE_SECONDS, known=tuple(agents.values()))
    except ProcessError:
        return 1  # Bridle is gone: there is nobody to tell
    return 0


if __name__ == "__main__":
    sys.exit(main())
