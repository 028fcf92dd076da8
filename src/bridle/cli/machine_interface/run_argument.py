"""The run and the runs folder that a command line names."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments
from bridle.journal.stores.find_run import run_folder, runs_folder


def find_run(args: Arguments) -> Path:
    """Return the folder of the run named by the first argument."""
    return run_folder(args.positional[0], runs_dir(args))


def runs_dir(args: Arguments) -> Path:
    return runs_folder(args.text(RUNS_DIR.name), os.environ)


def secrets_may_be_shown(args: Arguments) -> bool:
    """Return whether tasks and results, which may hold secrets, may be printed: two switches must agree."""
    allowed = os.environ.get("BABYSITTER_ALLOW_SECRET_LOGS", "").strip().lower()
    return args.has("--json") and args.has("--verbose") and allowed in ("1", "true")
