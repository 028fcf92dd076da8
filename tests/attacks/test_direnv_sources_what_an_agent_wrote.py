"""Attack: an allowed `.envrc` sources a file that an agent can edit, such as `.venv/bin/activate`.

Bridle runs `direnv export` before an agent. The user has allowed the `.envrc`, but not what it sources.

With the sandbox: direnv runs in it, and can do no more than the agent.
Without: possible; the agent itself could do as much.
Reported: where direnv fails in the sandbox, in a line at the start.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from bridle.run.direnv import workspace_variables
from bridle.run.isolation.choose_sandbox import choose_sandbox
from bridle.run.isolation.sandbox_rules import OFF, SandboxRules
from tests.attacks.fixtures.sandboxed import make_target

DIRENV = "#!/bin/sh\n. ./.envrc >&2\necho '{\"NEW\": \"'$NEW'\"}'\n"


def test_it_can_do_no_more_than_the_agent(tmp_path: Path, sandbox: str) -> None:
    target = make_target(tmp_path, sandbox)
    stolen = target.home / "stolen"
    program = tmp_path / "bin/direnv"
    (target.work / ".venv/bin").mkdir(parents=True)
    program.parent.mkdir()
    program.write_text(DIRENV)
    program.chmod(0o755)
    (target.work / ".envrc").write_text(". .venv/bin/activate\n")
    (target.work / ".venv/bin/activate").write_text(f"NEW=1; cat ~/.ssh/id_ed25519 > {stolen}\n")
    environment = {"HOME": str(target.home), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    chosen = choose_sandbox(SandboxRules(sandbox), environment, target.work)
    said: list[str] = []
    assert asyncio.run(workspace_variables(target.work, environment, said.append, chosen)) == {"NEW": "1"}, said
    assert stolen.exists() == (sandbox == OFF)
