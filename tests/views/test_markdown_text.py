"""Foreign text in Markdown can be read, and can do nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bridle.views.markdown_text import code_span, escape_line, fenced, prose, quoted

HOSTILE = [
    "<script>alert(1)</script>",
    "`` ` `` <img src=x onerror=alert(1)>",
    "` <b>\n` <b> `",
    "\\`<b>\\`",
    "![x](http://example.org/tracker.png)",
    "[x](javascript:alert(1))",
    "[x]: javascript:alert(1)",
    "<http://example.org>",
    "&lt;b&gt; &#60;b>",
    "- ```\n  <b>",
    "> ~~~~\n> <b>",
    "```html\n<b>",
    "<!-- comment",
    "# heading",
    "- > 1. ## heading",
    "text\n===\n\ntext\n-----",
    "text\n- ",
    "> text\n> -\t ",
]


def kinds(markdown: str) -> set[str]:
    """Return what a parser of Markdown that allows HTML finds in a document."""
    tokens = MarkdownIt("commonmark", {"html": True}).parse(markdown)
    return {token.type for token in tokens} | {child.type for token in tokens for child in token.children or ()}


ACTING = {"html_block", "html_inline", "link_open", "image", "heading_open"}


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_an_agents_text_can_act(text: str) -> None:
    assert not kinds("\n".join(prose(text))) & ACTING


@given(st.text(alphabet="`~<>&[]()!\\#=-*_ \n\tab1.:", max_size=60))
def test_no_combination_of_marks_can_act(text: str) -> None:
    assert not kinds("\n".join(prose(text))) & ACTING


@given(st.text(alphabet="`~<b>\n-", max_size=40))
def test_what_follows_a_text_is_outside_of_it(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse("\n".join([*prose(text), "", "#### next"]))
    assert [token.type for token in tokens[-3:]] == ["heading_open", "inline", "heading_close"]
    assert tokens[-3].level == 0


@given(st.text(alphabet="`~<b>\n# ", max_size=40))
def test_a_code_block_has_exactly_the_text(text: str) -> None:
    (block,) = MarkdownIt("commonmark").parse("\n".join(fenced(text)))
    assert block.content.strip("\n") == text.strip("\n")


@given(st.text(alphabet="`<&\\*_[]() \nab#", max_size=30))
def test_spans_and_titles_cannot_act(text: str) -> None:
    assert not kinds(f"x {code_span(text)} y {escape_line(text)}") & (ACTING | {"em_open", "strong_open"})


def test_the_markdown_of_an_agent_stays_readable() -> None:
    text = "A *list*:\n\n- `x < y` and **bold**\n1. two\n\n| a | b |\n\n```python\nif a < b: `x`\n```"
    assert list(prose(text)) == [
        "A *list*:",
        "",
        "- `x < y` and **bold**",
        "1. two",
        "",
        "| a | b |",
        "",
        "```python",
        "if a < b: `x`",
        "```",
    ]


@pytest.mark.parametrize(
    ("text", "fence"), [("plain", "```"), ("```\ninside\n```", "````"), ("a ````` b", "``````"), ("", "```")]
)
def test_a_fence_is_longer_than_any_in_the_text(text: str, fence: str) -> None:
    first, *inside, last = fenced(text, "sh")
    assert (first, "\n".join(inside), last) == (f"{fence}sh", text, fence)


@pytest.mark.parametrize(("given", "kept"), [("c++", "c++"), ("x`<b>", "x"), ("<b>", ""), ("a" * 100, "a" * 40)])
def test_the_language_of_a_code_block_is_a_name(given: str, kept: str) -> None:
    assert next(fenced("x", given)) == f"```{kept}"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("ls -la", "`ls -la`"),
        ("a\n b", "`a b`"),
        ("a `b` c", "``a `b` c``"),
        ("`", "`` ` ``"),
        ("``x", "``` ``x ```"),
        (" ", ""),
    ],
)
def test_a_code_span_holds_any_text_in_one_line(text: str, span: str) -> None:
    assert code_span(text) == span


def test_a_title_is_one_line_without_marks() -> None:
    assert escape_line("a\n*b* <i> [c](d) | # `e`") == "a \\*b\\* &lt;i&gt; \\[c\\](d) \\| \\# \\`e\\`"


def test_quotations_nest() -> None:
    assert list(quoted(iter(["a", ""]), 2)) == ["> > a", "> >"]


def test_long_lines_of_marks_take_no_long_time() -> None:
    started = time.process_time()
    for mark in ("-", "`", "> ", "- ", "=", "#", "``", "1. "):
        list(prose(mark * 50_000 + "x"))
    assert time.process_time() - started < 20, "quadratic time would take minutes"
