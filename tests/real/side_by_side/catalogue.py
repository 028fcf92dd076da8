"""Every scenario, by its name."""

from __future__ import annotations

from tests.real.side_by_side.scenario import Scenario
from tests.real.side_by_side.scenarios import (
    command_lines,
    context,
    controls,
    dialogues,
    endings,
    flags,
    held_back,
    histories,
    hooks,
    hosts,
    limits,
    mcp,
    models,
    permissions,
    plugins,
    replays,
    sessions,
    sources,
    structured,
    subagents,
    tools,
    trouble,
    usage,
    web_search,
    words,
)

GROUPS = (
    words,
    tools,
    permissions,
    limits,
    trouble,
    structured,
    dialogues,
    sessions,
    models,
    context,
    usage,
    endings,
    histories,
    hooks,
    hosts,
    held_back,
    subagents,
    mcp,
    command_lines,
    replays,
    flags,
    sources,
    controls,
    web_search,
    plugins,
)


def scenarios() -> dict[str, Scenario]:
    """All of them; a name that is used twice is a mistake."""
    found: dict[str, Scenario] = {}
    for scenario in (scenario for group in GROUPS for scenario in group.SCENARIOS):
        if scenario.name in found:
            raise ValueError(f"two scenarios are called {scenario.name!r}")
        found[scenario.name] = scenario
    return found
