"""The run that an agent or a hook named on its command line."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.cli.programs.light_command import RUNS_DIR, Given
from bridle.journal.stores.find_run import run_folder, runs_folder


def chosen_run(given: Given) -> Path:
    """The folder of the run, which is the first argument."""
    return run_folder(given.arguments[0], chosen_runs(given))


def chosen_runs(given: Given) -> Path:
    """The folder that runs are in."""
    return runs_folder(given.text(RUNS_DIR.name), os.environ)


def secrets_may_be_shown(given: Given) -> bool:
    """Whether tasks and results, which may hold secrets, are part of the answer: asked for twice over."""
    allowed = os.environ.get("BABYSITTER_ALLOW_SECRET_LOGS", "").strip().lower()
    return given.has("--json") and given.has("--verbose") and allowed in ("1", "true")
