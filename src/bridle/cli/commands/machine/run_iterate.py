"""`bridle run:iterate`: replay a run's process and list the effects it waits for."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from bridle.cli.programs.light_command import NO_HOOKS, RUNS_DIR, Given, Light, Option, print_json
from bridle.cli.programs.run_argument import chosen_run

_OPTIONS = (
    Option("--iteration", "The number to report instead of our own count.", value="N"),
    Option("--plugin-root", "The folder of the plugin, whose hooks run too.", value="DIR"),
    NO_HOOKS,
    RUNS_DIR,
)


def _run(given: Given) -> int:
    _import_asyncio()
    from bridle.engine.hooks.find_hooks import repository_of
    from bridle.engine.hooks.run_hooks import Hooks
    from bridle.engine.iterate.iterate import iterate
    from bridle.engine.iterate.iteration_report import FAILED, HALTED
    from bridle.journal.stores.file_store import FileStore

    gc.disable()  # the program ends before there is anything worth collecting
    number, plugin = given.number("--iteration"), given.text("--plugin-root")
    run = chosen_run(given)
    hooks = Hooks(repository_of(run), os.environ, Path(plugin) if plugin else None, enabled=not given.has("--no-hooks"))
    found = iterate(FileStore(run), run, hooks)
    if number is not None:
        found = found._replace(number=number)
    for remark in found.remarks:
        print(f"bridle: {remark}", file=sys.stderr)
    if given.has("--json"):
        print_json(found.as_json(), pretty=True)
    else:
        print("[run:iterate] " + "\n".join(found.lines()))
    return 1 if found.status in (FAILED, HALTED) else 0


def _import_asyncio() -> None:
    """Load asyncio without TLS: a process opens no connection, and OpenSSL would be a tenth of an iteration.

    asyncio works without it, as on a Python that was built so; whoever imports `ssl` later gets it.
    """
    if "ssl" in sys.modules or "asyncio" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # what the import system takes for "there is none"
    try:
        import asyncio  # noqa: F401  # for all that are to come
    finally:
        del sys.modules["ssl"]


command = Light("Replay a run's process and list the effects it waits for.", _run, arguments=("RUN",), options=_OPTIONS)
