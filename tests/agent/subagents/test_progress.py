"""What clients learn about the work of a sub-agent."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.agent.subagents.progress import AgentProgress, describe_call


def usage(sent: int, cached: int, received: int) -> dict[str, Any]:
    return {"input_tokens": sent, "cache_read_input_tokens": cached, "output_tokens": received}


def call(tool: str, **sent: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t", "name": tool, "input": sent}


def test_tokens_are_the_last_input_and_all_output() -> None:
    progress = AgentProgress()
    progress.count_block({"type": "text", "text": "x"}, usage(102, 2000, 1))
    progress.count_block(call("Bash", command="ls"), usage(102, 2000, 1))
    assert (progress.usage.total_tokens, progress.usage.tool_uses) == (2104, 1)
    progress.count_block(call("Read", file_path="a"), usage(103, 3000, 1))
    assert (progress.usage.total_tokens, progress.usage.tool_uses) == (3106, 2)


def test_calls_are_counted_by_kind_and_agents_are_not() -> None:
    progress = AgentProgress()
    assert progress.stats is None
    progress.count_block(call("Agent", description="d", prompt="p"), {})
    assert (progress.stats, progress.tool_uses) == (None, 1)
    for block in (
        call("Read", file_path="a"),
        call("Grep", pattern="a"),
        call("Bash", command="ls"),
        call("Write", file_path="a", content="x\ny\n"),
        call("Edit", file_path="a", old_string="x", new_string="z"),
        call("NotebookEdit", notebook_path="n", new_source="x"),
        call("WebFetch", url="u"),
    ):
        progress.count_block(block, {})
    assert progress.stats == {
        "readCount": 1,
        "searchCount": 1,
        "bashCount": 1,
        "editFileCount": 3,
        "linesAdded": 5,
        "linesRemoved": 1,
        "otherToolCount": 1,
    }


@pytest.mark.parametrize(
    ("tool", "sent", "words"),
    [
        ("Bash", {"command": "ls"}, "Running ls"),
        ("Bash", {"command": "ls", "description": "List"}, "Running List"),
        ("Bash", {"command": "echo " + "x" * 100}, "Running echo " + "x" * 44 + "…"),
        ("Read", {"file_path": "/w/a.txt"}, "Reading a.txt"),
        ("Read", {"file_path": "/else/a.txt"}, "Reading /else/a.txt"),
        ("Write", {"file_path": "deep/b.txt"}, "Writing deep/b.txt"),
        ("Edit", {"file_path": "/w/a.txt"}, "Editing a.txt"),
        ("NotebookEdit", {"notebook_path": "/w/n.ipynb"}, "Editing notebook n.ipynb"),
        ("Glob", {"pattern": "*.py"}, "Finding *.py"),
        ("Grep", {"pattern": "x"}, "Searching for x"),
        ("WebFetch", {"url": "http://x"}, "Fetching http://x"),
        ("WebSearch", {"query": "bridle"}, "Searching for bridle"),
        ("Agent", {"description": "Look"}, "Look"),
        ("TaskCreate", {"subject": "s"}, None),
    ],
)
def test_a_call_is_described_in_a_few_words(tool: str, sent: dict[str, Any], words: str | None) -> None:
    assert describe_call(tool, sent, "/w") == words
