"""A question is answered by a clear yes or no, by one of its options, or by the text that it asks for."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.engine import inbox
from bridle.engine.entries import effect_attempts
from bridle.engine.inbox import Question, answer, breakpoint_value, questions
from bridle.errors import EffectNotFound, EffectResolved, UsageError
from bridle.journal.format.entries import Request
from tests.journal.fixtures.memory_store import MemoryStore

FREE = {"asksFor": "words"}


def question(*options: str, payload: Any = None) -> Question:
    return Question("e1", "breakpoint", "ship", "Ship it?", options, payload)


def store_with(kind: str, payload: Any = None) -> MemoryStore:
    store = MemoryStore({"runId": "r", "processId": "p"})
    with store.write("test") as writer:
        writer.append("RUN_CREATED", {"runId": "r"})
        writer.request(
            Request(
                effect_id="e1",
                key="p:S000001:t",
                step_id="S000001",
                task_id="t",
                kind=kind,
                label="ship",
                definition={"kind": kind, "breakpoint": {"payload": payload}},
                inputs=payload,
            )
        )
    return store


@pytest.mark.parametrize("text", ["yes", " Y ", "Approve.", "OK!", "ship  it", "LGTM", "go"])
def test_a_yes_approves(text: str) -> None:
    assert breakpoint_value(text, question(), approved=None, by="human") == {
        "approved": True,
        "response": text,
        "respondedBy": "human",
    }


@pytest.mark.parametrize("text", ["no", "N", "reject", "Stop!", "cancel"])
def test_a_no_rejects_and_its_text_is_the_feedback(text: str) -> None:
    value = breakpoint_value(text, question(), approved=None, by="human")
    assert (value["approved"], value["feedback"]) == (False, text)


@pytest.mark.parametrize("text", ["", " ", "maybe", "yes but", "not yes", "🙂", "yes\nno"])
def test_an_unclear_answer_is_refused_and_a_flag_makes_it_clear(text: str) -> None:
    with pytest.raises(UsageError, match="must be a yes or a no"):
        breakpoint_value(text, question(), approved=None, by="human")
    assert breakpoint_value(text, question(), approved=False, by="human")["approved"] is False
    if text.strip():
        assert breakpoint_value(text, question(), approved=True, by="human")["approved"] is True


@pytest.mark.parametrize(("text", "approved"), [("yes", False), ("no", True)])
def test_a_flag_that_contradicts_the_text_is_refused(text: str, approved: bool) -> None:
    with pytest.raises(UsageError, match="contradicts the flag"):
        breakpoint_value(text, question(), approved=approved, by="human")


def test_an_option_is_recorded_and_approves_only_if_it_means_yes() -> None:
    red = breakpoint_value(" RED ", question("Red", "Approve"), approved=None, by="human")
    assert (red["approved"], red["option"]) == (False, "Red")
    assert breakpoint_value("approve", question("Red", "Approve"), approved=None, by="human")["approved"] is True


@pytest.mark.parametrize(("approved", "response"), [(True, "approve"), (False, "reject")])
def test_a_flag_without_a_text_is_the_answer(approved: bool, response: str) -> None:
    value = breakpoint_value(None, question(), approved=approved, by="human")
    assert value == {"approved": approved, "response": response, "respondedBy": "human"}


def test_an_empty_text_does_not_approve() -> None:
    store = store_with("breakpoint", "Ship it?")
    with pytest.raises(UsageError, match="an empty response does not approve"):
        answer(store, "e1", "", approved=True)
    assert len(questions(store)) == 1


def test_free_text_is_any_text_but_none() -> None:
    asks = question(payload=FREE)
    assert breakpoint_value("use port 80", asks, approved=None, by="human")["approved"] is True
    assert breakpoint_value("no", asks, approved=None, by="human")["approved"] is True
    with pytest.raises(UsageError, match="must not be empty"):
        breakpoint_value(" ", asks, approved=None, by="human")


@pytest.mark.parametrize(
    ("payload", "text", "options"),
    [
        ("Ship it?", "Ship it?", ()),
        ({"question": "Ship?", "options": ["a", {"label": "b"}, {"value": "c"}, 4]}, "Ship?", ("a", "b", "c", "4")),
        ({"title": "A title", "options": "none"}, "A title", ()),
        ({}, "ship", ()),
        (None, "ship", ()),
    ],
)
def test_a_breakpoint_becomes_a_question(payload: Any, text: str, options: tuple[str, ...]) -> None:
    (asked,) = questions(store_with("breakpoint", payload))
    assert (asked.effect_id, asked.kind, asked.text, asked.options) == ("e1", "breakpoint", text, options)


def test_an_answer_is_recorded_once() -> None:
    store = store_with("breakpoint", "Ship it?")
    answered = answer(store, "e1", "yes")
    effect = store.state().effects["e1"]
    assert (store.result(effect).value, effect.resolution) == answered
    assert questions(store) == []
    with pytest.raises(EffectResolved):
        answer(store, "e1", "no")
    with pytest.raises(EffectNotFound):
        answer(store, "e2", "yes")


def test_an_interrupted_effect_is_executed_again_only_when_the_user_says_so() -> None:
    store = store_with("shell")
    assert questions(store) == []
    with pytest.raises(UsageError, match="is not a question"):
        answer(store, "e1", "again")
    with store.write("test") as writer:
        writer.append(effect_attempts.DOUBT, {"effectId": "e1", "attempt": 1, "question": "Did it run?"})
    assert [(asked.kind, asked.text) for asked in questions(store)] == [(inbox.DOUBT, "Did it run?")]
    with pytest.raises(UsageError, match="must be `again`"):
        answer(store, "e1", "yes")
    assert answer(store, "e1", "Do it again!") == ({"again": True, "respondedBy": "human"}, None)
    assert questions(store) == []
    assert effect_attempts.read(store.state())["e1"].may_retry
