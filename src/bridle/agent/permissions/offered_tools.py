"""Chooses the tools that a model is offered, from the flag and the rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bridle.agent.permissions.rules.syntax import Rule, canonical, names_tool

# The value of `--tools` that means the same as no flag.
DEFAULT_CHOICE: Final = ("default",)
# Offered only if an allow rule names one of them, or if Bash, which replaces them, is denied.
SEARCH_TOOLS: Final = ("Glob", "Grep")
# Offered only with a host that can answer.
HOST_TOOLS: Final = frozenset({"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"})


def offered(
    known: Sequence[str],
    *,
    tools: Sequence[str] | None = None,
    allowed: Iterable[Rule] = (),
    denied: Iterable[Rule] = (),
    has_host: bool = False,
) -> tuple[str, ...]:
    """Return the names to offer, in the order of `known`.

    `known` are the names of all tools; `tools` are the names of `--tools` (None: not given; empty: no tools;
    `default`: as without the flag). Rules are those of flags and settings together.
    """
    denied_tools = {name for name in known for rule in denied if rule.specifier is None and names_tool(rule, name)}
    if tools is None or tuple(tools) == DEFAULT_CHOICE:
        searches = "Bash" in denied_tools or any(rule.tool in SEARCH_TOOLS for rule in allowed)
        wanted = {name for name in known if searches or name not in SEARCH_TOOLS}
    else:
        named = {canonical(name) for name in tools}
        wanted = {name for name in known if name in named}
    return tuple(
        name for name in known if name in wanted and name not in denied_tools and (has_host or name not in HOST_TOOLS)
    )
