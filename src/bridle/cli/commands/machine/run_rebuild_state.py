"""`bridle run:rebuild-state`: rebuild a run's derived state from its journal."""

from __future__ import annotations

import time

from bridle.cli.machine_interface.json_documents import position_document, position_line
from bridle.cli.machine_interface.light_command import DRY_RUN, RUNS_DIR, Arguments, LightCommand, print_json
from bridle.cli.machine_interface.run_argument import run_from_arguments
from bridle.ground.light.moments import iso
from bridle.journal.format.state import State
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.state_file import MANUAL, write_snapshot


def _run(args: Arguments) -> int:
    store = FileStore(run_from_arguments(args))
    store.metadata()
    if args.has("--dry-run"):
        plan = {"dryRun": True, "runDir": str(store.run), "plan": "rebuild_state_cache", "reason": MANUAL}
        if args.has("--json"):
            print_json(plan, pretty=True)
        else:
            print(f"[run:rebuild-state] dry-run runDir={store.run} plan={plan['plan']} reason={MANUAL}")
        return 0
    state = _rebuild(store)
    if args.has("--json"):
        metadata = position_document(state.position) | {"stateRebuilt": True, "stateRebuildReason": MANUAL}
        print_json({"runDir": str(store.run), "metadata": metadata}, pretty=True)
    else:
        print(f"[run:rebuild-state] runDir={store.run} {position_line(state.position)}")
    return 0


def _rebuild(store: FileStore) -> State:
    """Read and verify every entry and every file of the run, ignoring both caches, and rewrite them."""
    with store.write("run:rebuild-state") as writer:
        state = writer.rebuild()
        write_snapshot(store.run, state, saved_at=iso(time.time_ns()), reason=MANUAL)
    return state


command = LightCommand(
    "Rebuild a run's derived state from its journal; verify every entry and file.",
    _run,
    arguments=("RUN",),
    options=(DRY_RUN, RUNS_DIR),
)
