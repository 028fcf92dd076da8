"""When a conversation is summed up, what of it stays, and that it never goes round in circles."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.compaction import compact_history
from bridle.agent.compaction.compact_history import (
    EMPTY_SUMMARY,
    NOTHING_TO_COMPACT,
    TOO_FEW,
    Compacted,
    Compactor,
    NotCompacted,
    record,
    transcript_metadata,
)
from bridle.agent.compaction.summary_text import extract_summary, opening_message
from bridle.agent.compaction.window import Window, estimate, plan, summary_request, threshold, used
from bridle.agent.conversation.compact import event_metadata
from bridle.agent.model.api.question import Block, Message
from bridle.agent.sessions.api_messages import AnswerHead, blocks_of
from bridle.agent.sessions.open_session import Place, open_session
from bridle.agent.sessions.session import Session, new_uuid
from bridle.agent.sessions.session_request import SessionRequest
from bridle.agent.sessions.valid_history import valid_history
from bridle.errors import ModelFailure
from tests.agent.fixtures.recorded_transcripts import is_sendable, lines_in, recorded

WINDOW = Window(context_tokens=200_000, max_output_tokens=32_000)
LONG = "word " * 4_000  # about 5000 tokens


def user(text: str) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def calls(*names: str) -> Message:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": name, "name": "X", "input": {}} for name in names],
    }


def results(*names: str) -> Message:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "y"} for name in names]}


TALK = [user("one"), assistant("two"), user("three"), assistant("four")]


class Model:
    """A model that answers from a list and remembers what it was asked."""

    def __init__(self, *answers: str | ModelFailure) -> None:
        self.answers = list(answers)
        self.asked: list[list[Message]] = []

    async def __call__(self, messages: list[Message]) -> str:
        self.asked.append(messages)
        answer = self.answers.pop(0)
        if isinstance(answer, ModelFailure):
            raise answer
        return answer


def compact(
    compactor: Compactor,
    messages: Sequence[Message],
    model: Model,
    *,
    window: Window = WINDOW,
    instructions: str = "",
    used_tokens: int = 180_000,
) -> Compacted | NotCompacted:
    ticks = iter([1.0, 1.25])
    return asyncio.run(
        compactor.compact(
            messages,
            window,
            trigger="auto",
            used_tokens=used_tokens,
            ask=model,
            transcript_path="/t.jsonl",
            now=lambda: next(ticks),
            instructions=instructions,
        )
    )


def succeeded(outcome: Compacted | NotCompacted) -> Compacted:
    assert isinstance(outcome, Compacted)
    return outcome


# When


def test_the_threshold_reserves_room_for_the_summary_and_one_more_step() -> None:
    assert threshold(WINDOW) == 200_000 - 20_000 - 13_000
    assert threshold(Window(1_000_000, 64_000)) == 967_000
    assert threshold(Window(200_000, 8_000)) == 179_000
    assert threshold(Window(16_000, 8_000)) == 8_000


def test_used_tokens_are_the_last_usage_and_an_estimate_of_what_came_since() -> None:
    usage = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 4000,
        "service_tier": "standard",
    }
    assert used(usage) == 4321
    assert used(usage, [user("x" * 400)]) == 4321 + 101
    assert used({"input_tokens": None, "output_tokens": True}) == 0


def test_an_image_counts_by_its_cost_and_not_by_its_file_size() -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "x" * 1_000_000}}
    assert estimate([{"role": "user", "content": [picture]}]) == 1600


def long_talk(turns: int = 10) -> list[Message]:
    return [message for _ in range(turns) for message in (user(LONG), assistant(LONG))]


@pytest.mark.parametrize(
    ("environment", "tokens", "is_due"),
    [
        ({}, 167_000, True),
        ({}, 166_999, False),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, 100_000, True),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, 99_999, False),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "99"}, 167_000, True),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "many"}, 166_999, False),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "0"}, 166_999, False),
        ({"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "nan"}, 166_999, False),
        ({"DISABLE_AUTO_COMPACT": "1"}, 199_000, False),
        ({"DISABLE_COMPACT": "true"}, 199_000, False),
        ({"DISABLE_AUTO_COMPACT": "0"}, 199_000, True),
    ],
)
def test_it_is_due_when_the_window_fills(environment: dict[str, str], tokens: int, is_due: bool) -> None:
    assert Compactor(environment).is_due(tokens, long_talk(), WINDOW) is is_due


def test_it_is_not_due_if_instructions_fill_the_window() -> None:
    assert not Compactor({}).is_due(199_000, TALK, WINDOW)
    assert not Compactor({}).is_due(199_000, [user(LONG * 10)], WINDOW)


# What stays


@pytest.mark.parametrize(
    ("messages", "preserved"),
    [
        (TALK, [assistant("four")]),
        ([*TALK, user("five")], [user("five")]),
        ([*TALK, user("five"), calls("a", "b"), results("a", "b")], [calls("a", "b"), results("a", "b")]),
        ([*TALK, user("five"), {"role": "system", "content": "x"}], [user("five"), {"role": "system", "content": "x"}]),
        (
            [*TALK, user("five"), calls("a"), results("a"), {"role": "system", "content": "x"}],
            [calls("a"), results("a"), {"role": "system", "content": "x"}],
        ),
        ([user("one")], [user("one")]),
        ([], []),
    ],
)
def test_the_part_in_progress_stays_as_it_was(messages: list[Message], preserved: list[Message]) -> None:
    planned = plan(messages, WINDOW)
    assert planned.preserved == preserved
    assert planned.older + planned.preserved == messages


def test_a_part_in_progress_that_is_too_large_is_summarised_too() -> None:
    messages = [*TALK, user("x" * 400_000)]
    assert plan(messages, WINDOW).preserved == []


def test_the_new_conversation_is_the_summary_and_what_stays() -> None:
    model = Model("<analysis>hm</analysis>\n<summary>\nAll of it.\n</summary>")
    outcome = succeeded(compact(Compactor({}, dropped_tokens=1000), TALK, model, instructions=" keep names "))
    assert outcome.summary == opening_message("All of it.", "/t.jsonl")
    assert outcome.messages == [user(outcome.summary), assistant("four")]
    assert (outcome.pre_tokens, outcome.post_tokens) == (180_000, estimate(outcome.messages))
    assert outcome.dropped_tokens == 1000 + 180_000 - outcome.post_tokens
    assert (outcome.duration_ms, outcome.preserved_messages, outcome.trigger) == (250, 1, "auto")
    assert model.asked[0][:2] == TALK[:2]
    assert blocks_of(model.asked[0][2]["content"])[0] == blocks_of(TALK[2]["content"])[0]
    assert blocks_of(model.asked[0][2]["content"])[1]["text"].endswith("of the summary:\nkeep names")
    assert len(model.asked[0]) == 3


def test_a_user_message_that_stays_joins_the_summary() -> None:
    outcome = succeeded(compact(Compactor({}), [*TALK, user("five")], Model("All of it.")))
    assert [block["text"] for block in blocks_of(outcome.messages[0]["content"])] == [outcome.summary, "five"]
    assert len(outcome.messages) == 1


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        ("plain", "plain"),
        ("<summary>a</summary>", "a"),
        ("x <summary> a <summary> b </summary> c </summary> y", "a <summary> b </summary> c"),
        ("<analysis>the <summary> tag</analysis><summary>a</summary>", "a"),
        ("<summary>cut off", "cut off"),
        ("<analysis>a</analysis> rest", "rest"),
        ("<analysis>never ended", ""),
        ("  ", ""),
        ("<summary></summary>", ""),
    ],
)
def test_the_summary_is_found_in_the_answer(answer: str, summary: str) -> None:
    assert extract_summary(answer) == summary


# Events and transcript


def test_the_event_has_the_fields_of_claude_code_in_their_order() -> None:
    outcome = succeeded(compact(Compactor({}), TALK, Model("All of it.")))
    event = event_metadata(transcript_metadata(outcome, ["p1", "p2"], "s"))
    assert list(event) == [
        "trigger",
        "pre_tokens",
        "post_tokens",
        "cumulative_dropped_tokens",
        "duration_ms",
        "preserved_segment",
        "preserved_messages",
    ]
    assert event["preserved_segment"] == {"head_uuid": "p1", "anchor_uuid": "s", "tail_uuid": "p2"}
    assert event["preserved_messages"] == {"anchor_uuid": "s", "uuids": ["p1", "p2"], "all_uuids": ["p1", "p2"]}
    assert list(event_metadata(transcript_metadata(outcome, [], "s"))) == list(event)[:5]


def test_the_line_has_the_fields_of_claude_code_in_their_order() -> None:
    theirs = next(line for line in recorded("compacted.jsonl") if line.get("subtype") == "compact_boundary")
    ours = transcript_metadata(succeeded(compact(Compactor({}), TALK, Model("All of it."))), ["p"], "s")
    assert shape(msgspec.to_builtins(ours)) == shape(theirs["compactMetadata"])


def shape(value: Any) -> Any:
    """Keys in their order, and types."""
    return [(key, shape(item)) for key, item in value.items()] if isinstance(value, dict) else type(value)


def test_a_summary_in_the_transcript_is_read_back_as_the_new_conversation(tmp_path: Path) -> None:
    place = Place(tmp_path / "config", tmp_path, "2.1.197")
    session = open_session(SessionRequest(), place)
    add_exchange(session, "one", "two")
    add_exchange(session, "three", "four")
    outcome = succeeded(compact(Compactor({}), TALK, Model("All of it.")))
    recorded_as = record(outcome, session)
    assert recorded_as.preserved == session.last_lines(1)
    add_exchange(session, "five", "six")
    path = session.path
    assert path is not None
    session.close()
    again = open_session(SessionRequest(resume=session.id), place)
    again.close()
    assert again.history.messages == [*outcome.messages, user("five"), assistant("six")]
    assert again.history.dropped_tokens == outcome.dropped_tokens
    boundary = next(line for line in lines_in(path) if line.get("subtype") == "compact_boundary")
    assert boundary["uuid"] == recorded_as.boundary
    # and a second one counts on
    second = succeeded(compact(Compactor({}), again.history.messages, Model("More of it.")))
    record(second, again)
    assert len(again.last_lines(9)) == 2


def add_exchange(session: Session, question: str, answer: str) -> None:
    session.prompt(question, permission_mode="default")
    block = {"type": "text", "text": answer}
    session.assistant(AnswerHead(id=f"m{question}"), [(new_uuid(), block)], request_id=None)


# What can go wrong


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([], NOTHING_TO_COMPACT),
        ([user("one")], TOO_FEW),
        ([user("one"), assistant("two")], TOO_FEW),
        ([user("one"), calls("a"), results("a")], TOO_FEW),
    ],
)
def test_a_short_conversation_is_not_compacted_and_costs_no_request(messages: list[Message], error: str) -> None:
    model = Model()
    assert compact(Compactor({}), messages, model) == NotCompacted(error)
    assert model.asked == []


def test_an_answer_without_a_summary_changes_nothing() -> None:
    assert compact(Compactor({}), TALK, Model("")) == NotCompacted(EMPTY_SUMMARY)


def too_long() -> ModelFailure:
    return ModelFailure("Prompt is too long", error="invalid_request", status=400, terminal_reason="prompt_too_long")


def test_a_summary_request_that_is_too_long_is_retried_with_the_newest_part() -> None:
    model = Model(too_long(), too_long(), "All of it.")
    messages = [*long_talk(30), user("the newest"), assistant("yes")]
    outcome = succeeded(compact(Compactor({}), messages, model))
    sizes = [estimate(asked) for asked in model.asked]
    assert sizes[0] > 200_000
    assert sizes[1] < sizes[0] * 0.6
    assert sizes[2] < sizes[1] * 0.6
    for asked in model.asked[1:]:
        assert is_sendable(asked)
        assert "the newest" in str(asked[-1])
        assert "too long to be shown" in str(asked[0])
    assert outcome.messages[-1] == assistant("yes")


def test_a_request_that_stays_too_long_is_given_up() -> None:
    failures = [too_long() for _ in range(compact_history.TRIES)]
    model = Model(*failures, "never asked")
    outcome = compact(Compactor({}), [*long_talk(), user("x"), assistant("y")], model)
    assert outcome == NotCompacted("Error during compaction: Prompt is too long", failures[-1])
    assert len(model.asked) == compact_history.TRIES


def test_another_failure_is_not_retried() -> None:
    failure = ModelFailure("API Error: 401", error="authentication_failed", status=401)
    model = Model(failure, "never asked")
    assert compact(Compactor({}), TALK, model) == NotCompacted("Error during compaction: API Error: 401", failure)
    assert len(model.asked) == 1


def test_repeated_failures_disable_automatic_compaction() -> None:
    compactor = Compactor({})
    for _ in range(compact_history.FAILURES_IN_A_ROW):
        assert compactor.is_due(190_000, long_talk(), WINDOW)
        compact(compactor, long_talk(), Model(""))
    assert not compactor.is_due(190_000, long_talk(), WINDOW)
    by_hand = succeeded(compact(compactor, long_talk(), Model("It still works.")))
    assert "It still works." in by_hand.summary
    assert compactor.is_due(190_000, long_talk(), WINDOW)


def test_summaries_that_do_not_help_disable_automatic_compaction() -> None:
    compactor = Compactor({})
    messages = long_talk()
    rounds = 0
    while compactor.is_due(190_000, messages, WINDOW):
        rounds += 1
        messages = [*succeeded(compact(compactor, messages, Model(LONG * 20))).messages, *TALK[1:]]
        assert rounds <= compact_history.FAILURES_IN_A_ROW
    assert rounds == compact_history.FAILURES_IN_A_ROW


def test_a_summary_that_is_cancelled_changes_nothing() -> None:
    compactor = Compactor({})
    messages = long_talk()
    before = json.dumps(messages)

    async def never(asked: list[Message]) -> str:
        await asyncio.Event().wait()
        return ""

    async def cancelled() -> None:
        task = asyncio.ensure_future(
            compactor.compact(
                messages, WINDOW, trigger="auto", used_tokens=1, ask=never, transcript_path=None, now=lambda: 0.0
            )
        )
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert json.dumps(messages) == before
    assert compactor.is_due(190_000, messages, WINDOW)


# Any conversation

_BLOCKS = st.one_of(
    st.text(min_size=1, max_size=50).filter(str.strip).map(lambda text: {"type": "text", "text": text}),
    st.sampled_from("abcdef").map(lambda name: {"type": "tool_use", "id": name, "name": "X", "input": {}}),
)
_TURNS = st.lists(
    st.tuples(
        st.lists(st.text(min_size=1, max_size=300).filter(str.strip), min_size=1, max_size=2),
        st.lists(_BLOCKS, min_size=1, max_size=3),
    ),
    max_size=12,
)


@given(turns=_TURNS, ends_with_user=st.booleans(), context_tokens=st.integers(50, 5_000), limit=st.integers(1, 2_000))
def test_any_conversation_gives_a_valid_request_and_a_valid_new_conversation(
    turns: list[tuple[list[str], list[Block]]], ends_with_user: bool, context_tokens: int, limit: int
) -> None:
    said: list[Message] = []
    for texts, blocks in turns:
        said.append({"role": "user", "content": [{"type": "text", "text": text} for text in texts]})
        said.append({"role": "assistant", "content": blocks})
    messages = valid_history(said[:-1] if ends_with_user and said else said, for_request=False)
    window = Window(context_tokens, context_tokens // 4)
    planned = plan(messages, window)
    assert planned.older + planned.preserved == messages
    if planned.older:
        assert is_sendable(summary_request(planned.older, "x"))
        assert is_sendable(summary_request(planned.older, limit_tokens=limit))
    outcome = compact(Compactor({}), messages, Model("A summary."), window=window)
    if isinstance(outcome, Compacted):
        assert is_sendable(outcome.messages)
