"""`bridle run:iterate`: replay a run's process and list its pending effects."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from bridle.cli.machine_interface.light_command import (
    HOOKS_PLUGIN,
    NO_HOOKS,
    RUNS_DIR,
    Arguments,
    LightCommand,
    Option,
    print_json,
)
from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
from bridle.cli.machine_interface.run_argument import run_from_arguments

_OPTIONS = (
    Option("--iteration", "The iteration number to report (default: counted).", value="N"),
    HOOKS_PLUGIN,
    NO_HOOKS,
    RUNS_DIR,
)


def _run(args: Arguments) -> int:
    _import_asyncio()
    from bridle.engine.hooks.find_hooks import repository_of
    from bridle.engine.hooks.run_hooks import Hooks
    from bridle.engine.iterate.iterate import iterate
    from bridle.engine.iterate.iteration_report import FAILED, HALTED
    from bridle.engine.process.load_process import is_built_in
    from bridle.journal.stores.file_store import FileStore

    gc.disable()  # the program ends before there is anything worth collecting
    number, plugin = args.number("--iteration"), args.text("--plugin-root")
    run = run_from_arguments(args)
    hooks = Hooks(repository_of(run), os.environ, Path(plugin) if plugin else None, enabled=not args.has("--no-hooks"))
    store = FileStore(run)
    if is_built_in(store.metadata().process_id):  # its driver iterates it
        refuse_inside_agent("run:iterate", run)
    report = iterate(store, run, hooks)
    if number is not None:
        report = report._replace(number=number)
    for warning in report.warnings:
        print(f"bridle: {warning}", file=sys.stderr)
    if args.has("--json"):
        print_json(report.as_json(), pretty=True)
    else:
        print("[run:iterate] " + "\n".join(report.lines()))
    return 1 if report.status in (FAILED, HALTED) else 0


def _import_asyncio() -> None:
    """Import asyncio without TLS: loading OpenSSL takes a tenth of an iteration, and a process opens no connection.

    asyncio works without it, as on a Python that was built without it; a later import of `ssl` succeeds.
    """
    if "ssl" in sys.modules or "asyncio" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # makes the import fail
    try:
        import asyncio  # noqa: F401  # for later imports
    finally:
        del sys.modules["ssl"]


command = LightCommand(
    "Replay a run's process and list its pending effects.", _run, arguments=("RUN",), options=_OPTIONS
)
