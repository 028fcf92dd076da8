"""Messages of the user are read from the journal in order, and each hint is given once."""

from __future__ import annotations

import pytest

from bridle.loop.settings.limits import Limits
from bridle.loop.user_messages import HINT, LIMITS, RETRY, UserMessageReader, send
from tests.journal.fixtures.memory_store import MemoryStore


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore({"runId": "r", "processId": "p"})
    with store.write("test") as writer:
        writer.append("RUN_CREATED", {"runId": "r"})
    return store


def test_messages_after_an_entry_are_read_in_order(store: MemoryStore) -> None:
    send(store, HINT, {"text": "use tabs"})
    send(store, LIMITS, {"max_cost_usd": 5.0, "tries": 3})
    send(store, RETRY, {"task": "A"})
    send(store, "BRIDLE_OTHER", {"text": "not a message"})
    send(store, LIMITS, {"tries": 4})
    messages = UserMessageReader(store).since(0)
    assert (messages.after, messages.hints, messages.retries, messages.retries_at) == (6, ("use tabs",), ("A",), (4,))
    assert messages.limits == {"max_cost_usd": 5.0, "tries": 4}
    later = UserMessageReader(store).since(4)
    assert (later.after, later.hints, later.retries, later.limits) == (6, (), (), {"tries": 4})


def test_without_messages_the_place_stays(store: MemoryStore) -> None:
    messages = UserMessageReader(store).since(7)
    assert (messages.after, messages.hints, messages.limits) == (7, (), {})


def test_a_hint_goes_to_the_first_worker_that_asks_and_a_limit_to_all(store: MemoryStore) -> None:
    reader = UserMessageReader(store)
    send(store, HINT, {"text": "use tabs"})
    send(store, LIMITS, {"tries": 3})
    first, second = reader.since(0), reader.since(0)
    assert (first.hints, second.hints) == (("use tabs",), ())
    assert first.limits == second.limits == {"tries": 3}
    send(store, HINT, {"text": "and no spaces"})
    assert reader.since(second.after).hints == ("and no spaces",)


def test_a_message_without_its_field_is_empty_text(store: MemoryStore) -> None:
    send(store, HINT, {})
    send(store, RETRY, {"task": None})
    messages = UserMessageReader(store).since(0)
    assert (messages.hints, messages.retries) == (("",), ("",))


def test_the_limits_in_force_are_the_last_that_were_sent_and_no_hint_is_used_up(store: MemoryStore) -> None:
    messages = UserMessageReader(store)
    assert messages.limits_in_force(Limits(tries=2)) == Limits(tries=2)
    send(store, LIMITS, {"max_cost_usd": 5.0})
    send(store, HINT, {"text": "use tabs"})
    send(store, LIMITS, {"max_cost_usd": 7.0, "unknown": 1})
    assert messages.limits_in_force(Limits(tries=2)) == Limits(tries=2, max_cost_usd=7.0)
    assert messages.since(0).hints == ("use tabs",)
