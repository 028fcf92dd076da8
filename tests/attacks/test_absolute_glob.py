"""Attack: list a denied or foreign folder by an absolute pattern, whose folder is not the argument `path`.

The attacker wants the names of files that it may not read. The folder of the pattern is judged like `path`.

With the sandbox: the same; the agent judges its own calls.
Without: denied, or approval is needed.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import AgentCalls


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name in ("work/secrets/inner/id_key", "outside/id_key", "work/src/a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path / "work"


@pytest.mark.parametrize("pattern", ["@/secrets/*", "@/secrets/inner/id_*", "@/src/../secrets/**", "@/**", "@/s*/**"])
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_a_denied_folder_is_not_listed(work: Path, pattern: str, mode: str) -> None:
    agent = AgentCalls(work, mode=mode, deny=("Read(secrets/**)",))
    assert "id_key" not in agent.call("Glob", pattern=pattern.replace("@", str(work)), path="src")


@pytest.mark.parametrize("pattern", ["@/../outside/*", "/**/id_key", "/*"])
def test_a_folder_outside_needs_approval(work: Path, pattern: str) -> None:
    assert AgentCalls(work).refused("Glob", pattern=pattern.replace("@", str(work)), path="src")
