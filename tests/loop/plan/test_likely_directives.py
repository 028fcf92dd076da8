"""Lines that were meant as directives cause a warning, however they are spelled; ordinary prose causes none."""

from __future__ import annotations

import pytest

from bridle.errors import PlanError
from bridle.loop.plan.likely_directives import find_needed, is_command, is_paths, read_alone, read_line
from bridle.loop.plan.markdown import parse_markdown

VALUES = {"Check": "`make test`", "Checks": "`make test`", "May edit": "tests/a.py", "Needs": "First"}
# Around the word, its colon and its value.
FORMS = """
**{n}: {v}**
** {n}: ** {v}
- - {n}: {v}
* 1. {n}: {v}
1. * {n}: {v}
1) **{n}:** {v}
(1) {n}: {v}
a) {n}: {v}
• {n}: {v}
– {n}: {v}
-{n}: {v}
> > {n}: {v}
> - **{n}**: {v}
- > {n}: {v}
> [!NOTE] {n}: {v}
- ### {n}: {v}
#### **{n}:** {v}
<!-- x --> {n}: {v}
<!-- x --><!-- y -->{n}: {v}
<!-- x --> - {n}: {v}
- <!-- x --> **{n}**: {v}
<!-- {n}: {v} -->
- [ ] {n}: {v}
1. [ ] **{n}:** {v}
[ ] {n}: {v}
| {n}: {v} |
| **{n}:** | {v} |
| {n} | {v} |
[^1]: {n}: {v}
{n}[^1]: {v}
[{n}]: {v}
[{n}](x.md): {v}
<b>{n}:</b> {v}
<p>{n}: {v}</p>
<li><strong>{n}</strong>: {v}</li>
`{n}:` {v}
`{n}`: {v}
"{n}": {v}
({n}: {v})
【{n}】: {v}
✅ {n}: {v}
{n} ✅: {v}
→ {n}: {v}
\\{n}: {v}
#{n}: {v}
~~{n}:~~ {v}
Write it. {n}: {v}
{n}(s): {v}
{n} 1: {v}
{n} (must pass): {v}
{n} command: {v}
{n}﹕ {v}
**{n}∶** {v}
{n}\u00a0: {v}
**{n}\u202f:** {v}
\u00a0{n}: {v}
\u200b{n}: {v}
\ufeff{n}: {v}
{n}\u200b: {v}
{n}&#58; {v}
{n}\\: {v}
{n} -> {v}
{n} = {v}
{n} - {v}
{n}
- {v}
### {n}
- {v}
{n}
: {v}
""".strip("\n")
WORDS = ["Check", "May edit", "Needs"]
SPELLED = {
    "Check": [
        "Сheck",
        "Chеck",
        "Сһесk",
        "Ch\u200beck",
        "Che\u00adck",
        "Ｃｈｅｃｋ",
        "𝐂𝐡𝐞𝐜𝐤",
        "Chéck",
        "Che\u0301ck",
        "Check\ufe0f",
    ],
    "May edit": ["Маy edit", "May\u00a0edit", "May ed\u200bit", "May edıt"],
    "Needs": ["Νeeds", "Nееds", "Nee\u2060ds"],
}
PROSE = """
The check: it must hold.
Check that the parser is fast; check the docs too.
Check - every request goes through here.
Check pytest before you begin.
May edit as many files as needed.
Needs Python 3.11, or later.
After this, the parser is done.
After First comes Second.
Requires: Python 3.11
(setup: see the README)
- [ ] Setup: install what is needed
- [ ] Needs: a review of the docs
[setup]: https://example.org/setup
| Check | Command |
| check | `make check`, `make lint` |
| `Check:` | a check of the task |
`Check:` is written in the plan.
`Check: make` means that make runs.
"Check: it holds" is what they said
### Setup
<b>Note:</b> this is prose
> Quoted: `prose`
1. Run `make test` and check: it passes
Wait, check: `make` works
Please note: Checks run in order.
Checkers: `black` and `white`
Naïve: `x`
Проверка: `make`
检查：`make`
""".strip("\n").splitlines()


def warnings(text: str) -> list[str]:
    return list(parse_markdown(plan(text), "P.md").warnings)


def plan(text: str) -> str:
    return f"# P\n\n## First\nCheck: `true`\n\n## Second\nDo it.\n\n{text}\n\nMore.\nCheck: `true`\n"


