"""The run and the runs folder that a command line names."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments
from bridle.errors import DiskError
from bridle.journal.format.layout import RUN_FILE
from bridle.journal.stores.find_run import run_folder, runs_folder, runs_folders


def run_from_arguments(args: Arguments) -> Path:
    """Return the folder of the run named by the first argument; an id also finds a run of a folder above."""
    argument, flag = args.positional[0], args.text(RUNS_DIR.name)
    folder = run_folder(argument, runs_folder(flag, os.environ))
    if os.path.isdir(folder) or "/" in argument:
        return folder
    above = (runs / argument for runs in runs_folders(flag, os.environ))
    return next((run for run in above if os.path.isfile(run / RUN_FILE)), folder)


def runs_dir(args: Arguments) -> Path:
    return runs_folder(args.text(RUNS_DIR.name), os.environ)


def check_runs_folder(runs: Path) -> None:
    """Raise DiskError or LockHeld unless runs can be created in the folder; write and lock a file to find out."""
    from bridle.ground import disk
    from bridle.ground.lock import FileLock

    parent = next(folder for folder in (runs, *runs.parents) if os.path.lexists(folder))
    if not (parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)):
        raise DiskError(
            f"no run can be created in {runs}: {parent} is not a writable folder",
            remedy=f"Make {parent} writable, or name another folder with --runs-dir.",
        )
    if parent != runs:
        return
    probe = disk.temporary_name(runs)
    try:
        FileLock.hold(probe, holder="a check of the folder").release()
    finally:
        probe.unlink(missing_ok=True)


def secrets_may_be_shown(args: Arguments) -> bool:
    """Return whether tasks and results, which may hold secrets, may be printed: two switches must agree."""
    allowed = os.environ.get("BABYSITTER_ALLOW_SECRET_LOGS", "").strip().lower()
    return args.has("--json") and args.has("--verbose") and allowed in ("1", "true")
