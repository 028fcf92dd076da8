"""Which tools a model is offered: the flag, the rules, and what stands in for what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bridle.agent.permissions.rules.syntax import Rule, canonical, names_tool

# Offered only when one of them is named in an allow rule, or when the shell that does their work is taken away.
SEARCH_TOOLS: Final = ("Glob", "Grep")
# Offered only where somebody can answer.
HOST_TOOLS: Final = frozenset({"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"})


def offered(
    known: Sequence[str],
    *,
    tools: Sequence[str] | None = None,
    allowed: Iterable[Rule] = (),
    denied: Iterable[Rule] = (),
    has_host: bool = False,
) -> tuple[str, ...]:
    """The names to offer, in the order of `known`.

    `known` are the names of all tools that this program has; `tools` the names of `--tools` (None: not given; empty:
    none at all; `default`: those of a run without the flag). Rules are those of flags and settings together.
    """
    gone = {name for name in known for rule in denied if rule.what is None and names_tool(rule, name)}
    named = {canonical(name) for name in tools or ()}
    if tools is None or list(tools) == ["default"]:
        searches = "Bash" in gone or any(rule.tool in SEARCH_TOOLS for rule in allowed)
        wanted = {name for name in known if searches or name not in SEARCH_TOOLS}
    else:
        wanted = {name for name in known if name in named}
    return tuple(name for name in known if name in wanted and name not in gone and (has_host or name not in HOST_TOOLS))
