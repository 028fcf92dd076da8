"""A conversation that is written while it grows: nothing is lost, nothing waits, nothing is written twice."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from bridle.views.terminal.cards import OUTPUT_LINES
from bridle.views.terminal.conversation import ColourView, PlainView
from bridle.views.terminal.page import DisplayOptions
from bridle.wire.events.decode import Decoder
from bridle.wire.mask import Mask
from bridle.wire.transcript.transcript import Transcript
from tests.wire.fixtures.conversations import (
    RECORDINGS,
    add_line,
    assistant_line,
    result,
    stream_line,
    text,
    use,
    user_line,
)


class Written:
    """A plain view, and what it has written since the last look."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self._out = io.StringIO()
        self.view = PlainView(self.transcript, Mask(), DisplayOptions(width=60, guide="| "), self._out)

    def after(self, *lines: dict[str, Any] | str) -> str:
        for line in lines:
            add_line(self.transcript, line)
        self.view.update()
        return self.take()

    def take(self) -> str:
        text = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return text


def test_a_call_is_written_when_it_starts_and_when_it_ends() -> None:
    written = Written()
    assert written.after(assistant_line(text("first"))) == "● first\n"
    assert written.after(assistant_line(use("a", "Bash", command="x"))) == "\n◌ Bash  x  [running]\n"
    assert written.after(assistant_line(use("b", "Bash", command="y"))) == "◌ Bash  y  [running]\n"
    assert written.after() == ""
    assert written.after(user_line(result("b", "out"))) == "\n✓ Bash  y  [ok]\n  out\n"
    written.transcript.finish()
    written.view.finish()
    assert written.take() == "\n■ Bash  x  [interrupted]\n"


def test_a_call_that_has_ended_when_it_is_first_seen_is_written_once() -> None:
    written = Written()
    lines = (assistant_line(use("a", "Bash", command="x")), user_line(result("a", "out")))
    assert written.after(*lines) == "✓ Bash  x  [ok]\n  out\n"


def test_text_that_extends_a_written_text_is_written_below_it() -> None:
    written = Written()
    assert written.after(assistant_line(text("one"))) == "● one\n"
    assert written.after(assistant_line(text(" and two"))) == "  and two\n"
    assert written.after(assistant_line(text("three"), message="m2")) == "\n  three\n"
    written.view.finish()
    assert written.take() == ""


def test_stray_lines_are_written_as_they_come_and_counted_at_their_end() -> None:
    written = Written()
    assert written.after("npm warn 0") == "stray line › npm warn 0\n"
    assert written.after(*(f"npm warn {number}" for number in range(1, 30))).split() == [
        word for number in range(1, OUTPUT_LINES) for word in ("npm", "warn", str(number))
    ]
    assert written.after("npm warn 30") == ""
    assert written.after(assistant_line(text("first"))) == "             … 21 more lines\n\n● first\n"
    written.after("last one")
    written.view.finish()
    assert written.take() == ""


def test_a_text_under_way_is_written_once_it_is_whole() -> None:
    written = Written()
    start = stream_line("content_block_start", index=0, content_block={"type": "text", "text": ""})
    piece = stream_line("content_block_delta", index=0, delta={"type": "text_delta", "text": "par"})
    assert written.after(start, piece) == ""
    assert written.after(assistant_line(text("partial"))) == "● partial\n"


def test_a_question_is_written_with_its_options_before_it_is_answered() -> None:
    questions = [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]
    asked = Written().after(assistant_line(use("q", "AskUserQuestion", questions=questions)))
    assert asked == "◌ AskUserQuestion  1 question  [running]\n  ? Which?\n    - A\n    - B\n    not answered\n"


def test_sub_agents_are_written_as_they_work_below_the_head_of_their_call() -> None:
    written = Written()
    start = assistant_line(
        use("s", "Agent", description="look", prompt="please look", subagent_type="Explore"),
        use("t", "Agent", description="listen", subagent_type="Explore"),
    )
    assert written.after(start) == (
        "◌ Agent  Explore: look  [running · 0 tool calls]\n| prompt › please look\n"
        "◌ Agent  Explore: listen  [running · 0 tool calls]\n"
    )
    assert written.after(
        assistant_line(use("a", "Bash", command="ls"), parent="s"), user_line(result("a", "x.py"), parent="s")
    ) == ("\n◌ Agent  Explore: look  [running · 1 tool call]\n| ✓ Bash  ls  [ok]\n|   x.py\n")
    assert written.after(assistant_line(text("I see."), parent="s")) == "|\n| ● I see.\n"
    assert written.after(assistant_line(text("I hear."), parent="t")) == (
        "\n◌ Agent  Explore: listen  [running · 0 tool calls]\n| ● I hear.\n"
    )
    assert written.after(user_line(result("s", "one file"))) == (
        "\n✓ Agent  Explore: look  [ok · 1 tool call]\n| report › one file\n"
    )


def test_what_comes_after_the_end_of_a_background_agent_is_not_lost() -> None:
    written = Written()
    written.after(
        assistant_line(use("s", "Agent", description="look", subagent_type="Explore", run_in_background=True)),
        user_line(result("s", "Async agent launched successfully."), tool_use_result={"isAsync": True}),
    )
    assert "● late" in written.after(assistant_line(text("late"), parent="s"))


CONVERSATIONS = ["02-tools-basic", "11-partial", "12-subagent", "12b-subagent-parallel", "13b-bg-agent", "25b-compact"]


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_conversation_that_came_line_by_line_has_every_line_of_the_whole(name: str) -> None:
    data = (RECORDINGS / f"{name}.ndjson").read_bytes()
    whole, pieces = io.StringIO(), io.StringIO()
    for out, chunks in ((whole, [data]), (pieces, data.splitlines(keepends=True))):
        transcript, decoder = Transcript(), Decoder()
        view = PlainView(transcript, Mask(), DisplayOptions(width=80, guide="| "), out)
        for chunk in chunks:
            for event in decoder.feed(chunk):
                transcript.add(event)
            view.update()
        transcript.finish()
        view.finish()
    written = {*pieces.getvalue().splitlines(), "|"}
    assert [line for line in whole.getvalue().splitlines() if line not in written] == []


def test_an_interrupted_terminal_keeps_what_was_in_its_live_region() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system=None, width=60, height=20)
    transcript = Transcript()
    view = ColourView(transcript, Mask(), DisplayOptions(width=60), console)
    add_line(transcript, assistant_line(text("first"), use("a", "Bash", command="x"), text("last")))
    view.update()
    out.seek(0)
    out.truncate()
    view.finish()
    shown = [line for line in Text.from_ansi(out.getvalue()).plain.splitlines() if line.strip()]
    assert [line.strip() for line in shown[-2:]] == ["◌ Bash  x  [running]", "● last"]
