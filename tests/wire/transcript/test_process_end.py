"""The end of the agent's process, as it is shown."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.mask import Mask
from bridle.wire.record.outcome import Ending
from bridle.wire.transcript.items import ProcessEnd
from bridle.wire.transcript.process_end import UNKNOWN
from bridle.wire.transcript.transcript import Transcript
from tests.wire.fixtures.conversations import add_line, assistant_line, result_line, text, user_line


def ended(ending: Ending | None, *, has_result: bool = False) -> ProcessEnd | None:
    transcript = Transcript(mask=Mask(["hunter2hunter2"]), kept_characters=40)
    if has_result:
        add_line(transcript, result_line("done"))
    transcript.finish(ending)
    last = transcript.items()[-1] if transcript.items() else None
    return last if isinstance(last, ProcessEnd) else None


@pytest.mark.parametrize(
    ("ending", "has_result", "reason"),
    [
        (Ending(exit_code=3), False, "it printed no result"),
        (Ending(exit_code=0), False, "it printed no result"),
        (Ending(exit_code=1), True, ""),
        (Ending(exit_code=None, stderr="words"), False, "the exit code is not known"),
        (UNKNOWN, False, "the log ends without a result"),
        (Ending(exit_code=-15, timed_out=True), False, "a time limit was reached"),
        (Ending(exit_code=None, not_found="claude not found"), False, "claude not found"),
        (Ending(exit_code=-9, fault="the disk is full"), True, "the disk is full"),
    ],
)
def test_a_process_that_failed_says_why(ending: Ending, has_result: bool, reason: str) -> None:
    end = ended(ending, has_result=has_result)
    assert end is not None
    assert (end.exit_code, end.reason, end.is_known) == (ending.exit_code, reason, ending != UNKNOWN)


@pytest.mark.parametrize("ending", [Ending(exit_code=0), UNKNOWN])
@pytest.mark.parametrize(
    ("event", "is_whole"), [(assistant_line(text("more")), False), (user_line(text("more")), True)]
)
def test_a_turn_after_the_last_result_has_none(event: Any, is_whole: bool, ending: Ending) -> None:
    transcript = Transcript()
    for line in (assistant_line(text("one")), result_line("one"), event):
        add_line(transcript, line)
    transcript.finish(ending)
    end = transcript.items()[-1]
    assert isinstance(end, ProcessEnd) is not is_whole
    if isinstance(end, ProcessEnd):
        assert end.reason == ("the log ends without a result" if ending == UNKNOWN else "its last turn has no result")


@pytest.mark.parametrize(
    ("ending", "has_result"),
    [(Ending(exit_code=0), True), (Ending(exit_code=-15, ended_by_us=True), True), (None, False), (UNKNOWN, True)],
)
def test_a_success_and_an_unknown_end_show_nothing(ending: Ending | None, has_result: bool) -> None:
    assert ended(ending, has_result=has_result) is None


def test_the_end_of_stderr_is_kept_in_whole_lines() -> None:
    end = ended(Ending(exit_code=1, stderr="\n".join(f"line {number}" for number in range(100, 200)) + "\n"))
    assert end is not None
    assert (end.stderr, end.omitted_lines) == ("line 196\nline 197\nline 198\nline 199", 96)


def test_no_half_of_a_secret_is_left_at_the_cut() -> None:
    end = ended(Ending(exit_code=1, stderr="x hunter2hunter2 " + "y" * 30))
    assert end is not None
    assert "hunter2" not in end.stderr
    assert end.stderr.endswith("y" * 30)
