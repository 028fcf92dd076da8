"""The session that the command line asks for."""

from __future__ import annotations

import msgspec


class SessionRequest(msgspec.Struct, frozen=True):
    """Which session a run continues, and whether it is kept."""

    session_id: str | None = None
    resume: str | None = None
    """The id or the title of the session to resume."""
    continues: bool = False
    """Whether to resume the newest session of the folder."""
    forks: bool = False
    resume_at: str | None = None
    """The id of the last line of the resumed conversation to keep."""
    name: str | None = None
    persists: bool = True
    """Whether a transcript is written."""
