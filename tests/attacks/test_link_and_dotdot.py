"""Attack: read a denied file by a path that goes up from a link, which a check and an open may resolve differently.

The attacker wants `config/key`, which a rule denies. `link/..` is the parent of the link's target for the kernel and
the parent of the link for a text comparison. It gets the file that was judged, which is not the denied one.

With the sandbox: the same; the agent judges its own calls.
Without: the judged file is opened.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import SECRET, AgentCalls

DENY = ("Read(config/**)", "Edit(config/**)")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "config").mkdir(parents=True)
    (work / "config" / "key").write_text(SECRET)
    (work / "far" / "deep").mkdir(parents=True)
    (work / "far" / "config").mkdir()
    (work / "far" / "config" / "key").write_text("harmless")
    (work / "link").symlink_to("far/deep")
    return work


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_reading_up_from_a_link_shows_the_judged_file(work: Path, mode: str) -> None:
    agent = AgentCalls(work, mode=mode, deny=DENY)
    assert "harmless" in agent.call("Read", file_path="link/../config/key")
    assert SECRET not in agent.call("Grep", pattern="the-", path="link/../config", output_mode="content")


def test_writing_up_from_a_link_changes_the_judged_file(work: Path) -> None:
    agent = AgentCalls(work, mode="acceptEdits", deny=DENY)
    agent.call("Write", file_path="link/../config/new", content="x")
    assert not (work / "config" / "new").exists()
    assert (work / "far" / "config" / "new").read_text() == "x"
