"""Attack: send the argument by which the permission check hands its path to a tool.

The attacker wants to choose what is opened after another path was judged. It gains nothing: the argument is refused,
and would be replaced.

With the sandbox: the same; the agent judges its own calls.
Without: denied, or approval is needed.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.agent_calls import SECRET, AgentCalls


def test_a_model_cannot_choose_the_opened_path(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "plain.txt").write_text("harmless")
    (tmp_path / "work" / "secret.txt").write_text(SECRET)
    agent = AgentCalls(tmp_path / "work", deny=("Read(secret.txt)",))
    secret = str(tmp_path / "work" / "secret.txt")
    assert SECRET not in agent.call("Read", file_path="plain.txt", resolved=secret)
    assert SECRET not in agent.call("Grep", pattern=".", path="plain.txt", output_mode="content", resolved=secret)
