"""What a replay knows from the journal: the effect of each step, the hooks, the clock readings, the words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from bridle.engine.entries import notes
from bridle.journal.format.entries import PROCESS_LOG, Effect, Entry
from bridle.journal.format.state import State, text_field


class HookCall:
    """One call of `ctx.hook`, as recorded."""

    def __init__(self, hook_id: str, hook_type: str, payload_digest: str, request: Entry) -> None:
        self.request = request
        """The entry that says so."""
        self.hook_id = hook_id
        self.hook_type = hook_type
        self.payload_digest = payload_digest
        self.result: Any = None
        self.resolved_at = 0
        """The number of the entry that has its result; 0 while there is none."""


class Recall:
    """Grows with the journal: `learn` takes in what is new, `deliveries` hands out results in their order."""

    def __init__(self) -> None:
        self.effects: dict[str, Effect] = {}
        """By step id."""
        self.passed: dict[str, Entry] = {}
        """Sleeps that were over when they were asked for, by step id."""
        self.clock: dict[int, str] = {}
        """Clock readings, by turn."""
        self.hooks: dict[str, HookCall] = {}
        self.logged = 0
        """How many words of `ctx.log` are kept."""
        self.code: str | None = None
        """The digest of the process's file, as last noted."""
        self._answered: list[HookCall] = []
        self._known_effects = self._known_notes = self._delivered = self._delivered_hooks = 0

    def learn(self, state: State) -> None:
        """Take in the entries that were not there before."""
        # From the end: a dictionary is walked from its beginning otherwise, however little of it is new.
        new = islice(reversed(state.effects.values()), len(state.effects) - self._known_effects)
        for effect in reversed(list(new)):
            self.effects[effect.step_id] = effect
        self._known_effects = len(state.effects)
        for entry in state.notes[self._known_notes :]:
            self._learn_note(entry)
        self._known_notes = len(state.notes)

    def deliveries(self, state: State) -> Iterator[Effect | HookCall]:
        """What has a result that was not handed out before, in the order of the journal."""
        effects = state.resolved[self._delivered :]
        hooks = self._answered[self._delivered_hooks :]
        self._delivered, self._delivered_hooks = len(state.resolved), len(self._answered)
        both: list[Effect | HookCall] = [*effects, *hooks]
        return iter(sorted(both, key=_resolved_at) if hooks else effects)

    def _learn_note(self, entry: Entry) -> None:
        data: Any = entry.data
        if entry.type == notes.CLOCK_READ:
            self.clock.setdefault(data["turn"], data["now"])
        elif entry.type == notes.SLEEP_PASSED:
            self.passed[text_field(entry, "stepId")] = entry
        elif entry.type == notes.HOOK_REQUESTED:
            hook_id = text_field(entry, "hookId")
            self.hooks[hook_id] = HookCall(hook_id, data["hookType"], data["payloadDigest"], entry)
        elif entry.type == notes.HOOK_RESOLVED:
            hook = self.hooks[text_field(entry, "hookId")]
            hook.result, hook.resolved_at = data["result"], entry.seq
            self._answered.append(hook)
        elif entry.type == notes.PROCESS_CODE:
            self.code = text_field(entry, "sha256")
        elif entry.type == PROCESS_LOG and data.get("logSeq", 0) > 0:
            self.logged = max(self.logged, data["logSeq"])


def _resolved_at(item: Effect | HookCall) -> int:
    if isinstance(item, HookCall):
        return item.resolved_at
    return item.resolution.seq if item.resolution is not None else 0
