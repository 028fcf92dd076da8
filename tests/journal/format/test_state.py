"""The fold of a journal: the state of a run, its effects, and what cannot follow what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import JournalBroken
from bridle.journal.format.entries import Entry
from bridle.journal.format.state import Position, State, fold
from tests.journal.fixtures.entry_steps import MOMENT, ids, journal, request_data, state_of


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("", "created"),
        ("created", "created"),
        ("created ask:a", "waiting"),
        ("created ask:a ok:a", "created"),
        ("created ask:a error:a", "created"),
        ("created ask:a ask:b ok:a", "waiting"),
        ("created ask:a ok:a completed", "completed"),
        ("created ask:a completed", "completed"),
        ("created ask:a failed", "failed"),
        ("created failed ask:a", "waiting"),
        ("created failed ask:a ok:a", "created"),
        ("created failed completed", "completed"),
        ("created completed failed", "failed"),
        ("created halted", "halted"),
        ("created ask:a halted ok:a", "halted"),
        ("created completed stop stop", "completed"),
        ("created completed BRIDLE_CODE_CHANGED", "completed"),
        ("created completed completed", "completed"),
        ("created completed ask:a", "waiting"),
    ],
)
def test_the_state_goes_by_the_newest_end_unless_something_was_asked_for_since(words: str, state: str) -> None:
    assert state_of(words).position.state == state


def test_effects_are_known_by_id_and_key_with_their_status_and_in_their_orders() -> None:
    state = state_of("created ask:a ask:b/shell ask:c/sleep error:b ok:a")
    assert {name: effect.status for name, effect in state.effects.items()} == {
        "a": "resolved_ok",
        "b": "resolved_error",
        "c": "requested",
    }
    assert state.by_key["p:b:task"].kind == "shell"
    assert [effect.effect_id for effect in state.resolved] == ["b", "a"]
    assert [effect.effect_id for effect in state.pending] == ["c"]
    assert state.position.pending_by_kind() == {"sleep": 1}
    assert (state.position.seq, state.last) == (6, journal("created ask:a ask:b/shell ask:c/sleep error:b ok:a")[-1])


def test_entries_of_our_own_are_kept_in_order_and_unknown_ones_passed_over() -> None:
    state = state_of("created BRIDLE_NOW SOMETHING_NEW BRIDLE_HOOK")
    assert [entry.type for entry in state.notes] == ["BRIDLE_NOW", "BRIDLE_HOOK"]
    assert state.created is not None
    assert state.created.seq == 1


@pytest.mark.parametrize(
    ("words", "stops"), [("created", 0), ("created stop", 1), ("stop stop stop", 3), ("stop stop ask:a", 0)]
)
def test_stops_in_a_row_are_counted(words: str, stops: int) -> None:
    assert state_of(words).position.stops == stops


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("created ok:a", "resolves the effect a, which was not requested"),
        ("created ask:a ok:a error:a", "resolves the effect a a second time"),
        ("created ask:a ask:a", "requests the effect a a second time"),
    ],
)
def test_an_entry_that_contradicts_an_earlier_one_is_named(words: str, fault: str) -> None:
    with pytest.raises(JournalBroken, match=fault) as caught:
        state_of(words)
    entry = journal(words)[-1]
    assert f"{entry.seq:06d}.{entry.ulid}.json" in caught.value.message


def entry(seq: int, ulid: str, entry_type: str = "X", data: dict[str, object] | None = None) -> Entry:
    return Entry(seq, ulid, entry_type, MOMENT, data or {})


@pytest.mark.parametrize("seq", [1, 3, 0])
def test_a_gap_and_a_repetition_in_the_numbers_are_noticed(seq: int) -> None:
    one, two = ids(2)
    with pytest.raises(JournalBroken, match=rf"out of sequence \(expected 2, found {seq}\)"):
        fold([entry(1, one), entry(seq, two)])


def test_ids_that_do_not_rise_are_noticed() -> None:
    one, two = ids(2)
    for later in (one, two):
        with pytest.raises(JournalBroken, match="has an id that is not greater"):
            fold([entry(1, two), entry(2, later)])


def test_a_key_that_is_used_twice_is_noticed() -> None:
    one, two = ids(2)
    asked = [request_data(name, key="p:S1:t") for name in ("a", "b")]
    with pytest.raises(JournalBroken, match="uses the invocation key 'p:S1:t' a second time"):
        fold([entry(1, one, "EFFECT_REQUESTED", asked[0]), entry(2, two, "EFFECT_REQUESTED", asked[1])])


@pytest.mark.parametrize("field", ["effectId", "invocationKey", "stepId", "taskId"])
@pytest.mark.parametrize("value", [None, "", 3])
def test_a_request_that_lacks_a_field_is_named_with_it(field: str, value: object) -> None:
    data = request_data("a") | {field: value}
    with pytest.raises(JournalBroken, match=f"has no {field}"):
        fold([entry(1, ids(1)[0], "EFFECT_REQUESTED", data)])


@pytest.mark.parametrize("status", ["done", None, 1])
def test_a_resolution_is_ok_or_an_error_and_nothing_else(status: object) -> None:
    one, two = ids(2)
    resolved = entry(2, two, "EFFECT_RESOLVED", {"effectId": "a", "status": status})
    with pytest.raises(JournalBroken, match="which must be ok or error"):
        fold([entry(1, one, "EFFECT_REQUESTED", request_data("a")), resolved])


def test_an_entry_that_cannot_follow_leaves_the_state_as_it_was() -> None:
    state = state_of("created ask:a")
    for words in ("created ask:b ok:zz", "created ask:b ask:a", "created"):
        with pytest.raises(JournalBroken):
            state.apply(journal(words)[-1])
        assert (state.position.seq, list(state.effects), list(state.position.pending)) == (2, ["a"], ["a"])


STEPS = ("ask", "ok", "error", "completed", "failed", "halted", "stop", "created", "BRIDLE_X", "OTHER")


@given(st.lists(st.sampled_from(STEPS), max_size=40))
def test_the_small_fold_and_the_whole_one_agree(words: list[str]) -> None:
    asked, waiting, steps = 0, [], []
    for word in words:
        if word == "ask":
            steps.append(f"ask:e{asked}/{'agent' if asked % 2 else 'sleep'}")
            waiting.append(f"e{asked}")
            asked += 1
        elif word in ("ok", "error"):
            if waiting:
                steps.append(f"{word}:{waiting.pop(len(waiting) // 2)}")
        else:
            steps.append(word)
    state, position = State(), Position()
    for one in journal(" ".join(steps)):
        state.apply(one)
        position.apply(one)
        assert [getattr(position, name) for name in ("seq", "ulid", "end", "stops", "state")] == [
            getattr(state.position, name) for name in ("seq", "ulid", "end", "stops", "state")
        ]
        assert list(position.pending) == [effect.effect_id for effect in state.pending]
        assert position.pending_by_kind() == state.position.pending_by_kind()
