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
    answers,
    calls,
    ends,
    kinds,
    result,
    says,
    states,
    streams,
    tell,
    text,
    told,
    use,
)


def spoken(transcript: Transcript, thread: str | None = None) -> list[str]:
    return [item.text for item in transcript.items(thread) if isinstance(item, TextItem)]


def test_every_block_on_one_line_counts() -> None:
    transcript = told(
        says(text("both"), use("a", "Bash", command="one"), use("b", "Bash", command="two")),
        answers(result("b", "second"), result("a", "first", is_error=True)),
    )
    assert kinds(transcript.items()) == ["TextItem", "Call", "Call"]
    assert [(call.output, call.state) for call in calls(transcript)] == [
        ("first", State.ERROR),
        ("second", State.OK),
    ]


def test_duration_is_the_time_between_the_arrival_of_call_and_result() -> None:
    transcript = told(says(use("a", "Bash", command="x")), says(text("meanwhile")), answers(result("a")))
    assert calls(transcript)[0].seconds == 2.0


def test_without_arrival_times_there_is_no_duration() -> None:
    transcript = Transcript()
    tell(transcript, says(use("a", "Bash", command="x")))
    tell(transcript, answers(result("a")))
    assert calls(transcript)[0].seconds is None


def test_add_names_the_items_that_changed_and_no_others() -> None:
    transcript = Transcript()
    assert tell(transcript, says(text("one"), use("a", "Bash", command="x"))) == (1, 2)
    assert tell(transcript, answers(result("a"))) == (2,)
    assert tell(transcript, {"type": "keep_alive"}) == ()


def test_what_runs_when_the_process_ends_was_interrupted() -> None:
    transcript = told(says(use("a", "Bash", command="x"), use("b", "Agent", prompt="p")), answers(result("a")))
    assert states(transcript) == [("Bash", "ok"), ("Agent", "running")]
    assert transcript.finish() == (2,)
    assert states(transcript) == [("Bash", "ok"), ("Agent", "interrupted")]


def test_sub_agents_nest_in_sub_agents() -> None:
    transcript = told(
        says(use("outer", "Agent", prompt="p", subagent_type="Plan")),
        says(use("inner", "Task", prompt="q", subagent_type="Explore"), parent="outer"),
        says(text("deep"), parent="inner"),
        answers(result("inner"), parent="outer"),
        says(text("main")),
    )
    assert states(transcript) == [("Agent", "running")]
    assert states(transcript, "outer") == [("Task", "ok")]
    assert spoken(transcript, "inner") == ["deep"]
    assert spoken(transcript) == ["main"]


def test_an_orphan_gets_a_thread_and_is_adopted_when_its_call_comes() -> None:
    transcript = told(says(text("lost"), parent="gone", subagent_type="Explore", task_description="look"))
    orphan = calls(transcript)[0]
    assert (orphan.name, orphan.detail) == ("", SubAgent(kind="Explore", description="look"))
    assert spoken(transcript, "gone") == ["lost"]
    tell(transcript, says(use("gone", "Agent", prompt="p", subagent_type="Explore")))
    assert states(transcript) == [("Agent", "running")]


def test_a_result_without_a_call_is_shown_as_one() -> None:
    transcript = told(answers(result("never", "words")))
    assert [(call.name, call.output, call.state) for call in calls(transcript)] == [("", "words", State.OK)]


def test_calls_that_claim_to_be_inside_each_other_still_make_a_tree() -> None:
    transcript = told(
        says(use("a", "Agent"), parent="a"),
        says(use("b", "Agent"), parent="c"),
        says(use("c", "Agent"), parent="b"),
        says(text("x"), parent=""),
    )
    seen: list[int] = []

    def walk(thread: str | None) -> None:
        for item in transcript.items(thread):
            seen.append(item.id)
            if isinstance(item, Call):
                walk(item.call_id)

    walk(None)
    assert sorted(seen) == [1, 2, 3, 4], "every item once, none lost"


def test_nesting_without_end_stays_bounded_and_loses_nothing() -> None:
    deep = 3 * MAX_THREAD_DEPTH
    lines = [says(use(str(place + 1), "Agent"), parent=str(place) if place else None) for place in range(deep)]
    transcript = told(*lines)
    assert len(transcript.threads) <= MAX_THREAD_DEPTH + 1
    assert sum(len(transcript.items(thread)) for thread in transcript.threads) == deep


