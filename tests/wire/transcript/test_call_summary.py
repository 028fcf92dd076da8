"""The line that shows the input of a call, whatever JSON it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.fixtures.conversations import assistant_line, calls, transcript_of


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"command": "ls -l", "timeout": 3}, "ls -l"),
        ({"pattern": "x", "path": "src"}, "x src"),
        ({"unknown": [1, 2]}, '{"unknown":[1,2]}'),
        ({}, ""),
        ("ls -l", "ls -l"),
        ("first\nsecond", "first …"),
        (["ls", "-l"], '["ls","-l"]'),
        (17, "17"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
    ],
)
def test_an_input_of_every_type_is_shown(given: Any, shown: str) -> None:
    block = {"type": "tool_use", "id": "a", "name": "Bash", "input": given}
    assert calls(transcript_of(assistant_line(block)))[0].summary == shown


def test_a_tool_with_its_own_card_shows_an_input_of_another_type_too() -> None:
    block = {"type": "tool_use", "id": "a", "name": "Edit", "input": "*** Begin patch"}
    call = calls(transcript_of(assistant_line(block)))[0]
    assert (call.summary, call.input, call.detail) == ("*** Begin patch", '"*** Begin patch"', None)
