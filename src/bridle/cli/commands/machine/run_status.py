"""`bridle run:status`: show the state of a run."""

from __future__ import annotations

from bridle.cli.machine_interface.json_documents import (
    entry_document,
    pending_by_kind,
    position_document,
    position_line,
)
from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments, LightCommand, print_json
from bridle.cli.machine_interface.run_argument import run_from_arguments
from bridle.journal.format.entries import Entry
from bridle.journal.format.state import COMPLETED, WAITING, Position
from bridle.journal.stores.file_reader import FileReader

# The one kind that the caller executes without a model or a user.
_AUTOMATIC = "node"


def _run(args: Arguments) -> int:
    reader = FileReader(run_from_arguments(args))
    position = reader.verified_position()
    last = reader.load(position.seq, position.ulid) if position.seq else None
    proof = reader.metadata().completion_proof if position.state == COMPLETED else None
    if args.has("--json"):
        print_json(_document(position, last, proof))
    else:
        newest = f"{last.type}#{last.seq:06d} {last.recorded_at}" if last is not None else "none"
        shown_proof = f" completionProof={proof}" if proof is not None else ""
        print(f"[run:status] state={position.state} last={newest} {position_line(position)}{shown_proof}")
    return 0


def _document(position: Position, last: Entry | None, proof: str | None) -> dict[str, object]:
    counts = pending_by_kind(position)
    automatic = counts.get(_AUTOMATIC, 0)
    return {
        "state": position.state,
        "lastEvent": entry_document(last) if last is not None else None,
        "pendingByKind": counts,
        "pendingEffectsSummary": {
            "totalPending": sum(counts.values()),
            "countsByKind": counts,
            "autoRunnableCount": automatic,
        },
        "needsMoreIterations": position.state == WAITING and automatic > 0,
        "metadata": position_document(position),
        "completionProof": proof,
    }


command = LightCommand("Show the state of a run.", _run, arguments=("RUN",), options=(RUNS_DIR,))
