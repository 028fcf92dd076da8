"""The order of items, and the threads that they form."""

from __future__ import annotations

from bridle.wire.transcript.item_board import MAX_THREAD_DEPTH, ItemBoard
from bridle.wire.transcript.items import (
    Call,
    SubAgent,
)
from bridle.wire.transcript.transcript import Transcript
from tests.wire.fixtures.conversations import (
    add_line,
    assistant_line,
    calls,
    result,
    states,
    text,
    texts,
    transcript_of,
    use,
    user_line,
)


def test_add_names_the_items_that_changed_and_no_others() -> None:
    transcript = Transcript()
    assert add_line(transcript, assistant_line(text("one"), use("a", "Bash", command="x"))) == (1, 2)
    assert add_line(transcript, user_line(result("a"))) == (2,)
    assert add_line(transcript, {"type": "keep_alive"}) == ()


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
    assert texts(transcript, "inner") == ["deep"]
    assert texts(transcript) == ["main"]


def test_an_item_without_a_call_gets_a_thread_and_joins_its_call_later() -> None:
    transcript = transcript_of(
        assistant_line(text("lost"), parent="gone", subagent_type="Explore", task_description="look")
    )
    orphan = calls(transcript)[0]
    assert (orphan.name, orphan.detail) == ("", SubAgent(kind="Explore", description="look"))
    assert texts(transcript, "gone") == ["lost"]
    add_line(transcript, assistant_line(use("gone", "Agent", prompt="p", subagent_type="Explore")))
    assert states(transcript) == [("Agent", "running")]


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


def test_a_call_inside_its_own_thread_is_one_call() -> None:
    board = ItemBoard()
    board.call_in("a", "a", None)
    assert [len(board.items(thread)) for thread in (None, "a")] == [1, 0]
