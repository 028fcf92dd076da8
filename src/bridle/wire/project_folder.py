"""The name of the folder in which Claude Code keeps the sessions of a working folder. Pure."""

from __future__ import annotations

import re
import struct

# Longer names are cut, and get a hash.
_LIMIT_UNITS = 200

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def project_folder_name(path: str) -> str:
    """Return the name for the absolute path of a working folder; each UTF-16 code unit counts, as in JavaScript."""
    data = path.encode("utf-16-le", "surrogatepass")
    units = struct.unpack(f"<{len(data) // 2}H", data)
    name = re.sub(r"[^A-Za-z0-9]", "-", "".join(map(chr, units)))
    return name if len(name) <= _LIMIT_UNITS else f"{name[:_LIMIT_UNITS]}-{_hash(units)}"


def _hash(units: tuple[int, ...]) -> str:
    number = 0
    for unit in units:
        number = ((number << 5) - number + unit) & 0xFFFFFFFF
    number = abs(number - 0x100000000 if number >= 0x80000000 else number)
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
    return digits or "0"
