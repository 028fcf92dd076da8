"""What a card shows, what it cuts, and what it never lets through."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from bridle.views.conversation_json import conversation_document
from bridle.views.format_amounts import format_time
from bridle.views.terminal.cards import OUTPUT_LINES
from bridle.views.terminal.conversation import PRINTED_SEGMENTS, ColourView, PlainView
from bridle.views.terminal.escape_controls import escape_controls
from bridle.views.terminal.footer import gauge_lines
from bridle.views.terminal.page import DisplayOptions, Page
from bridle.views.terminal.styled_lines import cell_width
from bridle.wire.mask import Mask
from bridle.wire.record.gauge import Gauge
from bridle.wire.transcript.transcript import Transcript
from tests.views.fixtures.hostile_text import HOSTILE
from tests.wire.fixtures.conversations import (
    add_line,
    assistant_line,
    recorded,
    result,
    result_line,
    text,
    transcript_of,
    use,
    user_line,
)


def plain(transcript: Transcript, mask: Mask | None = None, *, full: bool = False, width: int = 60) -> str:
    out = io.StringIO()
    PlainView(transcript, mask or Mask(), DisplayOptions(width=width, full=full, guide="| "), out).finish()
    return out.getvalue()


def coloured(transcript: Transcript, width: int = 60) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="truecolor", width=width, height=30, markup=False)
    view = ColourView(transcript, Mask(), DisplayOptions(width=width), console)
    view.update()
    view.finish()
    return out.getvalue()


def hostile() -> Transcript:
    """A conversation in which every text that an agent can choose is hostile."""
    question = {"question": HOSTILE, "header": HOSTILE, "options": [{"label": HOSTILE, "description": HOSTILE}]}
    return transcript_of(
        assistant_line(text(HOSTILE), {"type": "thinking", "thinking": HOSTILE}, use("a", HOSTILE, command=HOSTILE)),
        assistant_line(text(f"```{HOSTILE}\n{HOSTILE}\n```")),
        user_line(result("a", HOSTILE), text(HOSTILE)),
        assistant_line(use("b", "Agent", description=HOSTILE, subagent_type=HOSTILE, prompt=HOSTILE)),
        assistant_line(use("c", "Edit", file_path=HOSTILE, old_string=HOSTILE, new_string="x"), parent="b"),
        assistant_line(use("d", "TodoWrite", todos=[{"content": HOSTILE, "status": HOSTILE}])),
        assistant_line(use("e", "AskUserQuestion", questions=[question])),
        assistant_line(text(HOSTILE), error=HOSTILE),
        HOSTILE.replace("\x00", ""),
        {"type": HOSTILE, "x": HOSTILE},
        {"type": "system", "subtype": "notification", "text": HOSTILE},
        result_line(
            HOSTILE + "!",
            subtype=HOSTILE,
            errors=[HOSTILE],
            terminal_reason=HOSTILE,
            permission_denials=[{"tool_name": HOSTILE}],
        ),
    )


def test_no_control_character_of_an_agent_reaches_the_terminal() -> None:
    shown = plain(hostile())
    assert "[red]no[/red]" in shown, "markup is text like any other"
    assert not set(shown) & set("\x1b\x9b\x07\x08\x00\u202e\u202c\r")
    assert "<U+202E>evil" in shown


def test_in_colour_the_only_sequences_are_colours_and_the_live_area() -> None:
    import re

    shown = coloured(hostile())
    rest = re.sub(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[1A|\x1b\[2K", "", shown)
    assert not set(rest) & set("\x1b\x9b\x07\x08\x00\u202e\u202c")
    assert "[red]no[/red]" in rest


@pytest.mark.parametrize("name", ["12-subagent", "02-tools-basic", "18e-askuser-stdio", "07-full-529", "25b-compact"])
def test_colour_shows_the_same_text_as_plain_output(name: str) -> None:
    from rich.text import Text

    transcript = recorded(name)
    out = io.StringIO()
    PlainView(transcript, Mask(), DisplayOptions(width=80), out).finish()
    console = Console(file=(drawn := io.StringIO()), force_terminal=True, color_system="truecolor", width=80)
    ColourView(transcript, Mask(), DisplayOptions(width=80), console).finish()
    lines = Text.from_ansi(drawn.getvalue()).plain.rstrip("\n").split("\n")
    assert [line.rstrip() for line in lines] == out.getvalue().rstrip("\n").split("\n")


def test_a_conversation_of_many_screens_is_drawn_whole_and_in_order() -> None:
    from rich.text import Text

    printed = [f"question {number}" for number in range(PRINTED_SEGMENTS)]
    drawn = Text.from_ansi(coloured(transcript_of(*(user_line(text(message)) for message in printed)))).plain
    assert [line.removeprefix("user › ").rstrip() for line in drawn.split("\n") if line.strip()] == printed


def test_long_output_is_cut_with_a_count_and_shown_whole_on_demand() -> None:
    transcript = transcript_of(
        assistant_line(use("a", "Bash", command="x")), user_line(result("a", "\n".join(map(str, range(50)))))
    )
    assert f"… {50 - OUTPUT_LINES} more lines" in plain(transcript)
    assert "\n  49\n" not in plain(transcript)
    assert "\n  49\n" in plain(transcript, full=True)
    assert "more line" not in plain(transcript, full=True)


def test_a_huge_single_line_is_cut_and_no_line_is_wider_than_asked() -> None:
    transcript = transcript_of(
        assistant_line(use("a", "Bash", command="y" * 9000)), user_line(result("a", "語" * 5000 + " x" * 5000))
    )
    for full in (False, True):
        lines = plain(transcript, full=full).split("\n")
        assert max(map(cell_width, lines)) <= 60
    assert "… 14,400 more" in plain(transcript)


def test_no_line_is_wider_than_asked_whatever_agents_call_things() -> None:
    for full in (False, True):
        assert max(map(cell_width, plain(hostile(), full=full, width=44).split("\n"))) <= 44


def test_what_the_transcript_did_not_keep_is_counted() -> None:
    transcript = Transcript(kept_characters=40)
    add_line(transcript, assistant_line(use("a", "Bash", command="x")))
    add_line(transcript, user_line(result("a", "0123456\n" * 10)))
    assert "… 5 more lines" in plain(transcript)
    assert "… 40 more characters in the log" in plain(transcript, full=True)


def test_secrets_are_masked_everywhere() -> None:
    mask = Mask(["hunter2hunter2"])
    secret = "hunter2hunter2"
    transcript = transcript_of(
        assistant_line(text(secret), use("a", "Bash", command=f"echo {secret}")),
        user_line(result("a", f"{secret}\nsk-ant-api03-0123456789abcdef")),
        assistant_line(
            use(
                "b",
                "Write",
                file_path="f",
                content=f"-----BEGIN PRIVATE KEY-----\nMII{secret}\n-----END PRIVATE KEY-----",
            )
        ),
        assistant_line(use("c", "TodoWrite", todos=[{"content": secret}])),
        assistant_line(use("d", "AskUserQuestion", questions=[{"question": secret, "options": [secret]}])),
        {"type": secret},
        result_line(f"no {secret}", errors=[secret]),
    )
    for shown in (plain(transcript, mask), str(conversation_document(transcript, mask))):
        assert "hunter2" not in shown
        assert "0123456789abcdef" not in shown
        assert "MII" not in shown


def test_thinking_can_be_left_out() -> None:
    out = io.StringIO()
    PlainView(recorded("04-thinking"), Mask(), DisplayOptions(thinking=False), out).finish()
    assert "Let me think" not in out.getvalue()
    assert "Answer." in out.getvalue()


def test_every_state_has_a_symbol_and_a_name() -> None:
    transcript = transcript_of(
        assistant_line(*(use(name, "Bash", command=name) for name in ("ok", "error", "denied", "interrupted"))),
        user_line(result("ok"), result("error", "no", is_error=True)),
        user_line(result("denied", "Permission to use Bash has been denied", is_error=True)),
        user_line(text("[Request interrupted by user]")),
        assistant_line(use("unanswered", "Bash", command="unanswered")),
        result_line("done"),
        assistant_line(use("running", "Bash", command="running")),
    )
    heads = [line for line in plain(transcript).split("\n") if "Bash  " in line]
    assert heads == [
        "✓ Bash  ok  [ok · 1.0 s]",
        "✗ Bash  error  [error · 1.0 s]",
        "⊘ Bash  denied  [denied · 2.0 s]",
        "■ Bash  interrupted  [interrupted]",
        "– Bash  unanswered  [unanswered]",
        "◌ Bash  running  [running]",
    ]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain", "plain"),
        ("a\tb", "a   b"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]52;c;aGk=\x07x", "x"),
        ("\x1b]0;never closed", "␛]0;never closed"),
        ("bell\x07", "bell␇"),
        ("\x9b2Jx", "x"),
        ("\x85", "<U+0085>"),
        ("a\u2066b\u200bc\ufeff", "a<U+2066>b<U+200B>c<U+FEFF>"),
        ("\udc80", "\ufffd"),
        ("👩\u200d💻 日本", "👩\u200d💻 日本"),
    ],
)
def test_text_is_made_harmless_and_stays_readable(given: str, shown: str) -> None:
    assert escape_controls(given) == shown


def test_the_document_nests_sub_agents_and_names_the_types() -> None:
    actual = conversation_document(recorded("12-subagent"), Mask())
    agent = actual["items"][1]
    assert [item["type"] for item in actual["items"]] == ["notice", "call", "text", "footer"]
    assert (agent["detail"]["type"], agent["detail"]["report"], agent["state"]) == ("sub_agent", "Sub report.", "ok")
    assert [(inner["name"], inner["output"]) for inner in agent["items"]] == [("Bash", "inside")]
    assert actual["items"][3]["cost_usd"] == 0.004


@pytest.mark.parametrize(
    ("refusal", "state"),
    [
        ([user_line(result("a", "Permission to use it has been denied", is_error=True))], "denied"),
        ([user_line(result("a", "String to replace not found in file.", is_error=True))], "error"),
        ([], "interrupted"),
    ],
)
def test_a_change_that_was_not_made_is_shown_as_requested(refusal: list[dict[str, Any]], state: str) -> None:
    for name, arguments, lines in (
        ("Edit", {"old_string": "one", "new_string": "two"}, ["  -one", "  +two"]),
        ("Write", {"content": "whole\n"}, ["  +whole"]),
        ("NotebookEdit", {"new_source": "x = 1"}, ["  +x = 1"]),
        ("MultiEdit", {"edits": [{"old_string": "one", "new_string": "two"}]}, ["  -one", "  +two"]),
    ):
        transcript = transcript_of(assistant_line(use("a", name, file_path="f", **arguments)), *refusal)
        transcript.finish()
        head, *shown = plain(transcript).splitlines()
        assert f"[{state} · requested +1 −{len(lines) - 1}" in head
        assert shown[: len(lines)] == lines


def test_a_todo_list_and_questions_without_a_result_are_shown() -> None:
    transcript = transcript_of(
        assistant_line(use("a", "TodoWrite", todos=[{"content": "look", "status": "pending"}])),
        assistant_line(use("b", "AskUserQuestion", questions=[{"question": "Which?", "multiSelect": True}])),
    )
    transcript.finish()
    shown = plain(transcript)
    assert "■ TodoWrite  0 of 1 done  [interrupted]\n  · look (pending)\n" in shown
    assert "  ? Which? (several answers)\n    not answered\n" in shown


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("AskUserQuestion", "Shall I?", "Shall I?"),
        ("AskUserQuestion", {"questions": "Shall I go?"}, "Shall I go?"),
        ("AskUserQuestion", {"questions": ["str?"]}, "str?"),
        ("AskUserQuestion", {"questions": [{"question": "Q?"}, "second?"]}, "second?"),
        ("AskUserQuestion", {"questions": [{"question": "Q?", "options": "a or b"}]}, "a or b"),
        ("AskUserQuestion", {"questions": [{"question": "Q?", "options": [{"x": "odd"}]}]}, "odd"),
        ("AskUserQuestion", {"questions": [{"question": f"q{n}"} for n in range(21)]}, "q20"),
        ("TodoWrite", "buy milk", "buy milk"),
        ("TodoWrite", {"todos": "buy milk"}, "buy milk"),
        ("TodoWrite", {"todos": [{"task": "buy milk"}]}, "buy milk"),
        ("Edit", {"file_path": "f", "old_str": "was", "new_str": "wanted"}, "wanted"),
        ("Edit", {"file_path": "f", "old_string": "a", "new_string": ["wanted"]}, "wanted"),
        ("Edit", ["x", 1], '["x",1]'),
        ("Write", {"file_path": "f", "content": {"name": "wanted"}}, "wanted"),
        ("Write", "bare", "bare"),
        ("MultiEdit", {"file_path": "f", "edits": "wanted"}, "wanted"),
        ("MultiEdit", {"file_path": "f", "edits": [{"old_string": "a", "new_string": "b"}, "wanted"]}, "wanted"),
        ("NotebookEdit", {"notebook_path": "n", "new_source": ["wanted"]}, "wanted"),
        ("TaskCreate", "buy milk", "buy milk"),
        ("TaskUpdate", {"id": "buy milk"}, "buy milk"),
        ("Agent", {"subagent_type": "Explore", "prompt": [{"type": "text", "text": "wanted"}]}, "wanted"),
    ],
)
def test_an_input_that_does_not_fit_the_card_of_its_tool_is_shown_as_sent_with_the_output(
    name: str, arguments: Any, shown: str
) -> None:
    block = {"type": "tool_use", "id": "a", "name": name, "input": arguments}
    lines = plain(transcript_of(assistant_line(block), user_line(result("a", "what came back"))), full=True)
    assert shown in lines
    assert "what came back" in lines
    assert "+0 −0" not in lines
    assert "0 questions" not in lines
    assert "0 of 0" not in lines


def test_an_edit_that_changes_nothing_shows_its_output() -> None:
    edit = use("a", "Edit", file_path="f", old_string="same", new_string="same")
    assert "no change" in plain(transcript_of(assistant_line(edit), user_line(result("a", "no change"))))


def test_a_second_result_keeps_the_change_of_an_edit() -> None:
    edit = use("a", "Edit", file_path="f", old_string="was", new_string="is now")
    lines = plain(transcript_of(assistant_line(edit), user_line(result("a")), user_line(result("a"))))
    assert "+is now" in lines


@pytest.mark.parametrize(
    "line",
    [
        {"type": "assistant", "message": "hi bare"},
        {"type": "user", "message": "hi bare"},
        {"type": "assistant", "message": None, "note": "hi bare"},
        {"type": "user", "note": "hi bare"},
        {"type": "assistant", "message": {"content": {"words": "hi bare"}}},
        {"type": "result", "subtype": "success", "result": ["hi bare"]},
        {"type": "result", "subtype": "success", "result": {"words": "hi bare"}},
    ],
)
def test_a_message_or_result_of_another_shape_is_shown_as_sent(line: dict[str, Any]) -> None:
    assert "hi bare" in plain(transcript_of(line), full=True, width=200)
    assert f"unknown ({line['type']})" in plain(transcript_of(line))


def test_a_message_with_no_blocks_shows_nothing() -> None:
    assert plain(transcript_of(assistant_line())) == ""


def test_two_calls_with_one_id_are_both_shown_and_answered_in_order() -> None:
    first, second = use("a", "Bash", command="rm important"), use("a", "Bash", command="ls")
    lines = plain(transcript_of(assistant_line(first), assistant_line(second), user_line(result("a", "removed"))))
    assert "✓ Bash  rm important" in lines
    assert "◌ Bash  ls" in lines
    both = transcript_of(
        assistant_line(first), assistant_line(second), user_line(result("a", "removed"), result("a", "listed"))
    )
    assert plain(both).index("removed") < plain(both).index("✓ Bash  ls") < plain(both).index("listed")


def test_a_call_that_is_printed_twice_is_shown_once() -> None:
    call = use("a", "Bash", command="ls")
    assert plain(transcript_of(assistant_line(call), assistant_line(call))).count("Bash") == 1


def test_a_fence_without_an_end_gets_none() -> None:
    lines = plain(transcript_of(assistant_line(text("Look:```py\nx\n```\nafter"))))
    assert lines.split() == ["●", "Look:```py", "x", "```", "after"]


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        ({"result": ""}, "── ✗ finished with an empty result and no text"),
        ({"result": None}, "── ✗ finished with an empty result and no text"),
        ({"result": " \n"}, "── ✗ finished with an empty result and no text"),
        ({"result": "done"}, "── ✓ finished"),
        ({"result": "", "num_turns": 0}, "── ✓ finished"),
        ({"result": "", "structured_output": {"a": 1}}, "── ✓ finished"),
    ],
)
def test_a_turn_without_any_text_is_no_success(result: dict[str, Any], verdict: str) -> None:
    line = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, **result}
    assert plain(transcript_of(line)).startswith(verdict)
    assert plain(transcript_of(assistant_line(text("said")), line)).startswith("● said\n\n── ✓ finished")


def gauge_text(gauge: Gauge, mask: Mask | None = None, width: int = 100) -> str:
    page = Page(mask or Mask(), DisplayOptions(width=width))
    return "\n".join(line.plain for line in gauge_lines(page, gauge, width))


def test_the_gauge_has_context_and_next_reset() -> None:
    full = Gauge(context_tokens=50_000, limit_status="allowed_warning", limit_kind="five_hour", resets_at=1_794_751_200)
    assert gauge_text(full, width=200) == (
        "── context 50,000 of about 200,000 tokens (25%) · limit allowed warning (five hour), "
        f"next reset {format_time(1_794_751_200)}"
    )
    assert gauge_text(Gauge(context_tokens=1, is_window_known=True)) == "── context 1 of 200,000 tokens (0%)"
    assert gauge_text(Gauge()) == ""


def test_hostile_words_of_a_limit_are_escaped_and_masked() -> None:
    shown = gauge_text(Gauge(limit_status=f"{HOSTILE}\nsecret-value", resets_at=1), Mask(["secret-value"]))
    assert "\x1b" not in shown
    assert "secret-value" not in shown
    assert "\u202e" not in shown


def test_an_image_is_shown_with_type_and_size() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    remote = {"type": "image", "source": {"type": "url", "url": "http://example.org/x.png"}}
    shown = plain(
        transcript_of(
            user_line(image),
            assistant_line(use("a", "Read", file_path="a.png")),
            user_line(result("a", [text("before"), image, remote])),
        )
    )
    assert "user › [image: image/png, 3 bytes]" in shown
    assert "  before\n  [image: image/png, 3 bytes]\n  [image: not in the log]\n" in shown


def test_nothing_vanishes_from_a_question() -> None:
    hidden = "ls \x1b]0; rm -rf ~\x07\x1b[8m; rm b"
    asked = {"question": hidden, "options": [{"label": hidden, "description": hidden}]}
    shown = plain(transcript_of(assistant_line(use("e", "AskUserQuestion", questions=[asked]))), width=400)
    assert shown.count(r"ls \x1b]0; rm -rf ~\x07\x1b[8m; rm b") == 3
