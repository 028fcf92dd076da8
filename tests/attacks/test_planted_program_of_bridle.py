"""Attack: an agent puts a `git`, a `bwrap` or a `claude` into a folder of the repository that is on the user's PATH.

An activated `.venv/bin` or `node_modules/.bin` is first on PATH. The programs that Bridle itself starts outside of a
sandbox, and those that its git starts by name, are not searched in the repository, its worktrees, or relative folders.

With the sandbox: not started; an agent's program that is only there is started in the sandbox.
Without: not started; an agent's program that is only there is refused.
Reported: at the start of the run, and by `bridle doctor`.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bridle.cli.doctor import checks as doctor_checks
from bridle.errors import AgentNotFound
from bridle.ground import program_path
from bridle.run.isolation import bubblewrap
from bridle.run.isolation.sandbox_rules import OFF
from bridle.run.locate import find_program
from bridle.workspace.blocking_git import BlockingGit
from bridle.workspace.git import Git
from tests.attacks.fixtures.sandboxed import git, make_target

PROGRAMS = ("git", "git-lfs", "bwrap", "claude", "codex", "node", "direnv", "ssh-keygen", "gpg", "sh", "rg")


def test_it_is_not_started(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    work, canary = target.work, tmp_path / "started"
    git(work, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "third")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(work / ".venv/bin/git")
    (work / "linked").symlink_to(tmp_path / "bin")
    places = [work / ".venv/bin", tmp_path / "other/node_modules/.bin", work / "linked"]
    for name in (f"{place}/{name}" for place in places[:2] for name in PROGRAMS):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{name}' >>'{canary}'\necho 1.2.3\n")
        path.chmod(0o755)
    first = os.pathsep.join(("", ".venv/bin", *map(str, places)))
    environment = {**os.environ, "HOME": str(target.home), "PATH": f"{first}:/usr/bin:/bin"}
    environment.pop("BRIDLE_CLAUDE", None)

    git(work, "config", "filter.lfs.clean", "git-lfs clean -- %f")
    (work / ".gitattributes").write_text("*.bin filter=lfs\n")
    (work / "a.bin").write_text("1\n")
    assert asyncio.run(Git(work, environment).run("add", "a.bin"))[0] == 0
    assert BlockingGit(work / ".venv", environment).run("status")[0] == 0
    assert not [name for name in bubblewrap.find_programs(environment, work) if name.startswith(str(work))]
    assert program_path.find_outside("git", {"PATH": str(tmp_path / "bin")}, work) is None
    assert program_path.outside_path({"PATH": f"{work}/.venv/bin"}, work) == "/nonexistent"
    assert find_program("claude", environment, work).is_inside
    if sandbox == OFF:
        with pytest.raises(AgentNotFound, match="an agent can replace it"):
            find_program("claude", environment, work, is_sandboxed=False)
    else:
        checks = asyncio.run(doctor_checks.check_all(work, work / ".a5c/runs", environment))
        [claude] = [check for check in checks if check.name == "claude"]
        assert "it is started in a sandbox only" in claude.message
    assert not canary.exists(), canary.read_text()