def test_live_words_grow_and_are_replaced() -> None:
    transcript = told(
        streams("message_start", message={"id": "m1"}),
        streams("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        streams("content_block_delta", index=0, delta={"type": "text_delta", "text": "par"}),
        streams("content_block_delta", index=0, delta={"type": "text_delta", "text": "tial"}),
    )
    item = transcript.items()[0]
    assert isinstance(item, TextItem)
    assert (item.text, item.live) == ("partial", True)
    assert tell(transcript, says(text("partial and whole"))) == (item.id,)
    assert spoken(transcript) == ["partial and whole"]


def test_an_answer_that_was_cut_off_and_begun_again_is_shown_once() -> None:
    start = streams("content_block_start", index=0, content_block={"type": "text", "text": ""})
    piece = streams("content_block_delta", index=0, delta={"type": "text_delta", "text": "half"})
    begin = streams("message_start", message={"id": "m1"})
    transcript = told(begin, start, piece, begin, start, piece, says(text("half and half")))
    assert spoken(transcript) == ["half and half"]


def test_words_that_never_finished_stay_when_the_process_ends() -> None:
    start = streams("content_block_start", index=0, content_block={"type": "text", "text": ""})
    piece = streams("content_block_delta", index=0, delta={"type": "text_delta", "text": "half"})
    transcript = told(start, piece)
    transcript.finish()
    assert spoken(transcript) == ["half"]
    assert not any(isinstance(item, TextItem) and item.live for item in transcript.items())


def test_a_result_speaks_only_where_it_says_something_new() -> None:
    assert told(says(text("yes")), ends("yes")).footers[0].text == ""
    assert told(says(text("a")), says(text("b")), ends("ab")).footers[0].text == "", "one answer in two blocks"
    assert told(says(text("yes")), ends("no")).footers[0].text == "no"
    assert told(ends("only here")).footers[0].text == "only here"
    seed = {"role": "assistant", "content": [{"type": "text", "text": "Done!"}]}
    assert told(says(text("Done!")), {**ends(), "result": seed}).footers[0].text == ""


def test_a_refusal_is_recognised_before_the_result_and_confirmed_or_taken_back_by_it() -> None:
    words = "Permission to use Bash has been denied because of a rule."
    lines = (says(use("a", "Bash", command="x")), answers(result("a", words, is_error=True)))
    assert states(told(*lines)) == [("Bash", "denied")]
    listed = [{"tool_name": "Bash", "tool_use_id": "a", "tool_input": {}}]
    assert states(told(*lines, ends(permission_denials=listed))) == [("Bash", "denied")]
    assert states(told(*lines, ends(permission_denials=[]))) == [("Bash", "error")]
    assert states(told(*lines, ends())) == [("Bash", "denied")], "this agent lists no denials at all"


def test_a_hook_that_refused_in_its_own_words_is_denied_by_the_result() -> None:
    lines = (says(use("a", "Bash", command="x")), answers(result("a", "not on my watch", is_error=True)))
    assert states(told(*lines)) == [("Bash", "error")]
    listed = [{"tool_name": "Bash", "tool_use_id": "a"}]
    assert states(told(*lines, ends(permission_denials=listed))) == [("Bash", "denied")]


def test_an_interruption_ends_what_runs_in_the_foreground() -> None:
    transcript = told(
        says(use("a", "Bash", command="x"), use("b", "Bash", command="y")),
        answers(result("b", "Command running in background with ID: t1. Wait.")),
        answers(text("[Request interrupted by user]")),
    )
    assert [(call.state, call.background) for call in calls(transcript)] == [
        (State.INTERRUPTED, False),
        (State.RUNNING, True),
    ]


def test_long_output_is_cut_and_says_how_much_is_missing() -> None:
    transcript = Transcript(kept_characters=100)
    tell(transcript, says(use("a", "Bash", command="x")))
    tell(transcript, answers(result("a", "line of ten\n" * 50)))
    call = calls(transcript)[0]
    assert len(call.output) == 100
    assert (call.omitted_characters, call.omitted_lines) == (500, 42)


def test_a_secret_on_the_edge_of_a_cut_leaves_no_half() -> None:
    transcript = Transcript(mask=Mask(["hunter2hunter2"]), kept_characters=100)
    tell(transcript, says(use("a", "Bash", command="x" * 195 + "hunter2hunter2" + "y" * 99)))
    tell(transcript, answers(result("a", "x" * 95 + "hunter2hunter2" + "y" * 99)))
    call = calls(transcript)[0]
    assert call.output == "x" * 95 + "***yy"
    assert "hunt" not in call.summary


def test_a_line_that_is_not_json_is_words_and_a_broken_event_is_an_error() -> None:
    transcript = told(
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
    transcript = told(says(text("a"), {"type": "hologram", "x": 1}, text("b")))
    assert kinds(transcript.items()) == ["TextItem", "UnknownItem", "TextItem"]


def test_limits_and_a_later_session_are_notices() -> None:
    transcript = told(
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
    transcript = told(says(use("a", "MultiEdit", file_path="f", edits=edits)))
    detail = calls(transcript)[0].detail
    assert isinstance(detail, FileChange)
    assert (detail.path, detail.added, detail.removed) == ("f", 1, 2)
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b", "+e"]}]
    tell(transcript, answers(result("a"), tool_use_result={"filePath": "f", "structuredPatch": patch}))
    detail = calls(transcript)[0].detail
    assert isinstance(detail, FileChange)
    assert (detail.added, detail.removed) == (2, 1)


def test_a_report_besides_several_results_belongs_to_none_of_them() -> None:
    patch = [{"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 3, "lines": ["+1", "+2", "+3"]}]
    transcript = told(
        says(*(use(name, "Edit", file_path=name, old_string="a", new_string="b") for name in ("one", "two"))),
        answers(result("one"), result("two"), tool_use_result={"structuredPatch": patch}),
    )
    details = [call.detail for call in calls(transcript)]
    assert [(d.added, d.removed) for d in details if isinstance(d, FileChange)] == [(1, 1), (1, 1)]


def test_a_call_inside_its_own_thread_is_one_call() -> None:
    board = ItemBoard()
    board.call_in("a", "a", None)
    assert [len(board.items(thread)) for thread in (None, "a")] == [1, 0]


def test_code_in_an_answer_is_told_from_words() -> None:
    transcript = told(says(text("See:\n```python\nx = 1\n```\nDone.")))
    words = transcript.items()[0]
    assert isinstance(words, TextItem)
    assert words.parts == (Prose("See:"), Code("x = 1", "python"), Prose("Done."))


def test_user_words_are_told_from_the_program_s_own() -> None:
    transcript = told(
        answers(text("mine"), isReplay=True),
        answers(text("Stop hook feedback"), isSynthetic=True),
    )
    assert [item.speaker for item in transcript.items() if isinstance(item, TextItem)] == [
        Speaker.USER,
        Speaker.PROGRAM,
    ]
