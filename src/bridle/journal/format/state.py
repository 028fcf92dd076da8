"""The state of a run: the only fold of a journal, for engine, commands, hooks and views.

`Position` is the part of constant size: it has only the pending effects. `State` has every effect. Both are computed
from entries in order; an entry that cannot follow the ones before it raises JournalBroken.
"""

from __future__ import annotations

from bridle.errors import JournalBroken
from bridle.ground.light.abc_names import Iterable
from bridle.journal.format.entries import (
    EFFECT_REQUESTED,
    EFFECT_RESOLVED,
    ERROR,
    OK,
    OWN_PREFIX,
    PROCESS_LOG,
    REQUESTED,
    RESOLVED_ERROR,
    RESOLVED_OK,
    RESULT_REFUSED,
    RUN_COMPLETED,
    RUN_CONTINUED,
    RUN_CREATED,
    RUN_FAILED,
    RUN_HALTED,
    STOP_HOOK_INVOKED,
    Effect,
    Entry,
)

CREATED = "created"
WAITING = "waiting"
COMPLETED = "completed"
FAILED = "failed"
HALTED = "halted"

_ENDS = {RUN_COMPLETED: COMPLETED, RUN_FAILED: FAILED, RUN_HALTED: HALTED}


class Pending:
    """A pending effect: its kind and the entry of its request."""

    __slots__ = ("kind", "seq", "ulid")

    def __init__(self, kind: str, seq: int, ulid: str) -> None:
        self.kind = kind
        self.seq = seq
        self.ulid = ulid


class Position:
    """The summary of a run's state, of constant size."""

    __slots__ = ("end", "pending", "seq", "stops", "ulid")

    def __init__(self) -> None:
        self.seq = 0
        """The number of the newest entry; 0 for an empty journal."""
        self.ulid = ""
        """Its id."""
        self.end: str | None = None
        """`completed`, `failed` or `halted`; None while the run continues."""
        self.pending: dict[str, Pending] = {}
        """By effect id, in the order of requests."""
        self.stops = 0
        """How many STOP_HOOK_INVOKED entries in a row the journal ends with."""

    @property
    def state(self) -> str:
        """Return `created`, `waiting`, `completed`, `failed` or `halted`."""
        return self.end or (WAITING if self.pending else CREATED)

    def pending_by_kind(self) -> dict[str, int]:
        """Return the number of pending effects of each kind, kinds in order of appearance."""
        counts: dict[str, int] = {}
        for effect in self.pending.values():
            counts[effect.kind] = counts.get(effect.kind, 0) + 1
        return counts

    def apply(self, entry: Entry) -> None:
        if entry.type == EFFECT_REQUESTED:
            self.request(entry, text_field(entry, "effectId"), _kind(entry))
        elif entry.type == EFFECT_RESOLVED:
            self.resolve(entry, text_field(entry, "effectId"))
        else:
            self.note(entry)

    def request(self, entry: Entry, effect_id: str, kind: str) -> None:
        self._advance(entry)
        self.end = None  # a run with a new request continues, whatever its state before
        self.pending[effect_id] = Pending(kind, entry.seq, entry.ulid)

    def resolve(self, entry: Entry, effect_id: str) -> None:
        if effect_id not in self.pending:
            raise broken(entry, f"resolves the effect {effect_id}, which was not pending")
        self._advance(entry)
        del self.pending[effect_id]

    def note(self, entry: Entry) -> None:
        """Apply any other entry."""
        stops = self.stops + 1 if entry.type == STOP_HOOK_INVOKED else 0
        self._advance(entry)
        if entry.type == RESULT_REFUSED:
            self._reopen(entry)
        self.stops = stops
        self.end = None if entry.type == RUN_CONTINUED else _ENDS.get(entry.type, self.end)

    def _reopen(self, entry: Entry) -> None:
        """Make the effect pending again whose result was refused."""
        data = entry.data
        match (data.get("effectId"), data.get("kind"), data.get("requestSeq"), data.get("requestUlid")):
            case str(effect_id), str(kind), int(seq), str(ulid):
                pending = {**self.pending, effect_id: Pending(kind, seq, ulid)}
                self.pending = dict(sorted(pending.items(), key=lambda item: item[1].seq))
            case _:
                raise broken(entry, "names no effect")

    def _advance(self, entry: Entry) -> None:
        if entry.seq != self.seq + 1:
            raise broken(entry, f"is out of sequence (expected {self.seq + 1}, found {entry.seq})")
        if entry.ulid <= self.ulid:
            raise broken(entry, f"has an id that is not greater than the one before ({entry.ulid} after {self.ulid})")
        self.seq, self.ulid, self.stops = entry.seq, entry.ulid, 0


UNKNOWN_KIND = "unknown"
"""The kind of an effect whose entry has none."""


