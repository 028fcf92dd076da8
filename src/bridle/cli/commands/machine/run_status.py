"""`bridle run:status`: the state of a run."""

from __future__ import annotations

from bridle.cli.programs.json_documents import entry_document, pending_by_kind, standing_document, standing_line
from bridle.cli.programs.light_command import RUNS_DIR, Given, Light, print_json
from bridle.cli.programs.run_argument import chosen_run
from bridle.journal.format.entries import Entry
from bridle.journal.format.proof import completion_proof
from bridle.journal.format.state import COMPLETED, WAITING, Position
from bridle.journal.stores.file_reader import FileReader

# The one kind that the caller's own program performs without a model or a person.
_AUTOMATIC = "node"


def _run(given: Given) -> int:
    reader = FileReader(chosen_run(given))
    standing = reader.standing()
    last = reader.load(standing.seq, standing.ulid) if standing.seq else None
    proof = completion_proof(reader.metadata()) if standing.state == COMPLETED else None
    if given.has("--json"):
        print_json(_document(standing, last, proof))
    else:
        newest = f"{last.type}#{last.seq:06d} {last.recorded_at}" if last is not None else "none"
        shown_proof = f" completionProof={proof}" if proof is not None else ""
        print(f"[run:status] state={standing.state} last={newest} {standing_line(standing)}{shown_proof}")
    return 0


def _document(standing: Position, last: Entry | None, proof: str | None) -> dict[str, object]:
    counts = pending_by_kind(standing)
    automatic = counts.get(_AUTOMATIC, 0)
    return {
        "state": standing.state,
        "lastEvent": entry_document(last) if last is not None else None,
        "pendingByKind": counts,
        "pendingEffectsSummary": {
            "totalPending": sum(counts.values()),
            "countsByKind": counts,
            "autoRunnableCount": automatic,
        },
        "needsMoreIterations": standing.state == WAITING and automatic > 0,
        "metadata": standing_document(standing),
        "completionProof": proof,
    }


command = Light("The state of a run.", _run, arguments=("RUN",), options=(RUNS_DIR,))
