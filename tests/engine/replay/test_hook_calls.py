"""A call of a hook belongs to the recorded call with its number, type and payload, whatever the order of results."""

from __future__ import annotations

import pytest

from bridle.engine.entries import notes
from bridle.engine.replay.event_loop import Promise, ReplayLoop
from bridle.engine.replay.hook_calls import HookCalls, PayloadDigests
from bridle.engine.replay.new_requests import HookRequest
from bridle.engine.replay.recorded import RecordedHook, Recording
from bridle.journal.format.entries import Entry
from tests.journal.fixtures.entry_steps import MOMENT, ids


def recorded(*payloads: str) -> Recording:
    """A journal with calls of one hook that had these payloads, in this order."""
    recording = Recording()
    for number, payload in enumerate(payloads, 1):
        hook_id, digest = f"H{number:06d}", PayloadDigests("custom", payload).recorded
        request = Entry(number, ids(number)[-1], notes.HOOK_REQUESTED, MOMENT, {"hookId": hook_id})
        recording.hooks[hook_id] = RecordedHook(hook_id, "custom", digest, request)
    return recording


def call(calls: HookCalls, loop: ReplayLoop, payload: str) -> tuple[str, Promise]:
    hook_id = calls.next_id("custom", PayloadDigests("custom", payload))
    promise = Promise(loop=loop)
    calls.add(HookRequest(hook_id, "custom", payload, None, 1.0), promise)
    return hook_id, promise


@pytest.mark.parametrize(
    ("payloads", "expected"),
    [
        ("abc", ["H000001", "H000002", "H000003"]),
        ("cab", ["H000003", "H000001", "H000002"]),
        ("bac", ["H000002", "H000001", "H000003"]),
        ("abcd", ["H000001", "H000002", "H000003", "H000004"]),
    ],
)
def test_a_call_repeats_the_recorded_call_with_its_payload(payloads: str, expected: list[str]) -> None:
    loop, calls = ReplayLoop(), HookCalls(recorded("a", "b", "c"))
    assert [call(calls, loop, payload)[0] for payload in payloads] == expected


def test_a_result_that_is_delivered_twice_resolves_the_call_once() -> None:
    recording = recorded("a")
    calls = HookCalls(recording)
    hook_id, promise = call(calls, ReplayLoop(), "a")
    hook = recording.hooks[hook_id]
    hook.result = {"said": "yes"}
    calls.deliver(hook)
    calls.deliver(hook)
    assert promise.result() == {"said": "yes"}
    assert calls.next is None
