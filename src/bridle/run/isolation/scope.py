"""What a sandbox hides and what it leaves open, in one line for `bridle doctor` and the receipt."""

from __future__ import annotations

from bridle.run.isolation.sandbox_rules import BWRAP, SEATBELT

_HIDES = "hides keys, logins, the dot files of your home and other homes"
_LEAVES_OPEN = "leaves open the network of agents, all other files for reading, and the working copy with its git refs"
_ON_MACOS = "and processes that leave their group; it was never tried on a Mac"


def describe_scope(name: str) -> str:
    """Return what the sandbox of this name hides and leaves open; empty for none."""
    if name == BWRAP:
        return f"{_HIDES}; {_LEAVES_OPEN}"
    return f"{_HIDES}; {_LEAVES_OPEN}, {_ON_MACOS}" if name == SEATBELT else ""
