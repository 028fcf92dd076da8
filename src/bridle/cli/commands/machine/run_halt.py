"""`bridle run:halt`: end a run for good."""

from __future__ import annotations

from bridle.cli.programs.light_command import RUNS_DIR, Given, Light, Option, print_json
from bridle.cli.programs.run_argument import chosen_run
from bridle.errors import UsageError
from bridle.journal.format.entries import RUN_FAILED, RUN_HALTED, Entry
from bridle.journal.format.state import FAILED, HALTED
from bridle.journal.stores.file_store import FileStore

_DEFAULT_REASON = "halted by hand"
_OPTIONS = (
    Option("--reason", f"Why (default: {_DEFAULT_REASON}).", value="TEXT"),
    Option("--final-status", "What the run ends as: halted (the default) or failed.", value="halted|failed"),
    RUNS_DIR,
)


def _run(given: Given) -> int:
    final, reason = given.text("--final-status") or HALTED, given.text("--reason") or _DEFAULT_REASON
    if final not in (HALTED, FAILED):
        raise UsageError(f"--final-status is halted or failed, not {final!r}")
    store = FileStore(chosen_run(given))
    entry = _halt(store, final, reason)
    if given.has("--json"):
        seq = entry.seq if entry is not None else store.standing().seq
        document = {"runId": store.metadata().get("runId"), "status": final, "reason": reason}
        print_json({**document, "changed": entry is not None, "seq": seq}, pretty=True)
    else:
        print(f"[run:halt] status={final} reason={reason}")
    return 0


def _halt(store: FileStore, final: str, reason: str) -> Entry | None:
    """Append the end; None when the run has ended so already."""
    if _has_ended(store.standing().end, final):
        return None
    with store.write("run:halt") as writer:
        if _has_ended(writer.standing.end, final):
            return None
        if final == HALTED:
            return writer.append(RUN_HALTED, {"reason": reason})
        error = {"name": "ManualHalt", "message": reason}
        return writer.append(RUN_FAILED, {"manual_seal_reason": reason, "error": error})


def _has_ended(end: str | None, final: str) -> bool:
    if end is not None and end != final:
        raise UsageError(f"the run has {end} already", remedy="bridle run:status RUN tells how it ended.")
    return end is not None


command = Light(
    "End a run for good; it can be read and audited afterwards.", _run, arguments=("RUN",), options=_OPTIONS
)
