"""`bridle run:repair-journal`: move broken journal entries aside."""

from __future__ import annotations

import sys
from pathlib import Path

from bridle.cli.machine_interface.light_command import DRY_RUN, RUNS_DIR, Arguments, LightCommand, print_json
from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
from bridle.cli.machine_interface.run_argument import run_from_arguments
from bridle.journal.format import layout
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import LOCK_WAIT_SECONDS
from bridle.journal.stores.write_lock import take
from bridle.journal.upkeep import repair


def _run(args: Arguments) -> int:
    run, is_dry = run_from_arguments(args), args.has("--dry-run")
    FileReader(run).unverified_metadata()
    if not is_dry:
        refuse_inside_agent("run:repair-journal", run)
    if is_dry:
        plan, backup = repair.plan_repair(run), None
    else:
        with take(run, "run:repair-journal", wait_seconds=LOCK_WAIT_SECONDS):
            repair.finish_interrupted(run)
            plan = repair.plan_repair(run)
            backup = repair.carry_out(run, plan) if plan.is_needed else None
    if args.has("--json"):
        print_json(_document(run, plan, backup, is_dry=is_dry), pretty=True)
    else:
        counts = " ".join(f"{name}={count}" for name, count in _counts(plan).items())
        status = "dry-run" if is_dry else "repaired" if backup is not None else "nothing to repair"
        print(f"[run:repair-journal] {status} {counts}" + (f" backupDir={backup}" if backup is not None else ""))
    for name in plan.missing:
        print(f"bridle: {name}: this entry is missing from the journal", file=sys.stderr)
    for name in plan.restored:
        print(f"bridle: {name}: {'would be ' if is_dry else ''}restored from {layout.PACK_FILE}", file=sys.stderr)
    for dropped in plan.dropped:
        print(f"bridle: {dropped.name}: {dropped.fault}", file=sys.stderr)
    return 0


def _counts(plan: repair.Plan) -> dict[str, int]:
    return {
        "originalFiles": len(plan.files),
        "keptEvents": len(plan.kept),
        "droppedCorrupt": plan.count("corrupt"),
        "droppedRequested": plan.count("requested"),
        "droppedResolved": plan.count("resolved"),
        "missingEntries": len(plan.missing),
        "restoredEntries": len(plan.restored),
    }


def _document(run: Path, plan: repair.Plan, backup: Path | None, *, is_dry: bool) -> dict[str, object]:
    dropped = [{"file": item.name, "reason": item.fault} for item in plan.dropped]
    document: dict[str, object] = {"runDir": str(run), "journal": _counts(plan), "dropped": dropped}
    document |= {"missing": plan.missing, "restored": list(plan.restored)}
    if is_dry:
        return {"dryRun": True, **document}
    return {**document, "backupDir": str(backup) if backup is not None else None, "repaired": backup is not None}


command = LightCommand(
    "Move broken journal entries aside and keep a backup of the journal.",
    _run,
    arguments=("RUN",),
    options=(DRY_RUN, RUNS_DIR),
)
