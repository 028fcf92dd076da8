"""JSON documents of entries, effects and positions, in the journal format's own fields."""

from __future__ import annotations

from bridle.journal.format import layout
from bridle.journal.format.entries import Effect, Entry
from bridle.journal.format.state import Position, file_name


def entry_document(entry: Entry) -> dict[str, object]:
    """Return one entry and the path of its file."""
    name = file_name(entry.seq, entry.ulid)
    return {
        "seq": entry.seq,
        "ulid": entry.ulid,
        "type": entry.type,
        "recordedAt": entry.recorded_at,
        "filename": name,
        "path": f"{layout.JOURNAL}/{name}",
        "data": entry.data,
    }


def effect_document(effect: Effect) -> dict[str, object]:
    """Return one effect and the paths of its files."""
    request = {"taskDefRef": f"{layout.TASKS}/{effect.effect_id}/{layout.TASK_FILE}", **effect.request.data}
    resolution = effect.resolution.data if effect.resolution is not None else {}
    return {
        "effectId": effect.effect_id,
        "taskId": effect.task_id,
        "stepId": effect.step_id,
        "status": effect.status,
        **{name: request.get(name) for name in ("kind", "label", "labels", "taskDefRef", "inputsRef")},
        **{name: resolution.get(name) for name in ("resultRef", "stdoutRef", "stderrRef")},
        "requestedAt": effect.request.recorded_at,
        "resolvedAt": effect.resolution.recorded_at if effect.resolution is not None else None,
    }


def position_document(position: Position) -> dict[str, object]:
    """Return the `metadata` of a document: the journal's head and the pending effects."""
    return {
        "pendingEffectsByKind": pending_by_kind(position),
        "stateVersion": position.seq,
        "journalHead": {"seq": position.seq, "ulid": position.ulid} if position.seq else None,
    }


def pending_by_kind(position: Position) -> dict[str, int]:
    """Count the pending effects of each kind."""
    return dict(sorted(position.pending_by_kind().items()))


def position_line(position: Position) -> str:
    counts = pending_by_kind(position)
    parts = [f"stateVersion={position.seq}"]
    if position.seq:
        parts += [f"journalHead=#{position.seq:06d}", f"journalHead.ulid={position.ulid}"]
    parts += [f"pending[total]={sum(counts.values())}", *(f"pending[{kind}]={n}" for kind, n in counts.items())]
    return " ".join(parts)
