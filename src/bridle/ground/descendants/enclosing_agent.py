"""Find out whether this process was started by an agent or a check that Bridle runs."""

from __future__ import annotations

import os
import sys

from bridle.ground import ids
from bridle.ground.descendants import census, supervisor
from bridle.ground.light.abc_names import Mapping


def is_inside_agent(environment: Mapping[str, str]) -> bool:
    """Return whether an agent or a check is above this process.

    Its token is in the environment, or was in that of a process above when it started. An orphan's parent is the
    supervisor of the agent, so a process that has left its session and its environment is found by that name.
    """
    if _is_agents(census.split_tokens(environment.get(census.TOKEN_VARIABLE, ""))):
        return True
    return any(name == supervisor.NAME or _is_agents(tokens) for name, tokens in _processes_above())


def _is_agents(tokens: tuple[str, ...]) -> bool:
    return any(token and not token.startswith(ids.USER_PREFIX) for token in tokens)


def _processes_above() -> list[tuple[str, tuple[str, ...]]]:
    """Return the names of the processes above this one, and the tokens that they started with."""
    found: list[tuple[str, tuple[str, ...]]] = []
    everything = {} if sys.platform == "linux" else census.take()
    pid, seen = os.getppid(), {0, os.getpid()}
    while pid not in seen:
        seen.add(pid)
        entry = everything.get(pid) or census.find_process(pid)
        if entry is None:
            break
        tokens = census.read_tokens(pid) if sys.platform == "linux" else entry.tokens
        found.append((entry.name, tokens or ()))
        pid = entry.parent
    return found
