"""The protocol version and the output of `--version`. Imported at every start: keep it light."""

from __future__ import annotations

# Shown in `init` and in transcripts. Some clients refuse versions before 2.0.76.
PROTOCOL_VERSION = "2.1.197"


def version() -> str:
    """Return the output of `--version`: first what clients parse, then the name of this program."""
    from bridle import __version__

    return f"{PROTOCOL_VERSION} (bridle-agent {__version__}, speaking this version of the Claude Code protocol)"