class State:
    """The full state of a run."""

    __slots__ = (
        *("by_key", "created", "effects", "ended", "last", "notes", "resolved", "resolved_before", "rounds"),
        "position",
    )

    def __init__(self) -> None:
        self.position = Position()
        self.effects: dict[str, Effect] = {}
        """By effect id, in the order of requests."""
        self.by_key: dict[str, Effect] = {}
        """By invocation key."""
        self.resolved: list[Effect] = []
        """In the order of resolution."""
        self.rounds = 0
        """How often requests followed a resolution, including the first requests."""
        self.resolved_before = 0
        """How many effects were resolved at the last request."""
        self.notes: list[Entry] = []
        """The entries of Bridle's own types and the log messages of the process, in order."""
        self.ended: Entry | None = None
        """The newest entry that ended the run, even if it continued after it."""
        self.created: Entry | None = None
        """The first RUN_CREATED entry."""
        self.last: Entry | None = None
        """The newest entry."""

    @property
    def pending(self) -> list[Effect]:
        """Return the pending effects, in the order of requests."""
        return [self.effects[effect_id] for effect_id in self.position.pending]

    def apply(self, entry: Entry) -> None:
        """Apply the next entry; an invalid one leaves the state unchanged."""
        if entry.type == EFFECT_REQUESTED:
            self.request(requested_effect(entry))
        elif entry.type == EFFECT_RESOLVED:
            self.resolve(entry, text_field(entry, "effectId"), entry.data.get("status"))
        else:
            self.note(entry)

    def request(self, effect: Effect) -> None:
        entry, effect_id = effect.request, effect.effect_id
        if effect_id in self.effects:
            raise broken(entry, f"requests the effect {effect_id} a second time")
        if effect.key in self.by_key:
            raise broken(entry, f"uses the invocation key {effect.key!r} a second time")
        self.position.request(entry, effect_id, effect.kind)
        if not self.effects or len(self.resolved) > self.resolved_before:
            self.rounds, self.resolved_before = self.rounds + 1, len(self.resolved)
        self.effects[effect_id] = self.by_key[effect.key] = effect
        self.last = entry

    def resolve(self, entry: Entry, effect_id: str, status: object) -> None:
        """Apply the resolution of an effect."""
        effect = self.effects.get(effect_id)
        if effect is None:
            raise broken(entry, f"resolves the effect {effect_id}, which was not requested")
        if effect.resolution is not None:
            raise broken(entry, f"resolves the effect {effect_id} a second time")
        if status not in (OK, ERROR):
            raise broken(entry, f"has the status {status!r}, which must be ok or error")
        self.position.resolve(entry, effect_id)
        effect.resolution, effect.status = entry, RESOLVED_OK if status == OK else RESOLVED_ERROR
        self.resolved.append(effect)
        self.last = entry

    def note(self, entry: Entry) -> None:
        """Apply any other entry."""
        refused = self._refused(entry) if entry.type == RESULT_REFUSED else None
        self.position.note(entry)
        if refused is not None:
            self.resolved.remove(refused)
            refused.resolution, refused.status = None, REQUESTED
        if entry.type.startswith(OWN_PREFIX) or entry.type == PROCESS_LOG:
            self.notes.append(entry)
        elif entry.type in _ENDS:
            self.ended = entry
        elif entry.type == RUN_CREATED and self.created is None:
            self.created = entry
        self.last = entry

    def _refused(self, entry: Entry) -> Effect:
        """Return the effect whose result is refused: the last that was resolved, or the process has received more."""
        effect = self.effects.get(text_field(entry, "effectId"))
        if effect is None or effect.resolution is None:
            raise broken(entry, "refuses a result that is not recorded")
        return effect


def fold(entries: Iterable[Entry]) -> State:
    """Return the state after these entries."""
    state = State()
    for entry in entries:
        state.apply(entry)
    return state


def requested_effect(entry: Entry) -> Effect:
    get = entry.data.get
    effect_id, key, step_id, task_id = get("effectId"), get("invocationKey"), get("stepId"), get("taskId")
    # Without helper calls, since a fold of a long run spends most of its time here.
    if not (effect_id and key and step_id and task_id and isinstance(effect_id, str) and isinstance(key, str)):
        effect_id, key = text_field(entry, "effectId"), text_field(entry, "invocationKey")
    if not (step_id and task_id and isinstance(step_id, str) and isinstance(task_id, str)):
        step_id, task_id = text_field(entry, "stepId"), text_field(entry, "taskId")
    kind = get("kind")
    return Effect(entry, effect_id, key, step_id, task_id, kind if isinstance(kind, str) else UNKNOWN_KIND)


def text_field(entry: Entry, name: str) -> str:
    """Return a field that must be a string."""
    value = entry.data.get(name)
    if not isinstance(value, str) or not value:
        raise broken(entry, f"has no {name}")
    return value


def _kind(entry: Entry) -> str:
    kind = entry.data.get("kind")
    return kind if isinstance(kind, str) else UNKNOWN_KIND


def broken(entry: Entry, fault: str) -> JournalBroken:
    """Return the error for an invalid entry."""
    return JournalBroken(f"journal entry {file_name(entry.seq, entry.ulid)} {fault}", payload=entry)


def file_name(seq: int, ulid: str) -> str:
    """Return the name of an entry's file."""
    return f"{seq:06d}.{ulid}.json"
