"""`bridle task:list`: list the effects of a run."""

from __future__ import annotations

from bridle.cli.machine_interface.json_documents import effect_document
from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments, LightCommand, Option, print_json
from bridle.cli.machine_interface.run_argument import run_from_arguments
from bridle.journal.stores.file_reader import FileReader

_OPTIONS = (
    Option("--pending", "Only pending effects."),
    Option("--kind", "Only effects of this kind.", value="KIND"),
    RUNS_DIR,
)


def _run(args: Arguments) -> int:
    state = FileReader(run_from_arguments(args)).state()
    effects = state.pending if args.has("--pending") else list(state.effects.values())
    kind = args.text("--kind")
    if kind is not None:
        effects = [effect for effect in effects if effect.kind.lower() == kind.lower()]
    effects = sorted(effects, key=lambda effect: effect.effect_id)
    if args.has("--json"):
        print_json({"tasks": [effect_document(effect) for effect in effects]}, pretty=True)
        return 0
    print(f"[task:list] {'pending' if args.has('--pending') else 'total'}={len(effects)}")
    for effect in effects:
        label = f" {effect.label}" if effect.label else ""
        print(f"- {effect.effect_id} [{effect.kind} {effect.status}]{label} (taskId={effect.task_id})")
    return 0


command = LightCommand("List the effects of a run.", _run, arguments=("RUN",), options=_OPTIONS)
