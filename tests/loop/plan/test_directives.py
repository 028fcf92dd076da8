"""Lines become directives with their values; lines that only look like one cause a warning and stay text."""

from __future__ import annotations

import pytest

from bridle.loop.plan import directives
from bridle.loop.plan.directives import ALL, CHECK, CHECKS, MAY_EDIT, NEEDS, OF_A_PLAN, OF_A_TASK, SETUP
from bridle.loop.plan.markdown_lines import read_lines
from bridle.loop.plan.problems import Problems


def parse(text: str, names: tuple[str, ...] = ALL) -> tuple[list[tuple[str, list[str]]], list[str], list[str]]:
    """Return directives with their values, the remaining lines and the warnings."""
    problems = Problems("P.md")
    found, rest = directives.take_directives(read_lines(text, problems), names, problems)
    values = [(directive.name, [value for _, value in directive.values]) for directive in found]
    return values, [line.text for line in rest if not line.is_blank], list(problems.warnings())


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Check: x", CHECK),
        ("check : x", CHECK),
        ("- Check: x", CHECK),
        ("**Check:** x", CHECK),
        ("**Check**: x", CHECK),
        ("_Checks_: x", CHECKS),
        ("CHECKS： x", CHECKS),
        ("May-edit: x", MAY_EDIT),
        ("may_edit: x", MAY_EDIT),
        ("Need: x", NEEDS),
        ("Set up: x", SETUP),
        ("   Setup: x", SETUP),
    ],
)
def test_a_directive_may_be_written_in_several_ways(line: str, name: str) -> None:
    assert parse(line) == ([(name, ["x"])], [], [])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Checks:\n- a\n- b", ["a", "b"]),
        ("Checks:\n\n- a\n\n- b", ["a", "b"]),
        ("Checks:\n- a\n  goes on\n- b", ["a goes on", "b"]),
        ("Checks:\n1. a\n2) b", ["a", "b"]),
        ("Checks:\n```sh\n# setup\na \\\n  --flag\n\nb\n```", ["a --flag", "b"]),
        ("Checks:\n```\na \\\n```", ["a"]),
        ("Checks:\nmake a\nmake b", ["make a", "make b"]),
        ("Check:\n`make a`", ["make a"]),
        ("Check:\n- [ ] `make a`", ["`make a`"]),
        ("Check:\n make a", ["make a"]),
        ("Check:\n- [ ] `make a` passes", []),
        ("Check:", []),
        ("Check:\n\nprose", []),
        ("Check:\nprose", []),
        ("Check:\n- [ ] a box of the checklist", []),
    ],
)
def test_values_may_stand_below_their_directive(text: str, values: list[str]) -> None:
    parsed, _, _ = parse(text)
    assert [value.strip("`") for _, listed in parsed for value in listed] == [value.strip("`") for value in values]


def test_what_follows_the_values_stays_text() -> None:
    parsed, rest, warnings = parse("Checks:\n- a\n\nProse.\n- [ ] box\nNeeds: T\n## Heading")
    assert parsed == [(CHECKS, ["a"]), (NEEDS, ["T"])]
    assert rest == ["Prose.", "- [ ] box", "## Heading"]
    assert warnings == []


def test_the_line_below_a_fence_stays_text() -> None:
    assert parse("Checks:\n```\na\n```\nProse.") == ([(CHECKS, ["a"])], ["Prose."], [])


def test_a_box_below_a_directive_ends_its_list() -> None:
    parsed, rest, _ = parse("Checks:\n- a\n- [ ] box")
    assert (parsed, rest) == ([(CHECKS, ["a"])], ["- [ ] box"])


def test_the_values_of_needs_are_not_taken_from_a_fence() -> None:
    assert parse("Needs:\n```\nT\n```") == ([(NEEDS, [])], ["```", "T", "```"], [])


@pytest.mark.parametrize("text", ["```\nCheck: x\n```", "---\nCheck: x\n---"])
def test_text_in_a_fence_or_the_front_matter_is_no_directive(text: str) -> None:
    parsed, _, warnings = parse(text)
    assert (parsed, warnings) == ([], [])


@pytest.mark.parametrize(
    ("text", "names", "warning"),
    [
        ("Test: `pytest -q`", ALL, "this line has no effect; use `Check:`"),
        ("Acceptance: `pytest -q`", ALL, "this line has no effect; use `Check:`"),
        ("Check `pytest -q`", ALL, "this line has no effect; did you mean `Check:`, with a colon?"),
        ("- **Checks** - `pytest -q`", ALL, "this line has no effect; did you mean `Checks:`, with a colon?"),
        ("Setup: x", OF_A_TASK, "`Setup:` has no effect within a task"),
        ("Needs: x", OF_A_PLAN, "`Needs:` has no effect above the first task"),
        ("    Check: x", ALL, "`Check:` has no effect here, because it is indented like code"),
        ("Depends on: [T](#t)", ALL, "this line has no effect; use `Needs:`"),
        ("Verify: `make`", ALL, "this line has no effect; use `Check:`"),
        ("Chekc: make", ALL, "this line has no effect; did you mean `Check:`?"),
        ("1. Check: x", ALL, "`Check:` has no effect in a numbered list; begin the line with it, or use `-`"),
        ("> Check: x", ALL, "`Check:` has no effect in a quotation"),
        ("### Check: x", ALL, "`Check:` has no effect in a heading"),
        ("<!-- Check: x -->", ALL, "`Check:` has no effect in a comment"),
        ("May edti: x", ALL, "this line has no effect; did you mean `May edit:`?"),
    ],
)
def test_a_line_that_was_probably_meant_as_a_directive_causes_a_warning(
    text: str, names: tuple[str, ...], warning: str
) -> None:
    parsed, rest, warnings = parse(text, names)
    assert (parsed, rest, warnings) == ([], [text], [f"P.md:1: {warning}"])


@pytest.mark.parametrize(
    "text",
    [
        "Check the `README.md` too",
        "Test: that it works",
        "Note: x",
        "Verify: that it works",
        "Change: x",
        "Checkers board: x",
        "See https://x",
        "a: b",
        "12: x",
    ],
)
def test_prose_with_a_colon_is_only_text(text: str) -> None:
    assert parse(text) == ([], [text], [])


def test_each_value_has_the_line_that_it_begins_on() -> None:
    problems = Problems("P.md")
    lines = read_lines("text\nChecks:\n```\na \\\nb\nc\n```", problems)
    (directive,), _ = directives.take_directives(lines, ALL, problems)
    assert (directive.line, directive.values) == (2, ((4, "a b"), (6, "c")))


def test_a_value_that_seems_to_continue_causes_a_warning_with_its_line() -> None:
    _, rest, warnings = parse("Check: pytest a \\\n  --quiet")
    assert (rest, len(warnings)) == (["  --quiet"], 1)
    assert warnings[0].startswith("P.md:1: `Check:` ends with a backslash")
    assert parse("Check: `a`\n  and more")[2] == ["P.md:2: this line is not part of `Check:` above it"]
    assert parse("Check: `a`\nText.\n- Check: `b`\n- item")[2] == []
    assert parse("<!--\nChecks: `a`\n-->")[2] == ["P.md:2: `Checks:` has no effect in a comment"]