def forms() -> list[str]:
    lines: list[str] = []
    for line in FORMS.splitlines():
        if line.startswith((": {v}", "- {v}")):
            lines[-1] += f"\n{line}"
        else:
            lines.append(line)
    return lines


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("form", forms())
def test_a_directive_with_something_around_it_causes_a_warning_with_its_line(form: str, name: str) -> None:
    text = form.format(n=name, v=VALUES[name])
    (warning,) = warnings(text)
    assert warning.startswith("P.md:9: "), text
    assert "no effect" in warning


@pytest.mark.parametrize(("name", "word"), [(name, word) for name in WORDS for word in SPELLED[name]])
def test_a_word_with_letters_that_only_look_like_it_names_the_character(name: str, word: str) -> None:
    (warning,) = warnings(f"{word}: {VALUES[name]}")
    assert warning.startswith(f"P.md:9: `{name}:` has no effect here, because of the character U+")


@pytest.mark.parametrize("text", PROSE)
def test_ordinary_prose_causes_no_warning(text: str) -> None:
    assert warnings(text) == []


@pytest.mark.parametrize("word", ["After", "Requires", "Depends on", "**Depends on**", "- Blocked by", "Prerequisites"])
def test_a_line_that_names_only_titles_causes_a_warning(word: str) -> None:
    assert warnings(f"{word}: first") == ["P.md:9: this line has no effect; use `Needs:`"]


def test_what_ends_on_the_line_of_a_comment_causes_a_warning() -> None:
    text = "<!-- x\ny --> Check: `make`\n\n<!-- x\nCheck: `make`\n-->\n\n<!-- x --> ## Third"
    assert warnings(text) == [
        "P.md:10: `Check:` has no effect after a comment; begin the line with it",
        "P.md:13: `Check:` has no effect in a comment",
        "P.md:16: this heading has no effect after a comment; begin the line with it",
    ]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("May edit: a.py; Check: `make`", "P.md:9: `Check:` has no effect after `May edit:`; begin a line with it"),
        (
            "May edit: a.py <!-- x -->",
            "P.md:9: the comment is part of the value of `May edit:`; write it on its own line",
        ),
        ("Check: make\u00a0test", "P.md:9: the value of `Check:` has the character U+00A0 (NO-BREAK SPACE)"),
        ("May edit: a\u200b.py", "P.md:9: the value of `May edit:` has the character U+200B (ZERO WIDTH SPACE)"),
    ],
)
def test_a_value_that_holds_something_else_causes_a_warning(text: str, warning: str) -> None:
    (found,) = warnings(text)
    assert found.startswith(warning)


@pytest.mark.parametrize(
    "text", ["Check: printf 'a\u00a0b'", 'Check: grep "Needs: x" f', "Check: grep -q 'May edit: x' f"]
)
def test_what_a_command_quotes_causes_no_warning(text: str) -> None:
    assert warnings(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Text.\nTitle\n---",
        "Text\nTitle\n=",
        "**Title**\n-----",
        "`code`\n---",
        "✅ Title\n====",
        "> Quote\n\nTitle\n--",
    ],
)
def test_an_underlined_heading_causes_a_warning(text: str) -> None:
    number = 9 + text.splitlines().index(text.splitlines()[-2])
    (warning,) = warnings(text)
    assert warning.startswith(f"P.md:{number}: this underlined line is not read as a heading")


@pytest.mark.parametrize(
    "text",
    [
        "Text.\nMore text.\n---",
        "- item\n---",
        "- item\n  more\n---",
        "1. item\n---",
        "> quote\n---",
        "| a |\n---",
        "Check: `make`\n---",
        "May edit: a\n---",
        "Checks:\nmake a\nmake b\n---",
        "    code\n---",
        "### Heading\n---",
        "a | b\n--- | ---\n1 | 2",
        "---\n\n***",
    ],
)
def test_a_rule_below_other_text_causes_no_warning(text: str) -> None:
    assert warnings(text) == []


def test_a_rule_is_no_command() -> None:
    tasks = parse_markdown("## A\nChecks:\nmake a\n---\n", "P.md").tasks
    assert tasks[0].checks == ("make a",)


def test_the_longest_lines_are_read() -> None:
    for text in (
        "Check: " + "a.b" * 20_000,
        "> " * 20_000,
        "*`<" * 20_000,
        "Check - " + "`a` and " * 9_000 + "x",
        "(" * 50_000,
    ):
        read_line(text)
        read_alone(text)
        is_command(text)
        is_paths(text)
        find_needed(text, text)
    with pytest.raises(PlanError, match="at most"):
        parse_markdown(plan("Check: " + "a.b" * 20_000), "P.md")
