"""The summary of a record and its outcome."""

from __future__ import annotations

import json
from typing import Any

from bridle.views.terminal.outcome_summary import summarize_outcome
from bridle.wire.events.decode import decode_stream
from bridle.wire.record.outcome import Ending, judge
from bridle.wire.record.recorder import Recorder
from tests.wire.fixtures.conversations import assistant_line, result, result_line, text, use, user_line


def summary(*lines: dict[str, Any], exit_code: int = 0, stderr: str = "") -> list[str]:
    recorder = Recorder()
    for event in decode_stream(json.dumps(line).encode() + b"\n" for line in lines):
        recorder.add(event)
    record = recorder.record
    outcome = judge(record, Ending(exit_code=exit_code, stderr=stderr))
    return summarize_outcome(record, outcome, clean=lambda line: line.replace("hunter2", "***")).split("\n")


def test_the_verdict_is_first_and_the_answer_is_last() -> None:
    usage = {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 5}
    lines = summary(
        assistant_line(use("a", "Bash", command="x")),
        user_line(result("a", is_error=True)),
        assistant_line(text("done")),
        result_line("done", num_turns=2, duration_ms=1500, total_cost_usd=0.25, usage=usage, session_id="s"),
    )
    assert lines == [
        "succeeded",
        "session   s",
        "turns     2 turns, 1.5 s, 0.2500 USD",
        "tokens    7 in, 3 out, 5 from the cache",
        "tools     1 call, 1 result, 1 failed",
        "exit code 0",
        "answer    done",
    ]


def test_a_crash_is_the_verdict_with_its_secrets_masked_and_its_controls_escaped() -> None:
    first, *_ = summary(exit_code=1, stderr="boom \x1b[31m hunter2")
    assert first.startswith("failed")
    assert "\x1b" not in first
    assert "hunter2" not in first


def test_a_long_answer_is_cut_with_a_count() -> None:
    answer = "\n".join(map(str, range(50)))
    assert summary(assistant_line(text(answer)), result_line(answer))[-1] == "          … and 30 lines more"
