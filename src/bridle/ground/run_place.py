"""Where a run's folder leads, also if it is reached through a link, as a linked `.a5c/runs` is."""

from __future__ import annotations

import os
from pathlib import Path

_RUNS_FOLDER = (".a5c", "runs")


def process_files(run: Path, import_path: str) -> tuple[Path, Path]:
    """Return the file of a run's process, which is named relative to the run's folder.

    The first counts from the folder as it is named, as other programs do it; the second from where links lead.
    """
    return (
        Path(os.path.normpath(os.path.abspath(run / import_path))),
        Path(os.path.normpath(run.resolve() / import_path)),
    )


def repository_by_name(run: Path) -> Path | None:
    """Return the folder whose `.a5c/runs` a run is in by its name; None if it is named otherwise."""
    named = Path(os.path.abspath(run))
    return named.parents[2].resolve() if named.parts[-3:-1] == _RUNS_FOLDER else None
