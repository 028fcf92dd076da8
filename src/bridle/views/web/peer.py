"""The sender of a request: the user, another user of the machine, or an agent or a check of a run.

It is found by the other end of the connection, on Linux, for each request: a port number is used again by another
process.
"""

from __future__ import annotations

import os
import sys
from enum import Enum

from bridle.ground.descendants.enclosing_agent import is_process_inside_agent
from bridle.ground.descendants.socket_owner import SocketEnd, find_end, find_owners
from bridle.ground.threads import in_thread

End = tuple[str, int] | None
_ROOT = 0


class Sender(Enum):
    """The sender of a request."""

    USER = "user"
    """Also where it cannot be found out: on other systems, or from outside of this machine through a proxy."""
    OTHER_USER = "another user"
    AGENT = "agent"
    """An agent or a check."""
    GONE = "gone"
    """The client has closed the connection, so that its process is not known."""


async def find_sender(client: End, server: End, *, among_processes: bool) -> Sender:
    """Return the sender of a request; agents, and clients that have gone, are looked for `among_processes` only."""
    if sys.platform != "linux" or client is None or server is None:
        return Sender.USER
    theirs, ours = (client[0], client[1]), (server[0], server[1])
    return await in_thread(
        lambda: _find_sender(theirs, ours, among_processes=among_processes), name="looking for the client"
    )


def _find_sender(theirs: tuple[str, int], ours: tuple[str, int], *, among_processes: bool) -> Sender:
    end = find_end(theirs, ours)
    if end is not None and end.user not in (os.geteuid(), _ROOT):
        return Sender.OTHER_USER
    if not among_processes:
        return Sender.USER
    own = find_end(ours, theirs)
    if own is None or not own.is_established or (end is not None and not end.is_established):
        return Sender.GONE
    return Sender.AGENT if end is not None and _is_held_by_agent(end) else Sender.USER


def _is_held_by_agent(end: SocketEnd) -> bool:
    """Return whether an agent holds a socket, or may hold one that no known process holds."""
    owners = find_owners(end.inode)
    return any(map(is_process_inside_agent, owners.known or owners.possible))
