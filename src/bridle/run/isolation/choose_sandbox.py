"""Choose the sandbox of this machine by the user's mode; refuse one that was named and cannot be used."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bridle.errors import UsageError
from bridle.ground import git_folder, program_path
from bridle.run.isolation import bubblewrap, seatbelt
from bridle.run.isolation.sandbox_rules import AUTO, BWRAP, NETWORK_NONE, OFF, SEATBELT, ChosenSandbox, SandboxRules

VARIABLE = "BRIDLE_SANDBOX"

# How to get a sandbox.
REMEDIES = {
    BWRAP: "Install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`) and allow user namespaces.",
    SEATBELT: "It is a part of macOS: use it there.",
}


def choose_sandbox(rules: SandboxRules, environment: Mapping[str, str], folder: Path | None = None) -> ChosenSandbox:
    """Return the sandbox for agents and checks; raise UsageError where the named one cannot be used.

    They work in the folder, by default the current one: what they can write is not searched for programs.
    """
    program_path.add_writable(os.path.expanduser(path) for path in rules.writable)
    if rules.mode == OFF:
        return ChosenSandbox(reason="it is off", rules=rules)
    name = sandbox_of_this_system() if rules.mode == AUTO else rules.mode
    program, failure = find_sandbox(name, environment, folder or Path.cwd(), has_network=rules.network != NETWORK_NONE)
    if failure is None:
        return ChosenSandbox(name, program, rules=rules)
    if rules.mode == AUTO:
        return ChosenSandbox(reason=failure, rules=rules)
    raise UsageError(
        f"the sandbox {name} cannot be used: {failure}",
        remedy=f"{REMEDIES[name]} Or use --sandbox auto: then agents run without a sandbox if none works.",
    )


def check_owner(chosen: ChosenSandbox, folder: Path) -> None:
    """Raise UsageError for root in a folder that only another user can write: in the sandbox root has no such right."""
    if chosen.name != BWRAP or os.geteuid() != 0 or not os.path.isdir(folder):
        return  # a folder that is missing is reported where the program is started
    top = git_folder.repository_top(Path(os.path.realpath(folder))) or folder
    state = os.stat(top)
    is_writable = state.st_mode & stat.S_IWOTH or (state.st_mode & stat.S_IWGRP and state.st_gid in os.getgroups())
    if state.st_uid != 0 and not is_writable:
        raise UsageError(
            f"the sandbox cannot be used: {top} belongs to the user {state.st_uid}, and root cannot write to it there",
            remedy=f"Run as that user, or run: chown -R 0:0 {shlex.quote(str(top))}; or use --sandbox off.",
        )


def find_sandbox(
    name: str, environment: Mapping[str, str], folder: Path, *, has_network: bool = True
) -> tuple[str | None, str | None]:
    """Return the program of a sandbox and, where it does not work on this machine, why."""
    if name == SEATBELT:
        return seatbelt.PROGRAM, _probe_seatbelt()
    if sys.platform != "linux":
        return None, "it exists only on Linux"
    failure: str | None = "bwrap was not found"
    for program in bubblewrap.find_programs(environment, folder):
        failure = bubblewrap.probe(program, has_network=has_network).failure
        if failure is None:
            return program, None
    return None, failure


def sandbox_of_this_system() -> str:
    """Return the sandbox that `auto` means."""
    return SEATBELT if sys.platform == "darwin" else BWRAP


def _probe_seatbelt() -> str | None:
    if not os.access(seatbelt.PROGRAM, os.X_OK):
        return "sandbox-exec was not found"
    command = [seatbelt.PROGRAM, "-p", "(version 1)(allow default)", "/usr/bin/true"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=bubblewrap.PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.decode("utf-8", "replace").strip() or "sandbox-exec failed"
