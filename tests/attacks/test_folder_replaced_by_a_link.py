"""Attack: replace a folder of the path by a link after the permission check.

The attacker wants a file outside of the working folders, or to write one there. It gets an error: no component of a
checked path is followed if it is a link when the path is opened.

With the sandbox: the same; the agent judges its own calls.
Without: nothing is read or written through the link.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import SECRET, AgentCalls


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (tmp_path / "outside" / "deep" / "file").write_text(SECRET)
    (tmp_path / "work" / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "work" / "sub" / "deep" / "file").write_text("harmless")
    return tmp_path / "work"


def replace_folder(work: Path) -> None:
    os.rename(work / "sub", work / "moved")
    (work / "sub").symlink_to("../outside")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"file_path": "sub/deep/file"}),
        ("Grep", {"pattern": ".", "path": "sub/deep", "output_mode": "content"}),
        ("Grep", {"pattern": ".", "path": "sub/deep/file", "output_mode": "content"}),
        ("Glob", {"pattern": "*", "path": "sub/deep"}),
        ("Glob", {"pattern": "@/sub/deep/*"}),
    ],
)
def test_nothing_is_read_through_the_new_link(work: Path, tool: str, arguments: dict[str, str]) -> None:
    given = {name: value.replace("@", str(work)) for name, value in arguments.items()}
    agent = AgentCalls(work, after_check=lambda: replace_folder(work))
    assert agent.call(tool, **given).startswith("ELOOP")


def test_nothing_is_written_through_the_new_link(work: Path) -> None:
    agent = AgentCalls(work, mode="acceptEdits", after_check=lambda: replace_folder(work))
    agent.call("Write", file_path="sub/deep/new", content="x")
    agent = AgentCalls(work, mode="acceptEdits")
    agent.call("Write", file_path="sub/other/new", content="x")
    assert sorted(path.name for path in (work.parent / "outside").rglob("*")) == ["deep", "file"]
