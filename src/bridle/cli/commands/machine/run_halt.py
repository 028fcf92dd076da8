"""`bridle run:halt`: end a run for good."""

from __future__ import annotations

from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments, LightCommand, Option, print_json
from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
from bridle.cli.machine_interface.run_argument import run_from_arguments
from bridle.errors import UsageError
from bridle.ground.light.shell_word import shell_word
from bridle.journal.format.entries import RUN_FAILED, RUN_HALTED, Entry
from bridle.journal.format.state import FAILED, HALTED
from bridle.journal.stores.file_store import FileStore

_DEFAULT_REASON = "halted manually"
_OPTIONS = (
    Option("--reason", f"Why (default: {_DEFAULT_REASON}).", value="TEXT"),
    Option("--final-status", "The final state: halted (the default) or failed.", value="halted|failed"),
    RUNS_DIR,
)


def _run(args: Arguments) -> int:
    final, reason = args.text("--final-status") or HALTED, args.text("--reason") or _DEFAULT_REASON
    if final not in (HALTED, FAILED):
        raise UsageError(f"--final-status must be halted or failed, got {final!r}")
    store = FileStore(run_from_arguments(args))
    refuse_inside_agent("run:halt", store.run)
    entry = _halt(store, final, reason)
    if args.has("--json"):
        seq = entry.seq if entry is not None else store.position().seq
        document = {"runId": store.metadata().run_id, "status": final, "reason": reason}
        print_json({**document, "changed": entry is not None, "seq": seq}, pretty=True)
    else:
        print(f"[run:halt] status={final} reason={reason}")
    return 0


def _halt(store: FileStore, final: str, reason: str) -> Entry | None:
    """Append the final entry; return None if the run has ended this way already."""
    if _has_ended(store, store.position().end, final):
        return None
    with store.write("run:halt") as writer:
        if _has_ended(store, writer.position.end, final):
            return None
        if final == HALTED:
            return writer.append(RUN_HALTED, {"reason": reason})
        error = {"name": "ManualHalt", "message": reason}
        return writer.append(RUN_FAILED, {"manual_seal_reason": reason, "error": error})


def _has_ended(store: FileStore, end: str | None, final: str) -> bool:
    if end is not None and end != final:
        status = f"bridle run:status {shell_word(str(store.run))}"
        raise UsageError(f"the run has already ended: {end}", remedy=f"Run `{status}` for its final state.")
    return end is not None


command = LightCommand(
    "End a run for good; it can still be read and audited.", _run, arguments=("RUN",), options=_OPTIONS
)
