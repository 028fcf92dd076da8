"""What a replay knows from the journal: the effect of each step, the hooks, the clock readings, the words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from bridle.engine import notes
from bridle.journal.entries import PROCESS_LOG, Effect, Entry
from bridle.journal.state import State, text_field


@dataclass
class HookCall:
    """One call of `ctx.hook`, as recorded."""

    hook_id: str
    hook_type: str
    payload_digest: str
    result: Any = None
    is_resolved: bool = False


@dataclass(frozen=True)
class HookResult:
    """The moment at which a hook's result came in."""

    hook_id: str
    seq: int


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
        self._hook_results: list[HookResult] = []
        self._known_effects = self._known_notes = self._delivered = self._delivered_hooks = 0

    def learn(self, state: State) -> None:
        """Take in the entries that were not there before."""
        for effect in islice(state.effects.values(), self._known_effects, None):
            self.effects[effect.step_id] = effect
        self._known_effects = len(state.effects)
        for entry in state.notes[self._known_notes :]:
            self._learn_note(entry)
        self._known_notes = len(state.notes)

    def deliveries(self, state: State) -> Iterator[Effect | HookCall]:
        """What has a result that was not handed out before, in the order of the journal."""
        effects = state.resolved[self._delivered :]
        hooks = self._hook_results[self._delivered_hooks :]
        self._delivered, self._delivered_hooks = len(state.resolved), len(self._hook_results)
        if not hooks:
            return iter(effects)
        both = [(_resolved_at(effect), 0, effect) for effect in effects]
        both += [(result.seq, 1, self.hooks[result.hook_id]) for result in hooks]  # type: ignore[misc]  # one list
        return (item for _, _, item in sorted(both, key=lambda one: one[:2]))

    def _learn_note(self, entry: Entry) -> None:
        data: Any = entry.data
        if entry.type == notes.CLOCK_READ:
            self.clock.setdefault(data["turn"], data["now"])
        elif entry.type == notes.SLEEP_PASSED:
            self.passed[text_field(entry, "stepId")] = entry
        elif entry.type == notes.HOOK_REQUESTED:
            hook_id = text_field(entry, "hookId")
            self.hooks[hook_id] = HookCall(hook_id, data["hookType"], data["payloadDigest"])
        elif entry.type == notes.HOOK_RESOLVED:
            hook = self.hooks[text_field(entry, "hookId")]
            hook.result, hook.is_resolved = data["result"], True
            self._hook_results.append(HookResult(hook.hook_id, entry.seq))
        elif entry.type == notes.PROCESS_CODE:
            self.code = text_field(entry, "sha256")
        elif entry.type == PROCESS_LOG and data.get("logSeq", 0) > 0:
            self.logged = max(self.logged, data["logSeq"])


def _resolved_at(effect: Effect) -> int:
    return effect.resolution.seq if effect.resolution is not None else 0
