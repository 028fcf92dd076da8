"""Attack: name the denied file by a pattern or in quotes.

The attacker wants the content of `.env` as `.e*`, `.[e]nv` or `.e""nv`. Patterns are expanded and quotes removed
before a word is judged. In a mode that asks, braces and variables need approval; where permissions are bypassed a name
that the shell computes is not known, and this is not prevented.

With the sandbox: the same; the agent judges its own calls.
Without: denied, or approval is needed; with bypassed permissions a computed name is not known.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import SECRET, AgentCalls


@pytest.mark.parametrize(
    "word", [".e*", ".[e]nv", ".en?", './.e"n"v', ".e\\nv", "'.env'", '"$PWD"/.env', "~/../project/.env"]
)
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_a_pattern_does_not_show_a_denied_file(
    tmp_path: Path, word: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project" / ".env").write_text(SECRET)
    agent = AgentCalls(tmp_path / "project", "Bash(cat *)", mode=mode, deny=("Read(.env)",))
    assert SECRET not in agent.bash(f"cat {word}")


@pytest.mark.parametrize("command", ["cat .{env,x}", "F=env; cat .$F", "cat $(printf .e)nv"])
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "dontAsk", "plan"])
def test_a_computed_name_needs_approval(tmp_path: Path, command: str, mode: str) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".env").write_text(SECRET)
    agent = AgentCalls(tmp_path / "project", "Bash(cat *)", mode=mode, deny=("Read(.env)",))
    assert agent.refused("Bash", command=command)
