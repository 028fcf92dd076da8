"""Find the user and the processes at the other end of a TCP connection on this machine. Linux only."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

Address = tuple[str, int]

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
# Words of a line in such a table.
_LOCAL, _REMOTE, _STATE, _USER, _INODE = 1, 2, 3, 7, 9
_ESTABLISHED = "01"


class SocketEnd(NamedTuple):
    """One end of a connection."""

    is_established: bool
    """Whether both ends are open."""
    user: int
    inode: str
    """"0" if no process holds it any more."""


class Owners(NamedTuple):
    """The processes that hold a socket, and those that may: their files cannot be listed."""

    known: list[int]
    possible: list[int]


def find_end(local: Address, remote: Address) -> SocketEnd | None:
    """Return the end `local` of a connection to `remote`; None if it is not on this machine, or has gone."""
    ends = _forms(*local), _forms(*remote)
    for words in _lines():
        if words[_LOCAL] in ends[0] and words[_REMOTE] in ends[1]:
            return SocketEnd(words[_STATE] == _ESTABLISHED, int(words[_USER]), words[_INODE])
    return None


def find_owners(inode: str) -> Owners:
    """Return the processes that hold a socket."""
    owners, wanted = Owners([], []), f"socket:[{inode}]"
    for name in os.listdir("/proc"):
        if name.isdigit():
            holds = _holds(name, wanted)
            if holds is not False:
                (owners.possible if holds is None else owners.known).append(int(name))
    return owners


def _lines() -> Iterator[list[str]]:
    for table in _TABLES:
        try:
            with open(table, encoding="ascii") as file:
                yield from (line.split() for line in file.read().splitlines()[1:])
        except OSError:
            continue


def _forms(host: str, port: int) -> tuple[str, ...]:
    """Return how the kernel writes an address: as IPv4, and as IPv4 in IPv6, or as IPv6."""
    if ":" in host:
        return (f"{_words(socket.inet_pton(socket.AF_INET6, host))}:{port:04X}",)
    plain = socket.inet_pton(socket.AF_INET, host)
    mapped = bytes(10) + bytes([255, 255]) + plain
    return (f"{_words(plain)}:{port:04X}", f"{_words(mapped)}:{port:04X}")


def _words(address: bytes) -> str:
    """Return an address as the kernel prints it: words of 32 bits in the byte order of the machine."""
    return "".join(f"{word:08X}" for word in struct.unpack(f"={len(address) // 4}I", address))


def _holds(pid: str, wanted: str) -> bool | None:
    """Return whether a process holds a file; None if its files cannot be listed."""
    folder = f"/proc/{pid}/fd"
    try:
        return any(_target(f"{folder}/{name}") == wanted for name in os.listdir(folder))
    except PermissionError:
        return None
    except OSError:
        return False  # it has ended


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""  # closed since
