"""The hosts that Bridle knows; each one's module is imported when it is asked for."""

from __future__ import annotations

from bridle.ground.light.abc_names import Mapping
from bridle.hosts.adapters.adapter import Adapter

# In the order in which they are looked for: the variables of the first are its own, while those of the second may have
# been exported by any host.
NAMES = ("codex", "claude-code")
NULL = "none"


def by_name(name: str) -> Adapter | None:
    """The adapter of that name; None for a host that is not known."""
    if name == "claude-code":
        from bridle.hosts.adapters.claude_code import adapter as claude_code

        return claude_code
    if name == "codex":
        from bridle.hosts.adapters.codex import adapter as codex

        return codex
    return null() if name == NULL else None


def detect(environ: Mapping[str, str]) -> Adapter:
    """The host that we seem to run inside; the null adapter where there is none."""
    adapters = (by_name(name) for name in NAMES)
    return next((adapter for adapter in adapters if adapter is not None and adapter.is_active(environ)), null())


def null() -> Adapter:
    """The adapter for no host at all."""
    from bridle.hosts.adapters.null import adapter

    return adapter
