"""Attack: make a tool wait forever, or read without end, on a pipe, a device or a socket.

The attacker wants to stop the run. Every tool returns an error at once.

With the sandbox: the same; the agent judges its own calls.
Without: an error at once.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import AgentCalls

FOUND = {
    "Read": "would block",
    "Write": "is a pipe, a socket or a device",
    "Grep": "is a pipe, a socket or a device",
    "Glob": "is not a directory",
}


@pytest.mark.parametrize("name", ["pipe", "socket", "/dev/zero", "/dev/tty"])
@pytest.mark.parametrize(
    ("tool", "argument"), [("Read", "file_path"), ("Write", "file_path"), ("Grep", "path"), ("Glob", "path")]
)
def test_no_tool_waits_for_a_special_file(tmp_path: Path, name: str, tool: str, argument: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    os.mkfifo(work / "pipe")
    more = {"Write": {"content": "x"}, "Grep": {"pattern": "x"}, "Glob": {"pattern": "*"}}.get(tool, {})
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(work)  # the path of a socket has a short limit
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        agent = AgentCalls(work, mode="bypassPermissions")
        answer = agent.finished(tool, **{argument: name}, **more).answer
    assert answer.is_error
    if name == "pipe":  # found by its kind, not by an error of the system
        assert FOUND[tool] in str(answer.content)


def test_a_search_skips_pipes_below_its_folder(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    os.mkfifo(tmp_path / "work" / "pipe")
    (tmp_path / "work" / "file").write_text("x\n")
    assert AgentCalls(tmp_path / "work").call("Grep", pattern="x", output_mode="content") == "file:1:x"
