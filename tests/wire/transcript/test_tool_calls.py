"""Tool calls joined with their results: states, outputs, durations and changes."""

from __future__ import annotations

from bridle.wire.mask import Mask
from bridle.wire.transcript.items import (
    FileChange,
    State,
)
from bridle.wire.transcript.transcript import Transcript
from tests.wire.fixtures.conversations import (
    add_line,
    assistant_line,
    calls,
    kinds,
    result,
    result_line,
    states,
    text,
    transcript_of,
    use,
    user_line,
)


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


def test_what_runs_when_the_process_ends_was_interrupted() -> None:
    transcript = transcript_of(
        assistant_line(use("a", "Bash", command="x"), use("b", "Agent", prompt="p")), user_line(result("a"))
    )
    assert states(transcript) == [("Bash", "ok"), ("Agent", "running")]
    assert transcript.finish() == (2,)
    assert states(transcript) == [("Bash", "ok"), ("Agent", "interrupted")]


def test_a_result_without_a_call_is_shown_as_one() -> None:
    transcript = transcript_of(user_line(result("never", "words")))
    assert [(call.name, call.output, call.state) for call in calls(transcript)] == [("", "words", State.OK)]


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
