"""The table of known hosts. A host's module is imported on first use, which keeps hooks light."""

from __future__ import annotations

from bridle.ground.light.abc_names import Mapping
from bridle.hosts.adapters.adapter import Adapter

# In order of detection: only Codex sets the variables of Codex, but any host may export those of Claude Code.
NAMES = ("codex", "claude-code")

NO_HOST = Adapter("none", holds_sessions=False)


def by_name(name: str) -> Adapter | None:
    """Return the adapter of that name; None for an unknown host."""
    if name == "claude-code":
        from bridle.hosts.adapters.claude_code import adapter as claude_code

        return claude_code
    if name == "codex":
        from bridle.hosts.adapters.codex import adapter as codex

        return codex
    return NO_HOST if name == NO_HOST.name else None


def detect(environ: Mapping[str, str]) -> Adapter:
    """Return the adapter of the host that this process runs inside, else `NO_HOST`."""
    adapters = (by_name(name) for name in NAMES)
    return next((adapter for adapter in adapters if adapter is not None and adapter.is_active(environ)), NO_HOST)
