"""Whether an agent or a check is above a process: by its token, by a process above, by the agent's supervisor."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from bridle.ground.children.capture import capture
from bridle.ground.descendants.census import TOKEN_VARIABLE
from bridle.ground.descendants.enclosing_agent import is_inside_agent

ASK = (
    f"{sys.executable} -c 'import os, sys; from bridle.ground.descendants.enclosing_agent import is_inside_agent;"
    ' open(sys.argv[1] + ".new", "w").write(str(is_inside_agent(os.environ))); os.rename(sys.argv[1] + ".new", '
    "sys.argv[1])'"
)


def ask(folder: Path, command: str, *, acts_for_user: bool = False) -> str:
    """Return what a process that the command starts says."""
    note = folder / "note"
    script = f"{command.format(ask=f'{ASK} {note}')}; while [ ! -e {note} ]; do sleep 0.01; done"
    environment = {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
    run = capture(
        ("/bin/sh", "-c", script), cwd=folder, environment=environment, limit_seconds=60, acts_for_user=acts_for_user
    )
    captured = asyncio.run(run)
    assert captured.exit_code == 0, captured.stderr
    return note.read_text()


def test_this_test_is_not_inside_an_agent() -> None:
    assert not is_inside_agent({})


@pytest.mark.parametrize("prefix", ["", f"env -u {TOKEN_VARIABLE} ", "env -i ", f"env {TOKEN_VARIABLE}=user-1 setsid "])
def test_a_process_of_an_agent_is_inside_whatever_its_environment(tmp_path: Path, prefix: str) -> None:
    assert ask(tmp_path, f"{prefix}{{ask}}") == "True"


def test_a_hook_acts_for_the_user(tmp_path: Path) -> None:
    assert ask(tmp_path, "{ask}", acts_for_user=True) == "False"


@pytest.mark.parametrize(("acts_for_user", "expected"), [(False, "True"), (True, "False")])
def test_an_orphan_is_found_by_the_supervisor(tmp_path: Path, acts_for_user: bool, expected: str) -> None:
    script = tmp_path / "daemon.sh"
    script.write_text(f"{ASK} {tmp_path / 'note'}\n")
    daemon = f"setsid env -i sh -c 'sh {script} & exit' ; true"
    assert ask(tmp_path, daemon, acts_for_user=acts_for_user) == expected
