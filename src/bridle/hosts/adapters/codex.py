"""Codex as a host; its sessions are threads.

Codex has no file for exports and sets its own variable for each command. Its transcript has another format, so the
last message is read from the payload, which always contains it.
"""

from __future__ import annotations

from bridle.hosts.adapters.adapter import Adapter

adapter = Adapter(
    "codex",
    detection_variables=("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_PLUGIN_ROOT"),
    session_variables=("CODEX_THREAD_ID", "CODEX_SESSION_ID", "AGENT_SESSION_ID", "BABYSITTER_SESSION_ID"),
    plugin_variables=("CODEX_PLUGIN_ROOT",),
    reads_transcript=False,
)
