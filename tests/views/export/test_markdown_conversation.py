"""A conversation as Markdown: every kind of item, nested sub-agents, and nothing in it that can act."""

from __future__ import annotations

import json
from typing import Any

import pytest
from markdown_it import MarkdownIt

from bridle.views.export.markdown_conversation import MarkdownConversation
from bridle.wire.mask import Mask
from bridle.wire.record.gauge import Gauge
from bridle.wire.record.outcome import Ending
from bridle.wire.transcript.transcript import Transcript
from tests.views.fixtures.hostile_text import HOSTILE
from tests.wire.fixtures.conversations import (
    assistant_line,
    recorded,
    result,
    result_line,
    text,
    transcript_of,
    use,
    user_line,
)

MARKDOWN_HOSTILE = f"<script>alert(1)</script> ![x](http://h/x.png) [l](javascript:x)\n```\n~~~\n# head {HOSTILE}"


def markdown(transcript: Transcript, mask: Mask | None = None) -> str:
    renderer = MarkdownConversation(transcript, mask or Mask())
    return "\n".join(line.rstrip() for item in transcript.items() for line in renderer.item(item))


def hostile() -> Transcript:
    words = MARKDOWN_HOSTILE
    question = {"question": words, "header": words, "options": [{"label": words, "description": words}]}
    denial = {"tool_name": words, "tool_use_id": words}
    transcript = transcript_of(
        {"type": "system", "subtype": "init", "session_id": words, "model": words},
        assistant_line(text(words), {"type": "thinking", "thinking": words}, use("a", words, command=words)),
        user_line(result("a", words), text(words)),
        assistant_line(use("b", "Agent", description=words, subagent_type=words, prompt=words)),
        assistant_line(text(words), use("c", "Edit", file_path=words, old_string=words, new_string="x"), parent="b"),
        user_line(result("c", words, is_error=True), parent="b"),
        user_line(result("b", words)),
        assistant_line(use("d", "AskUserQuestion", questions=[question])),
        assistant_line(use("e", "TodoWrite", todos=[{"content": words, "status": words}])),
        {"type": words, "x": words},
        words,
        result_line(words, is_error=True, errors=[words], permission_denials=[denial]),
    )
    transcript.finish(Ending(exit_code=1, stderr=words, fault=words))
    return transcript


def test_nothing_that_an_agent_chooses_can_act() -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).parse(markdown(hostile()))
    inline = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in (*tokens, *inline)}
    assert not kinds & {"html_block", "html_inline", "link_open", "image"}
    headings = [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "heading_open"]
    assert all(heading.split(" · ")[0].isdigit() for heading in headings), "only items have headings"
    assert {token.tag for token in tokens if token.type == "heading_open"} == {"h4"}


def test_control_characters_are_visible_and_secrets_masked() -> None:
    shown = markdown(transcript_of(assistant_line(text("a\x1b[2Jb \u202e secret-value"))), Mask(["secret-value"]))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "secret-value" not in shown
    assert "***" in shown


def test_a_secret_across_the_lines_of_a_diff_is_masked() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"
    shown = markdown(transcript_of(assistant_line(use("a", "Write", file_path="k", content=key))))
    assert "abc" not in shown


def test_sub_agents_are_nested_quotations() -> None:
    transcript = transcript_of(
        assistant_line(use("a", "Agent", description="outer", prompt="p")),
        assistant_line(use("b", "Agent", description="inner", prompt="q"), parent="a"),
        assistant_line(text("deep"), parent="b"),
        user_line(result("b", "inner report"), parent="a"),
        user_line(result("a", "outer report")),
    )
    lines = markdown(transcript).split("\n")
    assert "> > deep" in lines
    assert "> inner report" in lines
    assert "outer report" in lines
    assert "> > #### 3 · agent" in lines


@pytest.mark.parametrize(("state", "is_error", "head"), [("ok", False, "+1 −1"), ("denied", True, "requested +1 −1")])
def test_an_edit_is_a_diff_also_if_it_was_denied(state: str, is_error: bool, head: str) -> None:
    answer = "Claude requested permissions to edit a.py, but you haven't granted it yet." if is_error else "done"
    shown = markdown(
        transcript_of(
            assistant_line(use("a", "Edit", file_path="a.py", old_string="x = 1", new_string="x = 2")),
            user_line(result("a", answer, is_error=is_error)),
        )
    )
    assert f"#### 1 · Edit · {state} · {head}" in shown
    assert "-x = 1\n+x = 2" in shown
    assert "```diff" in shown


@pytest.mark.parametrize("value", [7, "words", [1, "two"], None, {"a": {"b": [True]}}])
def test_the_input_of_a_call_is_shown_whatever_its_type(value: Any) -> None:
    call = {"type": "tool_use", "id": "a", "name": "Odd", "input": value}
    assert json.dumps(value, indent=2) in markdown(transcript_of(assistant_line(call)))


def test_questions_have_their_options_and_answers() -> None:
    shown = markdown(recorded("18e-askuser-stdio"))
    assert "- **" in shown
    assert "*answer: B*" in shown


def test_the_end_of_a_process_has_exit_code_and_stderr() -> None:
    transcript = transcript_of(assistant_line(text("hi")))
    transcript.finish(Ending(exit_code=-9, stderr="Killed\nby the kernel"))
    shown = markdown(transcript)
    assert "exit code -9 (SIGKILL)" in shown
    assert "```\nKilled\nby the kernel\n```" in shown


def test_the_gauge_is_one_line() -> None:
    renderer = MarkdownConversation(Transcript(), Mask())
    assert list(renderer.gauge(Gauge(context_tokens=50, is_window_known=True))) == [
        "context 50 of 200,000 tokens (0%)",
        "",
    ]
    assert list(renderer.gauge(Gauge())) == []
