"""`bridle task:list`: the effects of a run."""

from __future__ import annotations

from bridle.cli.programs.json_documents import effect_document
from bridle.cli.programs.light_command import RUNS_DIR, Given, Light, Option, print_json
from bridle.cli.programs.run_argument import chosen_run
from bridle.journal.stores.file_reader import FileReader

_OPTIONS = (
    Option("--pending", "Only those that wait for a result."),
    Option("--kind", "Only those of one kind.", value="KIND"),
    RUNS_DIR,
)


def _run(given: Given) -> int:
    state = FileReader(chosen_run(given)).state()
    effects = state.pending if given.has("--pending") else list(state.effects.values())
    kind = given.text("--kind")
    if kind is not None:
        effects = [effect for effect in effects if effect.kind.lower() == kind.lower()]
    effects = sorted(effects, key=lambda effect: effect.effect_id)
    if given.has("--json"):
        print_json({"tasks": [effect_document(effect) for effect in effects]}, pretty=True)
        return 0
    print(f"[task:list] {'pending' if given.has('--pending') else 'total'}={len(effects)}")
    for effect in effects:
        label = f" {effect.label}" if effect.label else ""
        print(f"- {effect.effect_id} [{effect.kind} {effect.status}]{label} (taskId={effect.task_id})")
    return 0


command = Light("The effects of a run.", _run, arguments=("RUN",), options=_OPTIONS)
