"""Attack: write a denied path with slashes and dots that change its text and not its meaning.

The attacker wants a spelling that the rule does not match. It gains nothing: the resolved path is compared.

With the sandbox: the same; the agent judges its own calls.
Without: denied, or approval is needed.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import SECRET, AgentCalls

SPELLINGS = ("secret.txt/", "./secret.txt", "sub/../secret.txt", "sub//..//./secret.txt/.", "missing/../secret.txt")


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_every_spelling_of_a_denied_path_is_denied(tmp_path: Path, spelling: str, mode: str) -> None:
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "work" / "secret.txt").write_text(SECRET)
    agent = AgentCalls(tmp_path / "work", mode=mode, deny=("Read(secret.txt)", "Edit(secret.txt)"))
    assert agent.refused("Read", file_path=spelling)
    assert agent.refused("Edit", file_path=spelling, old_string="a", new_string="b")
    assert SECRET not in agent.call("Grep", pattern="secret", path=spelling, output_mode="content")
    assert agent.refused("Bash", command=f"cat {spelling}")
