"""The rules of a conversation, each shown by the smallest stream that needs it."""

from __future__ import annotations

from bridle.wire.mask import Mask
from bridle.wire.transcript.item_board import MAX_THREAD_DEPTH, ItemBoard
from bridle.wire.transcript.items import (
    Call,
    Failure,
    FileChange,
    Notice,
    NoticeKind,
    Speaker,
    State,
    SubAgent,
    TextItem,
    UnknownItem,
)
from bridle.wire.transcript.prose_and_code import Code, Prose
from bridle.wire.transcript.transcript import Transcript
from tests.wire.fixtures.conversations import (
    add_line,
    assistant_line,
    calls,
    kinds,
    result,
    result_line,
    states,
    stream_line,
    text,
    transcript_of,
    use,
    user_line,
)


def spoken(transcript: Transcript, thread: str | None = None) -> list[str]:
    return [item.text for item in transcript.items(thread) if isinstance(item, TextItem)]


def test_every_block_on_one_line_counts() -> None:
    transcript = transcript_of(
        assistant_line(text("both"), use("a", "Bash", command="one"), use("b", "Bash", command="two")),
        user_line(result("b", "second"), result("a", "first", is_error=True)),
    )
    assert kinds(transcript.items()) == ["TextItem", "Call", "Call"]
    assert [(call.output, call.state) for call in calls(transcript)] == [
        ("first", State.ERROR),
        ("second", State.OK),
    ]


def test_duration_is_the_time_between_the_arrival_of_call_and_result() -> None:
    transcript = transcript_of(
        assistant_line(use("a", "Bash", command="x")), assistant_line(text("meanwhile")), user_line(result("a"))
    )
    assert calls(transcript)[0].seconds == 2.0


def test_without_arrival_times_there_is_no_duration() -> None:
    transcript = Transcript()
    add_line(transcript, assistant_line(use("a", "Bash", command="x")))
    add_line(transcript, user_line(result("a")))
    assert calls(transcript)[0].seconds is None


def test_add_names_the_items_that_changed_and_no_others() -> None:
    transcript = Transcript()
    assert add_line(transcript, assistant_line(text("one"), use("a", "Bash", command="x"))) == (1, 2)
    assert add_line(transcript, user_line(result("a"))) == (2,)
    assert add_line(transcript, {"type": "keep_alive"}) == ()


def test_what_runs_when_the_process_ends_was_interrupted() -> None:
    transcript = transcript_of(
        assistant_line(use("a", "Bash", command="x"), use("b", "Agent", prompt="p")), user_line(result("a"))
    )
    assert states(transcript) == [("Bash", "ok"), ("Agent", "running")]
    assert transcript.finish() == (2,)
    assert states(transcript) == [("Bash", "ok"), ("Agent", "interrupted")]


def test_sub_agents_nest_in_sub_agents() -> None:
    transcript = transcript_of(
        assistant_line(use("outer", "Agent", prompt="p", subagent_type="Plan")),
        assistant_line(use("inner", "Task", prompt="q", subagent_type="Explore"), parent="outer"),
        assistant_line(text("deep"), parent="inner"),
        user_line(result("inner"), parent="outer"),
        assistant_line(text("main")),
    )
    assert states(transcript) == [("Agent", "running")]
    assert states(transcript, "outer") == [("Task", "ok")]
    assert spoken(transcript, "inner") == ["deep"]
    assert spoken(transcript) == ["main"]


def test_an_item_without_a_call_gets_a_thread_and_joins_its_call_later() -> None:
    transcript = transcript_of(
        assistant_line(text("lost"), parent="gone", subagent_type="Explore", task_description="look")
    )
    orphan = calls(transcript)[0]
    assert (orphan.name, orphan.detail) == ("", SubAgent(kind="Explore", description="look"))
    assert spoken(transcript, "gone") == ["lost"]
    add_line(transcript, assistant_line(use("gone", "Agent", prompt="p", subagent_type="Explore")))
    assert states(transcript) == [("Agent", "running")]


def test_a_result_without_a_call_is_shown_as_one() -> None:
    transcript = transcript_of(user_line(result("never", "words")))
    assert [(call.name, call.output, call.state) for call in calls(transcript)] == [("", "words", State.OK)]


def test_calls_that_claim_to_be_inside_each_other_still_make_a_tree() -> None:
    transcript = transcript_of(
        assistant_line(use("a", "Agent"), parent="a"),
        assistant_line(use("b", "Agent"), parent="c"),
        assistant_line(use("c", "Agent"), parent="b"),
        assistant_line(text("x"), parent=""),
    )
    seen: list[int] = []

    def walk(thread: str | None) -> None:
        for item in transcript.items(thread):
            seen.append(item.id)
            if isinstance(item, Call):
                walk(item.call_id)

    walk(None)
    assert sorted(seen) == [1, 2, 3, 4], "every item once, none lost"


