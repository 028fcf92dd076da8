"""A seccomp filter for sandboxed programs: no system calls for the kernel's keyrings, which no namespace separates."""

from __future__ import annotations

import errno
import struct

# By the number that the kernel has for an architecture: `add_key`, after which come `request_key` and `keyctl`.
_ADD_KEY = {
    0xC000003E: 248,  # x86-64
    0x40000003: 286,  # i386
    0xC00000B7: 217,  # ARM, 64 bits
    0x40000028: 309,  # ARM, 32 bits
    0xC00000F3: 217,  # RISC-V, 64 bits
}
# On x86-64 a call with this bit is the same one, of the x32 ABI.
_WITHOUT_X32 = 0xFFFFFFFF ^ 0x40000000

# Offsets in `struct seccomp_data`, and instructions of classic BPF.
_NUMBER, _ARCHITECTURE = 0, 4
_LOAD, _AND, _IF_EQUAL, _IF_GREATER, _IF_NOT_LESS, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.ENOSYS


def without_keyrings() -> bytes:
    """Return the filter, as the kernel reads it: these calls fail as in a kernel without keyrings."""
    program = [_instruction(_LOAD, _ARCHITECTURE)]
    for architecture, first in _ADD_KEY.items():
        program += [
            _instruction(_IF_EQUAL, architecture, no=6),
            _instruction(_LOAD, _NUMBER),
            _instruction(_AND, _WITHOUT_X32),
            _instruction(_IF_NOT_LESS, first, no=2),
            _instruction(_IF_GREATER, first + 2, yes=1),
            _instruction(_RETURN, _REFUSE),
            _instruction(_RETURN, _ALLOW),
        ]
    return b"".join([*program, _instruction(_RETURN, _ALLOW)])


def _instruction(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Return one instruction; `yes` and `no` are how many instructions a comparison skips."""
    return struct.pack("=HBBI", code, yes, no, value)
