"""Attack: write a file in plan mode, with the rules that the user has for other modes.

The attacker wants to act while the user expects a plan. In plan mode only commands that certainly just read run.

With the sandbox: the same; the agent judges its own calls.
Without: denied, or approval is needed.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import AgentCalls

RULES = (
    "Bash",
    "Bash(touch *)",
    "Bash(sort *)",
    "Bash(git *)",
    "Edit",
    "Write",
    "Edit(**)",
    "Write(new)",
    "NotebookEdit",
)


@pytest.mark.parametrize(
    "command",
    [
        "touch new",
        "echo x > new",
        "cat a >> new",
        "sort -o new a",
        "git init new",
        "cat a | tee new",
        "mkdir new",
        "cp a new",
        "bash -c 'touch new'",
        "find . -fprint new",
        'python3 -c \'open("new", "w")\'',
    ],
)
def test_no_command_writes_in_plan_mode(tmp_path: Path, command: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_text("x\n")
    agent = AgentCalls(tmp_path / "work", *RULES, mode="plan")
    assert agent.refused("Bash", command=command)
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["a"]


def test_no_file_tool_writes_in_plan_mode(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    agent = AgentCalls(tmp_path / "work", *RULES, mode="plan")
    assert agent.refused("Write", file_path="new", content="x")
    assert agent.refused("Edit", file_path="new", old_string="", new_string="x")
    assert agent.refused("NotebookEdit", notebook_path="new.ipynb", new_source="x")
    assert list((tmp_path / "work").iterdir()) == []


def test_reading_is_possible_in_plan_mode(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_text("text\n")
    assert "text" in AgentCalls(tmp_path / "work", mode="plan").bash("cat a | sort")
