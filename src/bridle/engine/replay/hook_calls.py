"""The calls of `ctx.hook` in one execution of a process, and the recorded ones that they belong to."""

from __future__ import annotations

from typing import Any

from bridle.engine.replay import json_values
from bridle.engine.replay.event_loop import Promise
from bridle.engine.replay.new_requests import HookRequest
from bridle.engine.replay.recorded import RecordedHook, Recording
from bridle.journal.format.digest import sha256


class PayloadDigests:
    """The digests by which a recorded payload is recognised."""

    def __init__(self, hook_type: str, payload: Any) -> None:
        subject = ("the payload of hook", hook_type)
        self._exact = json_values.digest(payload, subject)  # that of earlier versions
        self.recorded = sha256(json_values.comparable(payload, subject).encode())

    def match(self, digest: str | None) -> bool:
        """Return whether a recorded digest is of this payload; None is recorded if the request was lost."""
        return digest in (None, self.recorded, self._exact)


class HookCalls:
    """The calls by hook id: their number in the order of calls, or the id of the recorded call that they repeat."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._calls: dict[str, tuple[HookRequest, Promise]] = {}
        self._early: dict[str, RecordedHook] = {}
        self._count = 0

    @property
    def next(self) -> HookRequest | None:
        """Return the first call that the process waits for."""
        return next((call for call, promise in self._calls.values() if not promise.done()), None)

    def was_called(self, hook_id: str) -> bool:
        return hook_id in self._calls

    def next_id(self, hook_type: str, digests: PayloadDigests) -> str:
        """Return the id of a new call.

        Results that arrive in another order, as after a repair, change the order of calls in parallel parts of a
        process. So a call belongs to a recorded one with its type and payload, if not to the one with its number.
        """
        self._count += 1
        own, hooks = f"H{self._count:06d}", self._recording.hooks
        if self._is_free(own) and (own not in hooks or _is_of(hooks[own], hook_type, digests)):
            return own
        others = (hook for hook in hooks.values() if self._is_free(hook.hook_id) and _is_of(hook, hook_type, digests))
        other = next(others, None)
        if other is not None:
            return other.hook_id
        return own if self._is_free(own) else f"H{len(hooks.keys() | self._calls.keys()) + 1:06d}"

    def add(self, call: HookRequest, promise: Promise) -> None:
        self._calls[call.hook_id] = (call, promise)

    def take_early(self, hook_id: str) -> RecordedHook | None:
        """Return a call that was recorded and delivered before the process made it."""
        return self._early.pop(hook_id, None)

    def deliver(self, hook: RecordedHook) -> None:
        """Resolve the call of a recorded result; keep the result if the process has not made the call yet."""
        call = self._calls.get(hook.hook_id)
        if call is None:
            self._early[hook.hook_id] = hook
        elif not call[1].done():
            call[1].set_result(json_values.copy_for_process(hook.result))

    def _is_free(self, hook_id: str) -> bool:
        return hook_id not in self._calls


def _is_of(hook: RecordedHook, hook_type: str, digests: PayloadDigests) -> bool:
    return hook.hook_type == hook_type and digests.match(hook.payload_digest)
