"""`bridle task:show`: show one effect of a run."""

from __future__ import annotations

from bridle.cli.machine_interface.json_documents import effect_document
from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments, LightCommand, print_json
from bridle.cli.machine_interface.run_argument import run_from_arguments, secrets_may_be_shown
from bridle.journal.format import layout
from bridle.journal.format.entries import Effect
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.post_rules import not_found

# Of a larger result only the path is printed.
PREVIEW_LIMIT_BYTES = 1024 * 1024


def _run(args: Arguments) -> int:
    reader = FileReader(run_from_arguments(args))
    effect = reader.state().effects.get(args.positional[1])
    if effect is None:
        raise not_found(args.positional[1])
    document, large = effect_document(effect), _large_result(reader, effect)
    may_show = secrets_may_be_shown(args)
    if args.has("--json"):
        task = reader.task(effect).printed() if may_show else None
        result = _result_document(reader, effect) if may_show and large is None else None
        print_json({"effect": document, "task": task, "result": result, "largeResult": large})
        return 0
    title = effect.label or "(no label)"
    print(f"[task:show] {effect.effect_id} [{effect.kind} {effect.status}] {title} (taskId={effect.task_id})")
    print(
        f"  stepId={effect.step_id} requestedAt={document['requestedAt']} resolvedAt={document['resolvedAt'] or 'n/a'}"
    )
    for name in ("taskDefRef", "inputsRef", "resultRef", "stdoutRef", "stderrRef"):
        print(f"  {name}={document[name] or 'n/a'}")
    print("  task and result: set BABYSITTER_ALLOW_SECRET_LOGS=true and pass --json --verbose to see them")
    return 0


def _large_result(reader: FileReader, effect: Effect) -> str | None:
    """Return the path of a result that is too large to print: its file, or the blob that the file names."""
    if effect.is_pending:
        return None
    path = reader.tasks.path(effect.effect_id) / layout.RESULT_FILE
    if not path.is_file():
        return None
    if path.stat().st_size > PREVIEW_LIMIT_BYTES:
        return f"{layout.TASKS}/{effect.effect_id}/{layout.RESULT_FILE}"
    return reader.tasks.result_document(effect).blob_ref


def _result_document(reader: FileReader, effect: Effect) -> object:
    path = reader.tasks.path(effect.effect_id) / layout.RESULT_FILE
    return reader.tasks.result_document(effect).document if not effect.is_pending and path.is_file() else None


command = LightCommand("Show one effect of a run.", _run, arguments=("RUN", "EFFECT"), options=(RUNS_DIR,))
