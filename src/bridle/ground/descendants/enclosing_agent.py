"""Find out whether this process was started by an agent or a check that Bridle runs."""

from __future__ import annotations

import os
import sys
import time

from bridle.ground import ids
from bridle.ground.descendants import proc_files
from bridle.ground.light.abc_names import Mapping

# The names of supervisors: of an agent or a check, and of a child that acts for the user.
SUPERVISOR_NAME = "bridle-super"
USER_SUPERVISOR_NAME = "bridle-user"


def is_inside_agent(environment: Mapping[str, str]) -> bool:
    """Return whether an agent or a check is above this process.

    Its token is in the environment, or was in that of a process above when it started. An orphan's parent is the
    supervisor of the agent, so a process that has left its session and its environment is found by that name.
    """
    if _is_agents(proc_files.split_tokens(environment.get(proc_files.TOKEN_VARIABLE, ""))):
        return True
    above = _processes_above() if sys.platform == "linux" else _processes_above_portably()
    return any(name == SUPERVISOR_NAME or _is_agents(tokens) for name, tokens in above)


def is_process_inside_agent(pid: int) -> bool:
    """Return whether a process is an agent or a check, or has one above it. Linux only; elsewhere False."""
    if sys.platform != "linux":
        return False
    return any(name == SUPERVISOR_NAME or _is_agents(tokens) for name, tokens in _processes_from(pid))


def agent_started_ns() -> int | None:
    """Return when the innermost agent or check above this process started, in nanoseconds since the epoch.

    None where no process above shows it. An agent can make it later than it is, by a token or a supervisor of its own,
    but not earlier: the newest of all agents above counts, and each by the oldest process that has its token.
    """
    if sys.platform != "linux":
        return None
    supervisors: list[int] = []
    agents: dict[str, int] = {}
    pid = os.getppid()
    while pid and (stat := proc_files.read_stat(pid)) is not None:
        ticks = int(stat[proc_files.STARTED])
        if stat[proc_files.NAME].decode("utf-8", "replace") == SUPERVISOR_NAME:
            supervisors.append(ticks)
        if tokens := _of_agents(proc_files.read_tokens(pid) or ()):
            agents[tokens[-1]] = min(ticks, agents.get(tokens[-1], ticks))
        pid = int(stat[proc_files.PARENT])
    if not supervisors and not agents:
        return None
    since_boot_ns = max(*supervisors, *agents.values(), 0) * 10**9 // os.sysconf("SC_CLK_TCK")
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) + since_boot_ns


def _is_agents(tokens: tuple[str, ...]) -> bool:
    return bool(_of_agents(tokens))


def _of_agents(tokens: tuple[str, ...]) -> list[str]:
    return [token for token in tokens if token and not token.startswith(ids.USER_PREFIX)]


def _processes_above() -> list[tuple[str, tuple[str, ...]]]:
    """Return the names of the processes above this one, and the tokens that they started with."""
    return _processes_from(os.getppid())


def _processes_from(pid: int) -> list[tuple[str, tuple[str, ...]]]:
    """Return the same for a process and those above it."""
    found: list[tuple[str, tuple[str, ...]]] = []
    while pid and (stat := proc_files.read_stat(pid)) is not None:
        name = stat[proc_files.NAME].decode("utf-8", "replace")
        found.append((name, proc_files.read_tokens(pid) or ()))
        pid = int(stat[proc_files.PARENT])
    return found


def _processes_above_portably() -> list[tuple[str, tuple[str, ...]]]:
    from bridle.ground.descendants import census

    found: list[tuple[str, tuple[str, ...]]] = []
    everything, pid = census.take(), os.getppid()
    while (entry := everything.pop(pid, None)) is not None:
        found.append((entry.name, entry.tokens))
        pid = entry.parent
    return found
