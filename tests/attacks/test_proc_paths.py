"""Attack: name a denied file through `/proc/self/root`, `/proc/self/cwd` or an open descriptor.

The attacker wants a path that no rule matches. It gains nothing: such a path is resolved before it is judged.

With the sandbox: the same; the agent judges its own calls.
Without: denied, or approval is needed.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import SECRET, AgentCalls

DENY = ("Read(secret.txt)", "Edit(secret.txt)")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "secret.txt").write_text(SECRET)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.mark.parametrize(
    "start", ["/proc/self/root{}", "/proc/self/cwd", "/proc/thread-self/root{}", "/proc/1/../self/cwd"]
)
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_a_path_through_proc_is_judged_by_where_it_leads(work: Path, start: str, mode: str) -> None:
    agent = AgentCalls(work, mode=mode, deny=DENY)
    folder = start.format(work)
    assert agent.refused("Read", file_path=f"{folder}/secret.txt")
    assert agent.refused("Write", file_path=f"{folder}/secret.txt", content="x")
    assert SECRET not in agent.call("Grep", pattern="secret", path=folder, output_mode="content")
    assert "secret.txt" not in agent.call("Glob", pattern="*", path=folder)
    assert agent.refused("Bash", command=f"cat {folder}/secret.txt")


@pytest.mark.parametrize(
    "start",
    [
        "/proc/self/cwd",
        "//proc/self/cwd",
        "/./proc//self/cwd/.",
        "/proc/thread-self/cwd",
        "/proc/self/task/../cwd",
        "/dev/fd/../cwd",
        "/proc/self/root{}",
        "/proc/s*lf/cwd",
    ],
)
@pytest.mark.parametrize("command", ["cat {}/secret.txt", "cat < {}/secret.txt", "grep -r '' {}/", "cat {}/sec*"])
def test_a_command_is_judged_by_its_own_folder_and_not_that_of_the_agent(
    work: Path, start: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    agent = AgentCalls(work, mode="bypassPermissions", deny=DENY)
    assert SECRET not in agent.bash(command.format(start.format(work)))


@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd"])
def test_a_descriptor_is_judged_by_its_file(work: Path, folder: str) -> None:
    fd = os.open(work / "secret.txt", os.O_RDONLY)
    try:
        assert AgentCalls(work, mode="bypassPermissions", deny=DENY).refused("Read", file_path=f"{folder}/{fd}")
    finally:
        os.close(fd)
