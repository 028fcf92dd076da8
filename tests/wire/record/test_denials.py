"""Refused calls count in whatever shape they are listed: a safety signal never counts as its absence."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.record.denials import denial_entries, denied_call, denied_tool
from tests.wire.fixtures.stream_lines import assistant_line, init, inspected, result

CALL = {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "rm x"}}


@pytest.mark.parametrize(
    ("sent", "listed", "tools"),
    [
        ([CALL], [CALL], "Bash"),
        (CALL, [CALL], "Bash"),
        (["Bash", "Write"], ["Bash", "Write"], "Bash, Write"),
        ("Bash", ["Bash"], "Bash"),
        ([[CALL], ["Write", []]], [CALL, "Write", []], "?, Bash, Write"),
        ([[]], [[]], "?"),
        ([[[]], {}], [[], {}], "?"),
        ([None], [None], "?"),
        ([CALL, None, 7, ""], [CALL, None, 7, ""], "?, Bash"),
        ([{}], [{}], "?"),
        ([{"tool_name": 5}], [{"tool_name": 5}], "?"),
        ({"denied": ["Bash"]}, [{"denied": ["Bash"]}], "?"),
        (True, [True], "?"),
    ],
)
def test_every_shape_of_a_refusal_fails_the_run_and_is_listed_as_sent(sent: Any, listed: Any, tools: str) -> None:
    document = inspected([init(), assistant_line("no"), result("no", permission_denials=sent)])
    assert (document["run_error"], document["error_category"]) == (True, "permission")
    assert document["run_error_reason"] == f"permission was refused for {tools}"
    assert document["permission_denials"] == listed
    assert not document["succeeded_cleanly"]


@pytest.mark.parametrize("sent", [None, [], {}, "", 0, False, ...])
def test_an_empty_value_is_no_refusal(sent: Any) -> None:
    document = inspected([init(), assistant_line("yes"), result("yes", permission_denials=sent)])
    assert (document["run_error"], document["permission_denials"]) == (False, [])


def test_a_call_that_two_turns_list_is_listed_once_and_one_without_an_id_each_time() -> None:
    turns = [init(), result(permission_denials=[CALL, "Bash"])] * 2
    assert inspected(turns)["permission_denials"] == [CALL, "Bash", "Bash"]


def test_deep_nesting_is_flattened_in_order() -> None:
    nested: Any = "last"
    for number in range(5000):
        nested = [number, nested]
    assert denial_entries(nested) == [*range(4999, -1, -1), "last"]


def test_the_tool_and_the_call_are_read_from_what_is_there() -> None:
    assert [denied_tool(entry) for entry in (CALL, "Bash", "", None, {"tool_name": ""})] == [
        "Bash",
        "Bash",
        "?",
        "?",
        "?",
    ]
    assert [denied_call(entry) for entry in (CALL, "toolu_1", {"tool_use_id": 1})] == ["toolu_1", None, None]
