"""Attack: a repository that someone sent as an archive, whose `.git/config` names a program as a filter.

The sender wants it to run when `bridle-agent` starts there, in any mode: the agent reads `git status` for its prompt.
Programs that the configuration of the repository, or of one inside it, names are replaced before.

With the sandbox: the same; no program of the repository is started.
Without: no program of the repository is started.
Reported: not at all; nothing has happened.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from bridle.agent.prompt.git_status import read_git_status
from tests.attacks.fixtures.agent_calls import git


def test_no_program_of_the_repository_is_started(tmp_path: Path) -> None:
    work, ran = tmp_path / "work", tmp_path / "ran"
    (work / "inner").mkdir(parents=True)
    program = f"sh -c 'touch {ran}; cat'"
    for folder, name in ((work / "inner", "a"), (work, "b")):
        git(folder, "init", "-q")
        (folder / "f.txt").write_text("x\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "one")
        git(folder, "config", f"filter.{name}.clean", program)
        git(folder, "config", "core.fsmonitor", program)
        (folder / ".git" / "info" / "attributes").write_text(f"* filter={name}\n")
        (folder / "f.txt").write_text("y\n")
        os.utime(folder / "f.txt", (1, 1))
    found = asyncio.run(read_git_status(work, work, os.environ))
    assert found.status is not None
    assert "f.txt" in found.status
    assert "one" in (found.commits or "")
    assert not ran.exists()