def test_endless_nesting_is_bounded_and_loses_nothing() -> None:
    deep = 3 * MAX_THREAD_DEPTH
    lines = [
        assistant_line(use(str(place + 1), "Agent"), parent=str(place) if place else None) for place in range(deep)
    ]
    transcript = transcript_of(*lines)
    assert len(transcript.threads) <= MAX_THREAD_DEPTH + 1
    assert sum(len(transcript.items(thread)) for thread in transcript.threads) == deep


def test_a_live_text_grows_and_is_replaced() -> None:
    transcript = transcript_of(
        stream_line("message_start", message={"id": "m1"}),
        stream_line("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        stream_line("content_block_delta", index=0, delta={"type": "text_delta", "text": "par"}),
        stream_line("content_block_delta", index=0, delta={"type": "text_delta", "text": "tial"}),
    )
    item = transcript.items()[0]
    assert isinstance(item, TextItem)
    assert (item.text, item.live) == ("partial", True)
    assert add_line(transcript, assistant_line(text("partial and whole"))) == (item.id,)
    assert spoken(transcript) == ["partial and whole"]


def test_an_answer_that_was_cut_off_and_begun_again_is_shown_once() -> None:
    start = stream_line("content_block_start", index=0, content_block={"type": "text", "text": ""})
    piece = stream_line("content_block_delta", index=0, delta={"type": "text_delta", "text": "half"})
    begin = stream_line("message_start", message={"id": "m1"})
    transcript = transcript_of(begin, start, piece, begin, start, piece, assistant_line(text("half and half")))
    assert spoken(transcript) == ["half and half"]


def test_an_unfinished_text_stays_when_the_process_ends() -> None:
    start = stream_line("content_block_start", index=0, content_block={"type": "text", "text": ""})
    piece = stream_line("content_block_delta", index=0, delta={"type": "text_delta", "text": "half"})
    transcript = transcript_of(start, piece)
    transcript.finish()
    assert spoken(transcript) == ["half"]
    assert not any(isinstance(item, TextItem) and item.live for item in transcript.items())


def test_a_footer_repeats_no_shown_text() -> None:
    assert transcript_of(assistant_line(text("yes")), result_line("yes")).footers[0].text == ""
    assert (
        transcript_of(assistant_line(text("a")), assistant_line(text("b")), result_line("ab")).footers[0].text == ""
    ), "one answer in two blocks"
    assert transcript_of(assistant_line(text("yes")), result_line("no")).footers[0].text == "no"
    assert transcript_of(result_line("only here")).footers[0].text == "only here"
    seed = {"role": "assistant", "content": [{"type": "text", "text": "Done!"}]}
    assert transcript_of(assistant_line(text("Done!")), {**result_line(), "result": seed}).footers[0].text == ""


def test_a_refusal_is_recognised_before_the_result_and_confirmed_or_corrected_by_it() -> None:
    message = "Permission to use Bash has been denied because of a rule."
    lines = (assistant_line(use("a", "Bash", command="x")), user_line(result("a", message, is_error=True)))
    assert states(transcript_of(*lines)) == [("Bash", "denied")]
    listed = [{"tool_name": "Bash", "tool_use_id": "a", "tool_input": {}}]
    assert states(transcript_of(*lines, result_line(permission_denials=listed))) == [("Bash", "denied")]
    assert states(transcript_of(*lines, result_line(permission_denials=[]))) == [("Bash", "error")]
    assert states(transcript_of(*lines, result_line())) == [("Bash", "denied")], "this agent lists no denials at all"


def test_a_call_that_a_hook_refused_is_denied_by_the_result() -> None:
    lines = (assistant_line(use("a", "Bash", command="x")), user_line(result("a", "not on my watch", is_error=True)))
    assert states(transcript_of(*lines)) == [("Bash", "error")]
    listed = [{"tool_name": "Bash", "tool_use_id": "a"}]
    assert states(transcript_of(*lines, result_line(permission_denials=listed))) == [("Bash", "denied")]


def test_an_interruption_ends_what_runs_in_the_foreground() -> None:
    transcript = transcript_of(
        assistant_line(use("a", "Bash", command="x"), use("b", "Bash", command="y")),
        user_line(result("b", "Command running in background with ID: t1. Wait.")),
        user_line(text("[Request interrupted by user]")),
    )
    assert [(call.state, call.background) for call in calls(transcript)] == [
        (State.INTERRUPTED, False),
        (State.RUNNING, True),
    ]


def test_long_output_is_cut_with_the_size_of_the_rest() -> None:
    transcript = Transcript(kept_characters=100)
    add_line(transcript, assistant_line(use("a", "Bash", command="x")))
    add_line(transcript, user_line(result("a", "line of ten\n" * 50)))
    call = calls(transcript)[0]
    assert len(call.output) == 100
    assert (call.omitted_characters, call.omitted_lines) == (500, 42)


def test_a_secret_at_a_cut_leaves_no_half() -> None:
    transcript = Transcript(mask=Mask(["hunter2hunter2"]), kept_characters=100)
    add_line(transcript, assistant_line(use("a", "Bash", command="x" * 195 + "hunter2hunter2" + "y" * 99)))
    add_line(transcript, user_line(result("a", "x" * 95 + "hunter2hunter2" + "y" * 99)))
    call = calls(transcript)[0]
    assert call.output == "x" * 95 + "***yy"
    assert "hunt" not in call.summary


def test_a_line_that_is_not_json_is_a_text_and_a_broken_event_is_an_error() -> None:
    transcript = transcript_of(
        "npm warn something", '{"type":"assistant","message":{"content":[{"type":"te', '{"type":"new","x":1}'
    )
    stray, broken, unknown = transcript.items()
    assert isinstance(stray, TextItem)
    assert (stray.text, stray.speaker) == ("npm warn something", Speaker.STRAY)
    assert isinstance(broken, Failure)
    assert broken.name == "broken line"
    assert isinstance(unknown, UnknownItem)
    assert (unknown.kind, unknown.raw) == ("new", '{"type":"new","x":1}')


def test_an_unknown_block_is_a_chip_beside_its_neighbours() -> None:
    transcript = transcript_of(assistant_line(text("a"), {"type": "hologram", "x": 1}, text("b")))
    assert kinds(transcript.items()) == ["TextItem", "UnknownItem", "TextItem"]


def test_limits_and_a_later_session_are_notices() -> None:
    transcript = transcript_of(
        {"type": "system", "subtype": "init", "model": "m", "session_id": "s", "tools": []},
        {
            "type": "rate_limit_event",
            "rate_limit_info": {"status": "rejected", "rateLimitType": "five_hour", "resetsAt": 1794704457},
        },
        {"type": "system", "subtype": "init", "model": "m", "session_id": "s", "tools": []},
        {"type": "system", "subtype": "init", "model": "n", "session_id": "s", "tools": []},
    )
    notices = [(item.kind, item.text) for item in transcript.items() if isinstance(item, Notice)]
    assert notices == [
        (NoticeKind.SESSION, "m"),
        (NoticeKind.RATE_LIMIT, "rejected (five hour), resets 2026-11-15 01:00 UTC"),
        (NoticeKind.SESSION, "n"),
    ]


def test_a_change_is_shown_from_the_input_until_the_result_reports_it() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c\nd", "new_string": "c"}]
    transcript = transcript_of(assistant_line(use("a", "MultiEdit", file_path="f", edits=edits)))
    detail = calls(transcript)[0].detail
    assert isinstance(detail, FileChange)
    assert (detail.path, detail.added, detail.removed) == ("f", 1, 2)
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b", "+e"]}]
    add_line(transcript, user_line(result("a"), tool_use_result={"filePath": "f", "structuredPatch": patch}))
    detail = calls(transcript)[0].detail
    assert isinstance(detail, FileChange)
    assert (detail.added, detail.removed) == (2, 1)


def test_details_beside_several_results_belong_to_none_of_them() -> None:
    patch = [{"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 3, "lines": ["+1", "+2", "+3"]}]
    transcript = transcript_of(
        assistant_line(*(use(name, "Edit", file_path=name, old_string="a", new_string="b") for name in ("one", "two"))),
        user_line(result("one"), result("two"), tool_use_result={"structuredPatch": patch}),
    )
    details = [call.detail for call in calls(transcript)]
    assert [(d.added, d.removed) for d in details if isinstance(d, FileChange)] == [(1, 1), (1, 1)]


def test_a_call_inside_its_own_thread_is_one_call() -> None:
    board = ItemBoard()
    board.call_in("a", "a", None)
    assert [len(board.items(thread)) for thread in (None, "a")] == [1, 0]


def test_code_in_an_answer_is_separated_from_prose() -> None:
    transcript = transcript_of(assistant_line(text("See:\n```python\nx = 1\n```\nDone.")))
    message = transcript.items()[0]
    assert isinstance(message, TextItem)
    assert message.parts == (Prose("See:"), Code("x = 1", "python"), Prose("Done."))


def test_user_text_is_distinguished_from_program_text() -> None:
    transcript = transcript_of(
        user_line(text("mine"), isReplay=True),
        user_line(text("Stop hook feedback"), isSynthetic=True),
    )
    assert [item.speaker for item in transcript.items() if isinstance(item, TextItem)] == [
        Speaker.USER,
        Speaker.PROGRAM,
    ]
