"""The span of every member and element is where the decoder finds its value."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridle.loop.text.json_spans import element_spans, member_spans

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
LAYOUTS = st.sampled_from([None, 0, 2, "\t"])


@given(st.dictionaries(st.text(), VALUES), LAYOUTS)
def test_members_are_found_in_any_layout(value: dict[str, Any], indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent)
    spans = member_spans(text, 0)
    assert {name: json.loads(text[span.start : span.end]) for name, span in spans} == value
    assert all(span.line == text.count("\n", 0, span.start) + 1 for _, span in spans)


@given(st.lists(VALUES), LAYOUTS)
def test_elements_are_found_in_any_layout(value: list[Any], indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent)
    spans = element_spans(text, 0)
    assert [json.loads(text[span.start : span.end]) for span in spans] == value
    assert all(span.line == text.count("\n", 0, span.start) + 1 for span in spans)


def test_an_object_inside_a_text_has_lines_of_the_whole_text() -> None:
    text = '{\n "a": {\n  "b": 1,\n  "b": 2}\n}'
    ((name, span),) = member_spans(text, 0)
    inner = member_spans(text, span.start)
    assert (name, span.line) == ("a", 2)
    assert [(key, part.line, text[part.start : part.end]) for key, part in inner] == [("b", 3, "1"), ("b", 4, "2")]


def test_a_value_that_is_not_an_object_has_no_members() -> None:
    assert member_spans("[1]", 0) == []
    assert member_spans("{}", 0) == []
    assert element_spans("[ ]", 0) == []
