"""Structured output: what fits, what is forgiven, and how a misfit is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.tools.structured_output import DONE, Schema, StructuredOutput
from bridle.errors import UsageError

SCHEMA = (
    '{"type":"object","properties":{"n":{"type":"integer"},"a":{"type":"string"},"b":{"type":"boolean"},'
    '"f":{"type":"number"},"l":{"type":"array"},"o":{"type":"object"},"z":{"type":"null"}},'
    '"required":["n"],"additionalProperties":false}'
)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ({"n": 1}, {"n": 1}),
        ({"n": "1"}, {"n": 1}),
        ({"n": 1, "b": "true"}, {"n": 1, "b": True}),
        ({"n": 1, "f": "1.5"}, {"n": 1, "f": 1.5}),
        ({"n": 1, "l": "[1]"}, {"n": 1, "l": [1]}),
        ({"n": 1, "o": '{"a": 1}'}, {"n": 1, "o": {"a": 1}}),
        ({"output": {"n": 1}}, {"n": 1}),
        ({"result": '{"n": 1}'}, {"n": 1}),
        ('{"n": 1}', {"n": 1}),
    ],
)
def test_what_fits_or_nearly_fits_is_taken(data: Any, value: Any) -> None:
    fit = Schema.parse(SCHEMA).match(data)
    assert (fit.value, fit.problem) == (value, None)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"a": "x"}, "root: must have required property 'n'"),
        ({"n": "one"}, "/n: must be integer"),
        ({"n": 1, "y": 2}, "root: must NOT have additional properties"),
        ({"n": 1, "a": 2}, "/a: must be string"),
        ({"n": 1, "a": True}, "/a: must be string"),
        ({"n": 1, "a": None}, "/a: must be string"),
        ({"n": 1, "l": "x"}, "/l: must be array"),
        ({"n": 1, "l": 5}, "/l: must be array"),
        ({"n": 1, "z": ""}, "/z: must be null"),
        ({"n": 1.5}, "/n: must be integer"),
        ({"other": {"n": 1}}, "root: must NOT have additional properties, root: must have required property 'n'"),
        ([], "root: must be object"),
    ],
)
def test_a_mismatch_is_reported_with_its_path(data: Any, problem: str) -> None:
    assert Schema.parse(SCHEMA).match(data).problem == f"Output does not match required schema: {problem}"


def test_a_wrapper_that_the_schema_asks_for_is_no_wrapper() -> None:
    schema = Schema.parse('{"type":"object","properties":{"output":{"type":"object"}},"required":["output"]}')
    assert schema.match({"output": {"n": 1}}).value == {"output": {"n": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{not json", "--json-schema is not valid JSON"),
        ("[]", "must be a JSON object"),
        ('{"type":"nope"}', "not a valid JSON Schema"),
        ('{"$ref":"#/missing"}', "not a valid JSON Schema"),
    ],
)
def test_what_is_no_schema_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Schema.parse(text)
    assert message in caught.value.message


def test_a_schema_elsewhere_is_never_fetched() -> None:
    with pytest.raises(UsageError):
        Schema.parse('{"$ref":"http://127.0.0.1:9/schema.json"}')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_whatever_is_taken_fits(data: Any) -> None:
    schema = Schema.parse(SCHEMA)
    fit = schema.match(data)
    if fit.problem is None:
        assert schema.match(fit.value).value == fit.value
        assert set(fit.value) <= {"n", "a"}
        assert isinstance(fit.value["n"], int)


def test_the_tool_ends_the_turn_with_data_and_counts_failures_of_its_turn() -> None:
    tool = StructuredOutput(Schema.parse(SCHEMA))
    wrong = asyncio.run(tool.run({}, call_id="t"))
    assert wrong.is_error
    assert not wrong.ends_turn
    assert tool.failures == 1
    right = asyncio.run(tool.run({"n": 3}, call_id="t"))
    assert (right.content, right.ends_turn, tool.value) == (DONE, True, {"n": 3})
    tool.begin_turn()
    assert (tool.has_value, tool.failures) == (False, 0)
