"""Codex as a host: its hooks say the same in other circumstances.

It has no file for exports and sets its own variable for every command; its transcript is written in another form, so
that the last message is taken from the payload, which always has it.
"""

from __future__ import annotations

from bridle.hosts.adapters.adapter import Adapter

NAME = "codex"


class Codex(Adapter):
    """Codex, whose sessions are threads."""

    name = NAME
    signs = ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_PLUGIN_ROOT")
    session_variables = ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "AGENT_SESSION_ID", "BABYSITTER_SESSION_ID")
    plugin_variables = ("CODEX_PLUGIN_ROOT",)
    reads_transcript = False
    has_dispatcher = False


adapter = Codex()
