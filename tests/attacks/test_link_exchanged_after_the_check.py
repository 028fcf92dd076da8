"""Attack: exchange a link between the permission check and the opening of the file.

The attacker wants to read, or to change, a denied file through a link that leads to a harmless one while it is judged.
It gets the harmless file, which the check resolved, or an error; never the denied one.

With the sandbox: the same; the agent judges its own calls.
Without: the judged file is opened, or none.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.attacks.fixtures.agent_calls import SECRET, AgentCalls, flipping

DENY = ("Read(secret*)", "Edit(secret*)")
# Each round is a check and an open while another thread exchanges the link some hundred times.
ROUNDS = 40


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    for name, text in (("secret", SECRET), ("plain", "harmless")):
        (work / f"{name}.txt").write_text(text)
        cells = [{"cell_type": "code", "id": "a", "source": text, "metadata": {}, "outputs": []}]
        (work / f"{name}.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}))
    return work


def exchange(link: Path, target: str) -> None:
    temporary = link.with_name("temporary")
    temporary.symlink_to(target)
    os.replace(temporary, link)


@pytest.mark.parametrize("suffix", ["txt", "ipynb"])
def test_reading_shows_what_was_judged(work: Path, suffix: str) -> None:
    link = work / f"link.{suffix}"
    link.symlink_to(f"plain.{suffix}")
    agent = AgentCalls(work, deny=DENY, after_check=lambda: exchange(link, f"secret.{suffix}"))
    assert "harmless" in agent.call("Read", file_path=str(link))


def test_searching_one_file_shows_what_was_judged(work: Path) -> None:
    link = work / "link"
    link.symlink_to("plain.txt")
    agent = AgentCalls(work, deny=DENY, after_check=lambda: exchange(link, "secret.txt"))
    assert "harmless" in agent.call("Grep", pattern=".", path=str(link), output_mode="content")


def test_writing_through_an_exchanged_link_changes_what_was_judged(work: Path) -> None:
    link = work / "link"
    link.symlink_to("new.txt")
    agent = AgentCalls(work, mode="acceptEdits", deny=DENY, after_check=lambda: exchange(link, "secret.txt"))
    agent.call("Write", file_path=str(link), content="changed")
    assert (work / "secret.txt").read_text() == SECRET
    assert (work / "new.txt").read_text() == "changed"


def test_a_file_that_becomes_a_link_after_the_check_is_not_followed(work: Path) -> None:
    path = work / "plain.txt"
    agent = AgentCalls(work, deny=DENY, after_check=lambda: exchange(path, "secret.txt"))
    assert agent.call("Read", file_path=str(path)).startswith("ELOOP")


def test_a_new_file_that_becomes_a_link_after_the_check_is_not_written_through(work: Path) -> None:
    agent = AgentCalls(
        work, mode="acceptEdits", deny=DENY, after_check=lambda: exchange(work / "new", "../outside.txt")
    )
    agent.call("Write", file_path="new", content="changed")
    assert not (work.parent / "outside.txt").exists()


def test_no_round_of_a_race_shows_the_denied_file(work: Path) -> None:
    agent = AgentCalls(work, deny=DENY)
    with flipping(work / "link", work / "plain.txt", work / "secret.txt"):
        shown = [agent.call("Read", file_path="link") for _ in range(ROUNDS)]
    assert not [text for text in shown if SECRET in text]
