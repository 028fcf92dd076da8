"""The documents of the machine interface about entries and effects, in the format's own fields."""

from __future__ import annotations

from bridle.journal.format import layout
from bridle.journal.format.entries import Effect, Entry
from bridle.journal.format.state import Position, file_name


def entry_document(entry: Entry) -> dict[str, object]:
    """One entry, with where its file is."""
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
    """One effect, with where its files are."""
    request = effect.request.data
    resolution = effect.resolution.data if effect.resolution is not None else {}
    return {
        "effectId": effect.effect_id,
        "taskId": effect.task_id,
        "stepId": effect.step_id,
        "status": effect.status,
        "kind": request.get("kind"),
        "label": request.get("label"),
        "labels": request.get("labels"),
        "taskDefRef": request.get("taskDefRef", f"{layout.TASKS}/{effect.effect_id}/{layout.TASK_FILE}"),
        "inputsRef": request.get("inputsRef"),
        "resultRef": resolution.get("resultRef"),
        "stdoutRef": resolution.get("stdoutRef"),
        "stderrRef": resolution.get("stderrRef"),
        "requestedAt": effect.request.recorded_at,
        "resolvedAt": effect.resolution.recorded_at if effect.resolution is not None else None,
    }


def standing_document(standing: Position) -> dict[str, object]:
    """The `metadata` of a document: how far the journal goes and what waits."""
    return {
        "pendingEffectsByKind": pending_by_kind(standing),
        "stateVersion": standing.seq,
        "journalHead": {"seq": standing.seq, "ulid": standing.ulid} if standing.seq else None,
    }


def pending_by_kind(standing: Position) -> dict[str, int]:
    """How many effects of each kind wait, by kind."""
    return dict(sorted(standing.pending_by_kind().items()))


def standing_line(standing: Position) -> str:
    """The same for people."""
    counts = pending_by_kind(standing)
    parts = [f"stateVersion={standing.seq}"]
    if standing.seq:
        parts += [f"journalHead=#{standing.seq:06d}", f"journalHead.ulid={standing.ulid}"]
    parts += [f"pending[total]={sum(counts.values())}", *(f"pending[{kind}]={n}" for kind, n in counts.items())]
    return " ".join(parts)
