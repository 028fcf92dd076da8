"""How rules are written, and which tools they name."""

from __future__ import annotations

import pytest

from bridle.agent.permissions.rules.syntax import RULE_LIMIT_CHARACTERS, Rule, names_tool, parse_rule, split_list


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Bash", Rule("Bash", None)),
        (" Bash ", Rule("Bash", None)),
        ("Bash(git *)", Rule("Bash", "git *")),
        ("Bash(git:*)", Rule("Bash", "git:*")),
        ("Bash(*)", Rule("Bash", None)),
        ("Bash()", Rule("Bash", None)),
        ("Bash(echo (a) b)", Rule("Bash", "echo (a) b")),
        ("Read(//etc/**)", Rule("Read", "//etc/**")),
        ("WebFetch(domain:x.org)", Rule("WebFetch", "domain:x.org")),
        ("mcp__a__*", Rule("mcp__a__*", None)),
        ("Task(Explore)", Rule("Agent", "Explore")),
        ("BashOutput", Rule("TaskOutput", None)),
        ("KillShell", Rule("TaskStop", None)),
        ("*", Rule("*", None)),
    ],
)
def test_a_rule_is_a_tool_and_what_of_it_is_meant(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    "text", ["", "(", "Bash(", "Bash)", "(x)", "a b", "Bash(x", "Bash(x) y", "a\0b", "A" * (RULE_LIMIT_CHARACTERS + 1)]
)
def test_what_is_no_rule_is_none(text: str) -> None:
    assert parse_rule(text) is None


@pytest.mark.parametrize(
    ("values", "items"),
    [
        (["A,B"], ["A", "B"]),
        (["A B"], ["A", "B"]),
        (["A", "B"], ["A", "B"]),
        (["A, B,,C "], ["A", "B", "C"]),
        (["Bash(git *) Edit"], ["Bash(git *)", "Edit"]),
        (["Bash(a, b),Bash(c (d, e) f)"], ["Bash(a, b)", "Bash(c (d, e) f)"]),
        (["Bash(a b"], ["Bash(a b"]),
        (["a) b"], ["a)", "b"]),
        ([""], []),
    ],
)
def test_lists_are_split_at_commas_and_spaces_outside_parentheses(values: list[str], items: list[str]) -> None:
    assert split_list(values) == items


@pytest.mark.parametrize(
    ("rule", "tools", "others"),
    [
        ("Read", ["Read"], ["ReadX", "Write"]),
        ("mcp__a", ["mcp__a__x", "mcp__a__y__z"], ["mcp__ab__x", "mcp__b__a"]),
        ("mcp__a__x", ["mcp__a__x"], ["mcp__a__xy"]),
        ("mcp__a__*", ["mcp__a__x"], ["mcp__b__x"]),
        ("*", ["Read", "mcp__a__x"], []),
    ],
)
def test_a_rule_names_tools(rule: str, tools: list[str], others: list[str]) -> None:
    parsed = parse_rule(rule)
    assert parsed is not None
    assert [tool for tool in (*tools, *others) if names_tool(parsed, tool)] == tools
