"""The entries of a run's journal as JSON values: a window of them, each with its task and one line of summary."""

from __future__ import annotations

from itertools import islice
from typing import Any

from bridle.engine.entries import effect_attempts
from bridle.errors import Error
from bridle.ground.json_fields import JsonFields
from bridle.journal.format import entries as types
from bridle.journal.format.entries import Effect, Entry
from bridle.journal.format.state import State
from bridle.journal.stores.file_store import FileStore
from bridle.loop import effects, user_messages
from bridle.views.run_data.conversation_pages import WINDOW_LIMIT, seconds_of
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask

# Of one text in the data of an entry; the files of the run have the rest.
KEPT_CHARACTERS = 2000
_KEPT_MEMBERS = 100
_SUMMARY_CHARACTERS = 200
_DEPTH = 6

_TEXTS = {
    types.RUN_CREATED: "the run was created",
    types.RUN_COMPLETED: "the run completed",
    types.RUN_FAILED: "the run failed",
    types.RUN_HALTED: "the run was halted",
    types.RUN_CONTINUED: "the run continues",
    types.STOP_HOOK_INVOKED: "the stop hook was called",
    types.RESULT_REFUSED: "a result was refused: it is not from the driver",
    types.COMMAND_REFUSED: "a command of an agent was refused",
    effect_attempts.STARTED: "started",
    effect_attempts.DELIVERED: "the agent has finished in its worktree",
    effect_attempts.JOINING: "merging its work",
    effect_attempts.DOUBT: "interrupted: you decide whether it is executed again",
    effect_attempts.AGAIN: "you asked for it again",
    user_messages.HINT: "you sent a hint",
    user_messages.LIMITS: "you changed limits",
    user_messages.RETRY: "you asked for another try",
}


def journal_window(store: FileStore, first: int, count: int, mask: Mask) -> JsonObject:
    """Return the entries from a number on; a negative one counts from the end."""
    state = store.state()
    total = state.position.seq
    after = max(0, total + first) if first < 0 else max(0, first - 1)
    chosen = islice(store.entries(after=after), max(0, min(count, WINDOW_LIMIT)))
    return {"entries": [entry_document(entry, store, state, mask) for entry in chosen], "count": total}


def entry_document(entry: Entry, store: FileStore, state: State, mask: Mask) -> JsonObject:
    """Return one entry; `state` knows the effects that it may be about."""
    effect = state.effects.get(entry.text("effectId") or "")
    label, task, iteration = (None, None, None) if effect is None else describe_effect(store, effect)
    # Masked before it is cut: half a secret is not recognised.
    data = mask.apply_to_json(dict(entry.data))
    document = {
        "seq": entry.seq,
        "type": entry.type,
        "at": seconds_of(entry.recorded_at),
        "effect": None if effect is None else effect.effect_id,
        "kind": None if effect is None else effect.kind,
        "label": label,
        "task": task or JsonFields(entry.data).text("task"),
        "iteration": iteration,
        "summary": summary_of(entry, effect, label or "", mask),
        "data": clip_value(data),
    }
    masked: JsonObject = mask.apply_to_json(document)
    return masked


def describe_effect(store: FileStore, effect: Effect) -> tuple[str, str | None, int | None]:
    """Return what an effect is called, and its task and iteration where it has them."""
    try:
        document = store.task(effect)
    except Error:
        return effect.label or effect.task_id, None, None  # the audit names the file; the entry is shown all the same
    fields = JsonFields(document.inputs)
    iteration = fields.value("iteration")
    name = effect.label or document.title or effect.task_id
    return name, fields.text("task"), iteration if isinstance(iteration, int) and iteration else None


def summary_of(entry: Entry, effect: Effect | None, name: str, mask: Mask) -> str:
    """Return an entry in one line."""
    if entry.type == types.EFFECT_REQUESTED and effect is not None:
        return _line(mask, f"{_kind(effect.kind)}: {name}")
    if entry.type == types.EFFECT_RESOLVED:
        return _line(mask, f"{name}: {'ended' if entry.data.get('status') == types.OK else 'failed'}")
    fields = JsonFields(entry.data)
    text = _TEXTS.get(entry.type, entry.type.removeprefix(types.OWN_PREFIX).replace("_", " ").lower())
    about = name or fields.text("text") or fields.text("task") or fields.text("command") or fields.text("message") or ""
    return _line(mask, f"{text}: {about}" if about else text)


def _kind(kind: str) -> str:
    return {
        effects.WORK: "agent",
        effects.CHECK: "checks",
        effects.PAUSE: "pause",
        types.BREAKPOINT: "question",
    }.get(kind, kind.removeprefix(types.DRIVER_PREFIX))


def _line(mask: Mask, text: str) -> str:
    return " ".join(mask.apply(text).split())[:_SUMMARY_CHARACTERS]


def clip_value(value: Any, depth: int = _DEPTH) -> Any:
    """Return a JSON value with long texts, long lists and deep nesting cut."""
    if isinstance(value, str):
        more = len(value) - KEPT_CHARACTERS
        return value if more <= 0 else f"{value[:KEPT_CHARACTERS]}… ({more} more characters)"
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == 0:
        return "…"
    if isinstance(value, dict):
        return {str(name): clip_value(member, depth - 1) for name, member in islice(value.items(), _KEPT_MEMBERS)}
    return [clip_value(member, depth - 1) for member in value[:_KEPT_MEMBERS]]
