"""Messages of the user to a run: hints, new limits, tasks to try again, a new plan. They are entries of its journal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field

from bridle.ground.json_fields import JsonFields
from bridle.journal.format.entries import Entry
from bridle.journal.stores.store import Store
from bridle.loop import effects
from bridle.loop.effect_results import UserMessages, WorkResult
from bridle.loop.run_inputs import REPLAN
from bridle.loop.settings.limits import Limits

HINT = "BRIDLE_LOOP_HINT"
LIMITS = "BRIDLE_LOOP_LIMITS"
RETRY = "BRIDLE_LOOP_RETRY"
AGENT = "BRIDLE_LOOP_AGENT"
"""Other agents, another model, reasoning or auth: by the names of the settings."""
OWNER = "loop"
_TYPES = (HINT, LIMITS, RETRY, REPLAN, AGENT)


class UserMessageReader(Struct):
    """Reads the messages in a journal, and returns each hint once."""

    store: Store
    _hints_read: set[int] = field(default_factory=set)
    _messages: dict[int, Entry] = field(default_factory=dict)
    """The messages by sequence number: the notes between them are read once."""
    _notes_read: int = 0

    def since(self, after: int) -> UserMessages:
        """Return the messages after an entry. Of several workers only the first that asks gets a hint."""
        hints: list[str] = []
        retries: list[str] = []
        retries_at: list[int] = []
        limits: dict[str, Any] = {}
        plan: dict[str, Any] | None = None
        plan_at = 0
        last = after
        for entry in self._read():
            if entry.seq <= after:
                continue
            if entry.type == HINT:
                if entry.seq not in self._hints_read:
                    self._hints_read.add(entry.seq)
                    hints.append(JsonFields(entry.data).text("text") or "")
            elif entry.type == RETRY:
                retries.append(JsonFields(entry.data).text("task") or "")
                retries_at.append(entry.seq)
            elif entry.type == REPLAN:
                plan, plan_at = dict(JsonFields(entry.data).object("plan")), entry.seq
            else:
                limits |= {str(name): value for name, value in entry.data.items()}
            last = entry.seq
        return UserMessages(
            after=last,
            hints=tuple(hints),
            retries=tuple(retries),
            retries_at=tuple(retries_at),
            limits=limits,
            plan=plan,
            plan_at=plan_at,
        )

    def limits_since(self, after: int) -> dict[str, Any]:
        """Return the limits that the user sent after an entry."""
        sent = (entry.data for entry in self._read() if entry.type == LIMITS and entry.seq > after)
        return {str(name): value for data in sent for name, value in data.items()}

    def limits_in_force(self, at_start: Limits) -> Limits:
        """Return the limits of a run with all changes that the user sent, read by the run or not."""
        for entry in self._read():
            if entry.type == LIMITS:
                at_start = at_start.changed(dict(entry.data))
        return at_start

    def agent_in_force(self) -> dict[str, Any]:
        """Return the settings of agents that the user has changed, by name."""
        changed: dict[str, Any] = {}
        for entry in self._read():
            if entry.type == AGENT:
                changed |= entry.data
        return changed

    def _read(self) -> Iterable[Entry]:
        notes = self.store.state().notes
        new, self._notes_read = notes[self._notes_read :], len(notes)
        self._messages.update((entry.seq, entry) for entry in new if entry.type in _TYPES)
        return self._messages.values()


def unread_hints(store: Store) -> list[str]:
    """Return the hints of a run that no prompt contains: they were sent during or after its last iteration."""
    state = store.state()
    hints = [entry for entry in state.notes if entry.type == HINT]
    if not hints:
        return []
    works = [effect for effect in state.resolved if effect.kind == effects.WORK]
    values = (WorkResult.from_json(store.result(effect).value) for effect in works)
    last = max((value.user_messages.after for value in values), default=0)
    return [JsonFields(entry.data).text("text") or "" for entry in hints if entry.seq > last]


def send(store: Store, entry_type: str, data: dict[str, Any]) -> None:
    """Record a message; the next iteration reads it."""
    with store.write(OWNER) as writer:
        writer.append(entry_type, data)
