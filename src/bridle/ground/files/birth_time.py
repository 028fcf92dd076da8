"""When a file or folder was made. Unlike its other times, its owner cannot set this one."""

from __future__ import annotations

import os
import sys

# Of linux/stat.h: the flag of the birth time in the mask, and where the mask and the time are in a struct statx.
_BIRTH_TIME = 0x800
_STRUCT_BYTES = 256
_TIME_OFFSET = 80
_AT_FDCWD = -100


def birth_time_ns(path: str) -> int | None:
    """Return when a file or folder was made, in nanoseconds since the epoch; None where the system does not say."""
    if sys.platform != "linux":
        return None
    import ctypes  # late: few commands need it

    buffer = (ctypes.c_char * _STRUCT_BYTES)()
    try:
        statx = ctypes.CDLL(None).statx
    except AttributeError:  # a C library without it
        return None
    if statx(_AT_FDCWD, os.fsencode(path), 0, _BIRTH_TIME, buffer) != 0:
        return None
    data = bytes(buffer)
    if not int.from_bytes(data[:4], sys.byteorder) & _BIRTH_TIME:
        return None
    seconds = int.from_bytes(data[_TIME_OFFSET : _TIME_OFFSET + 8], sys.byteorder, signed=True)
    return seconds * 10**9 + int.from_bytes(data[_TIME_OFFSET + 8 : _TIME_OFFSET + 12], sys.byteorder)
