"""Attack: a path with `~` that the check and the tool take from different variables.

The attacker sets HOME, for instance by a setting, so that `~/x` is judged in one folder and opened in another. It
gets the judged path. `~user` is not expanded: it is a name in the working folder.

With the sandbox: the same; the agent judges its own calls.
Without: the judged path is opened.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import SECRET, AgentCalls


def test_the_judged_home_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes").write_text(SECRET)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "notes").write_text("harmless")
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    agent = AgentCalls(tmp_path / "work", "Read(~/notes)")
    assert "harmless" in agent.call("Read", file_path="~/notes")


def test_a_user_name_is_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    agent = AgentCalls(tmp_path / "work", mode="bypassPermissions", deny=("Read(//root/**)", "Read(//etc/**)"))
    assert "File does not exist" in agent.call("Read", file_path="~root/.bashrc")
