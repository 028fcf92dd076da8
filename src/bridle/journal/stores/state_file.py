"""state/state.json, the format's cache for other implementations. Bridle writes it and never reads it."""

from __future__ import annotations

from bridle.ground import disk
from bridle.ground.light.quick_path import Path
from bridle.journal.format import codec, layout
from bridle.journal.format.entries import EFFECT_RESOLVED, RUN_COMPLETED, RUN_FAILED, Effect
from bridle.journal.format.state import State

MANUAL = "cli_manual"
_REASONS = {
    EFFECT_RESOLVED: "post_effect_resolution",
    RUN_COMPLETED: "post_completion",
    RUN_FAILED: "post_failure",
}


def reason_after(entry_type: str) -> str | None:
    """Return why the file is written after an entry of that type."""
    return _REASONS.get(entry_type)


def write_snapshot(run: Path, state: State, *, saved_at: str, reason: str | None) -> None:
    """Replace state.json."""
    disk.make_private_folder(run / layout.STATE)
    disk.replace_cache(run / layout.STATE / layout.STATE_FILE, codec.pretty(snapshot(state, saved_at, reason)))


def snapshot(state: State, saved_at: str, reason: str | None) -> dict[str, object]:
    """Return the content of state.json."""
    position = state.position
    return {
        "schemaVersion": layout.STATE_SCHEMA,
        "savedAt": saved_at,
        "journalHead": {"seq": position.seq, "ulid": position.ulid} if position.seq else None,
        "stateVersion": position.seq,
        "effectsByInvocation": {effect.key: _effect(effect) for effect in state.effects.values()},
        "pendingEffectsByKind": position.pending_by_kind(),
        "rebuildReason": reason,
    }


def _effect(effect: Effect) -> dict[str, object]:
    fields = {
        "effectId": effect.effect_id,
        "invocationKey": effect.key,
        "status": effect.status,
        "kind": effect.request.data.get("kind"),
        "label": effect.label,
        "taskId": effect.task_id,
        "stepId": effect.step_id,
        "requestedAt": effect.request.recorded_at,
        "resolvedAt": effect.resolution.recorded_at if effect.resolution is not None else None,
    }
    return {name: value for name, value in fields.items() if value is not None}
