"""The keeper: a small process that outlives Bridle by a moment and ends the agents it left behind.

It reads lines from its standard input, whose other end only Bridle holds:

    add <token> <pid> <create time>     an agent to end if Bridle dies (pid 0: not known yet)
    drop <token>                        that agent is gone

The end of the input means that Bridle is gone, however it went. Run as a program, by path, in a Python without
installed packages; standard library and this package's own light modules only.
"""

from __future__ import annotations

import os
import signal
import sys

# Time for an agent to write down its session; nobody is left to wait for more.
GRACE_SECONDS = 1.0

READ_BYTES = 65536


def main() -> int:
    """Serve until the input ends, then end what is still registered."""
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)
    # At the end of the path, so that no installed package can stand in for a module of the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    # Imported before anything can go wrong: while Bridle is being replaced its files may be missing.
    from bridle.errors import ProcessError
    from bridle.ground import descendants

    agents: dict[str, descendants.Victim] = {}
    rest = b""
    while chunk := os.read(0, READ_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            match line.decode("ascii", "replace").split():
                case ["add", token, pid, created]:
                    agents[token] = descendants.Victim(int(pid), float(created), "agent")
                case ["drop", token]:
                    agents.pop(token, None)
    if not agents:
        return 0
    try:
        descendants.end_many(tuple(agents), grace_seconds=GRACE_SECONDS, known=tuple(agents.values()))
    except ProcessError:
        return 1  # Bridle is gone: there is nobody to tell
    return 0


if __name__ == "__main__":
    sys.exit(main())
