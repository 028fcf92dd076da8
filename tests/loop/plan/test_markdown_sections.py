"""A plan is split at `# ` and `## `, and a section into directives, checklist and text."""

from __future__ import annotations

from bridle.loop.plan.directives import OF_A_TASK
from bridle.loop.plan.markdown_lines import read_lines
from bridle.loop.plan.markdown_sections import Entry, content, sections
from bridle.loop.plan.problems import Problems


def test_deeper_headings_and_headings_in_fences_do_not_begin_a_section() -> None:
    text = "above\n# Plan\nintro\n## A\n### part\n```\n## not a task\n```\n## B"
    parts = sections(read_lines(text, Problems("P.md")))
    assert [(part.line, part.is_task, len(part.lines)) for part in parts] == [
        (0, False, 1),
        (2, False, 1),
        (4, True, 4),
        (9, True, 0),
    ]


def test_a_section_is_split_into_directives_checklist_and_text() -> None:
    text = "## A\n\nDo it.\n- [ ] one\n  and more\n- [x] two\n\nCheck: `make`\n\n- plain item\n"
    problems = Problems("P.md")
    parsed = content(sections(read_lines(text, problems))[1], OF_A_TASK, problems)
    assert [(directive.name, directive.values) for directive in parsed.directives] == [("Check", ((8, "`make`"),))]
    assert parsed.checklist == [Entry(4, "one\nand more", is_ticked=False), Entry(6, "two", is_ticked=True)]
    assert parsed.body == "Do it.\n\n\n- plain item"


def test_a_line_below_a_box_belongs_to_it_only_if_it_is_indented() -> None:
    text = "## A\n- [ ] one\nnot more\n  - [ ] nested\n    of nested\n\n    after a blank line"
    problems = Problems("P.md")
    parsed = content(sections(read_lines(text, problems))[1], OF_A_TASK, problems)
    assert [entry.text for entry in parsed.checklist] == ["one", "nested\nof nested"]
    assert parsed.body == "not more\n\n    after a blank line"


def test_a_fence_below_a_box_is_text() -> None:
    problems = Problems("P.md")
    lines = read_lines("## A\n- [ ] one\n  ```\n  code\n  ```", problems)
    parsed = content(sections(lines)[1], OF_A_TASK, problems)
    assert [entry.text for entry in parsed.checklist] == ["one"]
    assert parsed.body == "  ```\n  code\n  ```"
