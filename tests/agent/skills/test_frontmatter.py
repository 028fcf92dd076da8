from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.skills.frontmatter import Document, as_flag, as_text, as_words, parse_document

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=30)


@given(values=st.lists(WORDS, min_size=1, max_size=4))
def test_what_is_read_without_yaml_is_what_yaml_reads(values: list[str]) -> None:
    block = "".join(f"key{index}: {value}\n" for index, value in enumerate(values))
    document = parse_document(f"---\n{block}---\nbody")
    try:
        expected: Any = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError):
        return  # then there is nothing to compare with; that it did not break is enough
    if isinstance(expected, dict) and "*" not in block and "---" not in block:
        assert document == Document(expected, "body", document.fault)


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("no fields\n", {}, "no fields\n"),
        ("---\nname: a\n---\n\n\nbody\n\n", {"name": "a"}, "body\n\n"),
        ("\ufeff---\nname: a\n---\nbody", {"name": "a"}, "body"),
        ("---\n---\nbody", {}, "body"),
        ("---\nname: a\n---", {"name": "a"}, ""),
        ("--- \nname: a # comment\n---\t\nx", {"name": "a"}, "x"),
        ("---\nname: a\nbody", {}, "---\nname: a\nbody"),
        ("---\nurl: http://x/y#z\n---\n", {"url": "http://x/y#z"}, ""),
        ("---\na: true\nb: No\nc: null\n---\n", {"a": True, "b": False, "c": None}, ""),
        ("----\nname: a\n---\n", {}, "----\nname: a\n---\n"),
        ("text\n---\nname: a\n---\n", {}, "text\n---\nname: a\n---\n"),
    ],
)
def test_a_document_is_taken_apart(text: str, fields: dict[str, Any], body: str) -> None:
    assert parse_document(text) == Document(fields, body)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("Read, Grep", ("Read", "Grep")),
        ("Bash(git *), Read", ("Bash(git *)", "Read")),
        ("Bash(git add:*, git commit:*) Edit", ("Bash(git add:*, git commit:*)", "Edit")),
        ("Read Grep", ("Read", "Grep")),
        (["Read", "Bash(a b)", 5, None, ["x"]], ("Read", "Bash(a b)", "5")),
        ("", ()),
        (None, ()),
        (True, ()),
        ("Bash(unclosed", ("Bash", "unclosed")),
    ],
)
def test_a_field_can_be_several_words(value: object, words: tuple[str, ...]) -> None:
    assert as_words(value) == words


@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), ("yes", True), ("False", False), ("what", True), (None, True), (0, True)]
)
def test_a_field_can_be_yes_or_no(value: object, expected: bool) -> None:
    assert as_flag(value, default=True) is expected


@pytest.mark.parametrize(
    ("value", "text"), [("a\n  b", "a b"), (5, "5"), (" ", None), (True, None), ([], None), ({}, None)]
)
def test_a_field_can_be_one_line(value: object, text: str | None) -> None:
    assert as_text(value) == text
