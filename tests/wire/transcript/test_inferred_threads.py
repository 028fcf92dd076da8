"""Sub-agents in streams that do not name the parent of an event.

The recordings are of Claude Code 2.1.197 with three sub-agents at once, whose answers came after random delays.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridle.wire.events.decode import decode_stream
from bridle.wire.transcript.items import Call, SubAgent
from bridle.wire.transcript.transcript import Transcript
from tests.wire.fixtures.conversations import (
    RECORDINGS,
    assistant_line,
    calls,
    result,
    result_line,
    states,
    text,
    texts,
    transcript_of,
    use,
    user_line,
)

FOLDER = Path(__file__).parent / "recordings"
SUBJECTS = ("parser", "cache", "billing")


def parents(path: Path, change: Callable[[dict[str, Any]], bool] = lambda _line: True) -> dict[str, str | None]:
    """The sub-agent of each call in a recording; lines are changed, or left out where `change` says so."""
    lines = [line for line in map(json.loads, path.read_text("utf-8").splitlines()) if change(line)]
    transcript = Transcript()
    for event in decode_stream(json.dumps(line).encode() + b"\n" for line in lines):
        transcript.add(event)
    transcript.finish()
    return {call.call_id: call.thread for thread in transcript.threads for call in calls(transcript, thread)}


def without_parent(line: dict[str, Any]) -> bool:
    for name in ("parent_tool_use_id", "subagent_type", "task_description"):
        if line["type"] in ("assistant", "user"):
            line.pop(name, None)
    return True


def with_null_parent(line: dict[str, Any]) -> bool:
    without_parent(line)
    if line["type"] in ("assistant", "user"):
        line["parent_tool_use_id"] = None
    return True


def without_progress(line: dict[str, Any]) -> bool:
    without_parent(line)
    return not str(line.get("subtype")).startswith("task_")


RECORDED = [
    *sorted(FOLDER.glob("*.ndjson")),
    *(RECORDINGS / f"{name}.ndjson" for name in ("12-subagent", "12b-subagent-parallel", "12c-custom-agents")),
]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
@pytest.mark.parametrize("change", [without_parent, with_null_parent])
def test_every_call_of_real_sub_agents_is_placed_right(path: Path, change: Callable[[dict[str, Any]], bool]) -> None:
    assert parents(path, change) == parents(path)


def test_without_progress_events_no_child_is_the_main_agent_s_and_its_words_decide() -> None:
    path = FOLDER / "reviews-by-subject.ndjson"
    right, found = parents(path), parents(path, without_progress)
    assert {call for call, parent in found.items() if parent is None} == {c for c, p in right.items() if p is None}
    telling = set()
    for line in map(json.loads, path.read_text("utf-8").splitlines()):
        for block in line.get("message", {}).get("content", []) if line["type"] == "assistant" else ():
            if right.get(block.get("id")) and any(f"{subject}.py" in json.dumps(block) for subject in SUBJECTS):
                telling.add(block["id"])
    assert len(telling) == 6
    assert {call: found[call] for call in telling} == {call: right[call] for call in telling}


def test_a_single_sub_agent_has_everything_between_its_call_and_its_result() -> None:
    transcript = transcript_of(
        assistant_line(text("I ask."), use("t", "Task", description="d", prompt="look", subagent_type="Explore")),
        user_line(text("look")),
        assistant_line(text("inside"), use("b", "Bash", command="ls"), message="m2"),
        user_line(result("b", "a.py")),
        assistant_line(use("c", "Read", file_path="a.py"), message="m3"),
        user_line(result("c")),
        user_line(result("t", "report")),
        assistant_line(text("Done."), use("d", "Bash", command="make"), message="m4"),
    )
    assert states(transcript) == [("Task", "ok"), ("Bash", "running")]
    assert states(transcript, "t") == [("Bash", "ok"), ("Read", "ok")]
    assert (texts(transcript), texts(transcript, "t")) == (["I ask.", "Done."], ["inside"])
    detail = calls(transcript)[0].detail
    assert isinstance(detail, SubAgent)
    assert detail.is_inferred


def test_calls_beside_a_sub_agent_s_call_in_its_message_are_the_main_agent_s() -> None:
    transcript = transcript_of(
        assistant_line(use("t", "Task", prompt="look")),
        assistant_line(use("b", "Bash", command="make")),
        assistant_line(use("u", "Task", prompt="listen")),
        assistant_line(use("c", "Bash", command="look"), message="m2"),
        user_line(result("b")),
        assistant_line(use("d", "Bash", command="listen"), message="m3"),
    )
    assert [call.call_id for call in calls(transcript)] == ["t", "b", "u"]
    assert [call.call_id for call in calls(transcript, "t")] == ["c"]
    assert [call.call_id for call in calls(transcript, "u")] == ["d"]


def test_messages_without_ids_are_placed_too() -> None:
    lines = (
        assistant_line(use("t", "Task", prompt="look")),
        assistant_line(use("u", "Task", prompt="listen")),
        assistant_line(use("c", "Bash", command="ls")),
        assistant_line(use("d", "Bash", command="pwd")),
    )
    for line in lines:
        del line["message"]["id"]
    transcript = transcript_of(*lines)
    assert [len(calls(transcript, thread)) for thread in (None, "t", "u")] == [2, 1, 1]


@pytest.mark.parametrize(
    "end", [user_line(result("t")), result_line("cut"), user_line(text("[Request interrupted by user]"))]
)
def test_after_its_end_a_sub_agent_gets_nothing_more(end: dict[str, Any]) -> None:
    transcript = transcript_of(
        assistant_line(use("t", "Task", prompt="look")),
        end,
        assistant_line(use("b", "Bash", command="x"), message="m2"),
    )
    assert [call.call_id for call in calls(transcript)] == ["t", "b"]


def test_a_sub_agent_in_the_background_leaves_the_main_agent_its_calls() -> None:
    transcript = transcript_of(
        assistant_line(use("t", "Task", prompt="look", run_in_background=True)),
        assistant_line(use("b", "Bash", command="x"), message="m2"),
    )
    assert [call.call_id for call in calls(transcript)] == ["t", "b"]


def test_a_stream_that_names_parents_is_believed() -> None:
    transcript = transcript_of(
        assistant_line(use("t", "Task", prompt="look")),
        user_line(text("look"), parent="t"),
        assistant_line(use("b", "Bash", command="x"), message="m2"),
    )
    assert [call.call_id for call in calls(transcript)] == ["t", "b"]
    (task, _) = calls(transcript)
    assert isinstance(task, Call)
    assert isinstance(task.detail, SubAgent)
    assert not task.detail.is_inferred
