"""`bridle run:rebuild-state`: write a run's derived state again from its journal."""

from __future__ import annotations

import time

from bridle.cli.programs.json_documents import standing_document, standing_line
from bridle.cli.programs.light_command import DRY_RUN, RUNS_DIR, Given, Light, print_json
from bridle.cli.programs.run_argument import chosen_run
from bridle.ground.light.moments import iso
from bridle.journal.format.state import State
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.state_file import BY_HAND, write_snapshot


def _run(given: Given) -> int:
    store = FileStore(chosen_run(given))
    store.metadata()
    if given.has("--dry-run"):
        plan = {"dryRun": True, "runDir": str(store.run), "plan": "rebuild_state_cache", "reason": BY_HAND}
        if given.has("--json"):
            print_json(plan, pretty=True)
        else:
            print(f"[run:rebuild-state] dry-run runDir={store.run} plan={plan['plan']} reason={BY_HAND}")
        return 0
    state = _rebuild(store)
    if given.has("--json"):
        metadata = standing_document(state.standing) | {"stateRebuilt": True, "stateRebuildReason": BY_HAND}
        print_json({"runDir": str(store.run), "metadata": metadata}, pretty=True)
    else:
        print(f"[run:rebuild-state] runDir={store.run} {standing_line(state.standing)}")
    return 0


def _rebuild(store: FileStore) -> State:
    """Read and verify every entry, whatever the caches say, and write both of them anew."""
    with store.write("run:rebuild-state") as writer:
        state = writer.rebuild()
        write_snapshot(store.run, state, saved_at=iso(time.time_ns()), reason=BY_HAND)
    return state


command = Light(
    "Write a run's derived state again from its journal, every entry verified.",
    _run,
    arguments=("RUN",),
    options=(DRY_RUN, RUNS_DIR),
)
