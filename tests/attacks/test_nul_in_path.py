"""Attack: a NUL in a path, at which some programs end the name.

The attacker wants `allowed.txt\0` to be judged and something else to be opened. It gets an error from every tool.

With the sandbox: the same; the agent judges its own calls.
Without: an error.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import SECRET, AgentCalls

CALLS = (
    ("Read", {"file_path": "secret.txt\0.png"}),
    ("Write", {"file_path": "new\0", "content": "x"}),
    ("Edit", {"file_path": "secret.txt\0", "old_string": "a", "new_string": "b"}),
    ("NotebookEdit", {"notebook_path": "a\0.ipynb", "new_source": "x"}),
    ("Glob", {"pattern": "*", "path": "sub\0"}),
    ("Glob", {"pattern": "/etc\0/*"}),
    ("Grep", {"pattern": "x", "path": "secret.txt\0"}),
)


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
def test_a_path_with_a_nul_is_an_error(tmp_path: Path, tool: str, arguments: dict[str, str], mode: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "secret.txt").write_text(SECRET)
    finished = AgentCalls(tmp_path / "work", mode=mode).finished(tool, **arguments)
    assert finished.answer.is_error
    assert "internal error" not in str(finished.answer.content), "Python would refuse it only when it opens the file"
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["secret.txt"]
