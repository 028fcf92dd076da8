"""Attack: run a program through an option of git, with a rule for one subcommand.

The attacker wants to run any program with `Bash(git grep *)`, by `-O`, which names the pager. It needs approval.

With the sandbox: the same; the agent judges its own calls.
Without: denied, or approval is needed.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import AgentCalls, git


@pytest.mark.parametrize(
    "command", ["git grep -O./run x", "git grep --open-files-in-pager=./run x", "git grep -lO./run x"]
)
def test_a_rule_for_git_grep_runs_no_pager(tmp_path: Path, command: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "run").write_text("#!/bin/sh\ntouch ran\n")
    (work / "run").chmod(0o700)
    git(work, "init", "-q")
    git(work, "add", "-A")
    assert AgentCalls(work, "Bash(git grep *)").refused("Bash", command=command)
    assert not (work / "ran").exists()
