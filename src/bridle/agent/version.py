"""The version of the protocol that is spoken, and what `--version` says; for what must start in milliseconds."""

from __future__ import annotations

# In `init` and in transcripts. Programs refuse versions before 2.0.76.
PROTOCOL_VERSION = "2.1.197"


def version() -> str:
    """What programs look for, and then which program this is."""
    from bridle import __version__

    return f"{PROTOCOL_VERSION} (bridle-agent {__version__}, speaking this version of the Claude Code protocol)"
