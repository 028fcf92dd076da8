from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.tools.arguments import validate_arguments
from bridle.agent.tools.contract.tool import ToolResult
from tests.agent.fixtures.file_tool_calls import MEASURED

CASES: list[dict[str, Any]] = json.loads((MEASURED / "arguments.json").read_text("utf-8"))
SCHEMAS: dict[str, dict[str, Any]] = json.loads((MEASURED / "declared-schemas.json").read_text("utf-8"))
WRONG = [case for case in CASES if "content" in case]
RIGHT = [case for case in CASES if "shown" in case]

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def _name(case: dict[str, Any]) -> str:
    return f"{case['tool']} {json.dumps(case['input'])[:60]}"


@pytest.mark.parametrize("case", WRONG, ids=_name)
def test_issues_are_reported_as_measured(case: dict[str, Any]) -> None:
    answer = validate_arguments(case["tool"], SCHEMAS[case["tool"]], case["input"])
    assert isinstance(answer, ToolResult)
    assert (answer.content, answer.detail, answer.is_error) == (case["content"], case["detail"], True)


@pytest.mark.parametrize("case", RIGHT, ids=_name)
def test_what_the_original_takes_is_taken(case: dict[str, Any]) -> None:
    assert isinstance(validate_arguments(case["tool"], SCHEMAS[case["tool"]], case["input"]), dict)


def test_defaults_are_filled_in_and_shown_first_where_the_original_does_so() -> None:
    given = {"new_string": "b", "old_string": "a", "file_path": "f"}
    checked = validate_arguments("Edit", SCHEMAS["Edit"], given)
    assert isinstance(checked, dict)
    assert list(checked.items()) == [
        ("replace_all", False),
        ("file_path", "f"),
        ("old_string", "a"),
        ("new_string", "b"),
    ]
    assert given == {"new_string": "b", "old_string": "a", "file_path": "f"}


def test_arguments_of_some_tools_are_shown_in_the_schemas_order_and_of_others_as_given() -> None:
    checked = validate_arguments("Write", SCHEMAS["Write"], {"content": "x", "file_path": "f"})
    assert isinstance(checked, dict)
    assert list(checked) == ["file_path", "content"]
    checked = validate_arguments("Read", SCHEMAS["Read"], {"limit": 1, "file_path": "f"})
    assert isinstance(checked, dict)
    assert list(checked) == ["limit", "file_path"]


@pytest.mark.parametrize(
    ("tool", "name", "written", "meant"),
    [
        ("Read", "offset", "2", 2),
        ("Read", "limit", "1.0", 1),
        ("Read", "limit", 2.0, 2),
        ("Grep", "-A", "1.5", 1.5),
        ("Grep", "-i", "true", True),
        ("Grep", "-n", "false", False),
        ("TaskUpdate", "addBlocks", '["1"]', ["1"]),
    ],
)
def test_a_value_in_quotes_is_taken_for_what_it_means(tool: str, name: str, written: Any, meant: Any) -> None:
    rest = {"Read": {"file_path": "f"}, "Grep": {"pattern": "x"}, "TaskUpdate": {"taskId": "1"}}[tool]
    checked = validate_arguments(tool, SCHEMAS[tool], {**rest, name: written})
    assert isinstance(checked, dict)
    assert checked[name] == meant
    assert type(checked[name]) is type(meant)


@pytest.mark.parametrize("written", ["1e9", "0x1", "١", "--1", "1" * 400, "NaN", "1_000", ""])
def test_a_text_that_is_no_plain_number_is_refused(written: str) -> None:
    assert isinstance(validate_arguments("Read", SCHEMAS["Read"], {"file_path": "f", "limit": written}), ToolResult)


@given(st.sampled_from(sorted(SCHEMAS)), st.dictionaries(st.text(max_size=10), ANYTHING, max_size=4), st.data())
def test_no_arguments_at_all_break_the_check(tool: str, others: dict[str, Any], data: st.DataObject) -> None:
    known = {name: data.draw(ANYTHING) for name in SCHEMAS[tool]["properties"] if data.draw(st.booleans())}
    outcome = validate_arguments(tool, SCHEMAS[tool], {**others, **known})
    if isinstance(outcome, dict):
        assert set(SCHEMAS[tool].get("required", ())) <= set(outcome)
    else:
        assert outcome.is_error
        assert "InputValidationError" in str(outcome.content)
