"""The records of a journal that a replay uses: effects by step, hooks, clock readings, log messages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from bridle.engine.entries import notes
from bridle.journal.format.entries import PROCESS_LOG, Effect, Entry
from bridle.journal.format.state import State, text_field


class RecordedHook:
    """One recorded call of `ctx.hook`."""

    def __init__(self, hook_id: str, hook_type: str, payload_digest: str | None, request: Entry) -> None:
        self.request = request
        """Its entry in the journal; the entry of its result if a repair has dropped the request."""
        self.hook_id = hook_id
        self.hook_type = hook_type
        self.payload_digest = payload_digest
        """None if a repair has dropped the request."""
        self.result: Any = None
        self.resolved_at = 0
        """The number of the entry with its result; 0 without one."""


class Recording:
    """The records of one journal; `update` reads new entries, `new_results` returns results in their order."""

    def __init__(self) -> None:
        self.effects: dict[str, Effect] = {}
        """By step id."""
        self.passed_sleeps: dict[str, Entry] = {}
        """Sleeps whose time had passed at their request, by step id."""
        self.clock: dict[str, str] = {}
        """Clock readings, by the turn: the step or hook whose result they follow."""
        self.numbered_clock: dict[int, str] = {}
        """Clock readings of earlier versions, by turn."""
        self.hooks: dict[str, RecordedHook] = {}
        self.log_count = 0
        """How many messages of `ctx.log` are recorded."""
        self.code_digest: str | None = None
        """The last recorded digest of the process file."""
        self._resolved_hooks: list[RecordedHook] = []
        self._known_effects = self._known_notes = self._delivered = self._delivered_hooks = 0

    def update(self, state: State) -> None:
        """Read the entries that are new since the last call."""
        # From the end: iterating a dictionary from its start would visit all old effects.
        new = islice(reversed(state.effects.values()), len(state.effects) - self._known_effects)
        for effect in reversed(list(new)):
            self.effects[effect.step_id] = effect
        self._known_effects = len(state.effects)
        for entry in state.notes[self._known_notes :]:
            self._read_note(entry)
        self._known_notes = len(state.notes)

    def new_results(self, state: State) -> Iterator[Effect | RecordedHook]:
        """Return the effects and hooks resolved since the last call, in journal order."""
        effects = state.resolved[self._delivered :]
        hooks = self._resolved_hooks[self._delivered_hooks :]
        self._delivered, self._delivered_hooks = len(state.resolved), len(self._resolved_hooks)
        both: list[Effect | RecordedHook] = [*effects, *hooks]
        return iter(sorted(both, key=resolved_at) if hooks else effects)

    def _read_note(self, entry: Entry) -> None:
        data: Any = entry.data
        if entry.type == notes.CLOCK_READ:
            if "after" in data:
                self.clock.setdefault(data["after"], data["now"])
            else:
                self.numbered_clock.setdefault(data["turn"], data["now"])
        elif entry.type == notes.SLEEP_PASSED:
            self.passed_sleeps[text_field(entry, "stepId")] = entry
        elif entry.type == notes.HOOK_REQUESTED:
            hook_id = text_field(entry, "hookId")
            self.hooks.setdefault(hook_id, RecordedHook(hook_id, data["hookType"], data["payloadDigest"], entry))
        elif entry.type == notes.HOOK_RESOLVED:
            self._resolve_hook(text_field(entry, "hookId"), data["result"], entry)
        elif entry.type == notes.PROCESS_CODE:
            self.code_digest = text_field(entry, "sha256")
        elif entry.type == PROCESS_LOG and data.get("logSeq", 0) > 0:
            self.log_count = max(self.log_count, data["logSeq"])

    def _resolve_hook(self, hook_id: str, result: Any, entry: Entry) -> None:
        """Record the result of a hook, also if a repair has dropped its request."""
        hook = self.hooks.get(hook_id)
        if hook is None:
            hook = self.hooks[hook_id] = RecordedHook(hook_id, result["hookType"], None, entry)
        if not hook.resolved_at:
            hook.result, hook.resolved_at = result, entry.seq
            self._resolved_hooks.append(hook)


def resolved_at(item: Effect | RecordedHook) -> int:
    """Return the number of the entry with the result; 0 without one."""
    if isinstance(item, RecordedHook):
        return item.resolved_at
    return item.resolution.seq if item.resolution is not None else 0
