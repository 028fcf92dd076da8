"""A refused call is told to the next iteration in whatever shape the agent listed it."""

from __future__ import annotations

import pytest

from bridle.loop.performers.work import describe_denial


@pytest.mark.parametrize(
    ("denial", "text"),
    [
        ({"tool_name": "Bash", "tool_input": {"command": "rm x"}}, "Bash: rm x"),
        ({"tool_name": "Write", "tool_input": {"file_path": "a"}}, "Write: a"),
        ({"tool_name": "Task", "tool_input": {"prompt": "p"}}, "Task: {'prompt': 'p'}"),
        ({"tool_name": "Bash"}, "Bash"),
        ("Bash", "Bash"),
        (None, "?"),
    ],
)
def test_a_refused_call_is_described_by_its_tool_and_what_it_was_for(denial: object, text: str) -> None:
    assert describe_denial(denial) == text
