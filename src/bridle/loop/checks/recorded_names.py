"""Names of files and folders that belong to the user's environment, in a file of the run, for each worker."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from bridle.loop.working_copy.run_context import RunContext


def read(context: RunContext, kind: str) -> frozenset[str] | None:
    """Return the recorded names; None if there is no record."""
    names = context.records.read_json(_path(context, kind), context.worker)
    return frozenset(names) if isinstance(names, list) else None


def add(context: RunContext, kind: str, names: Iterable[str], *, since: float) -> None:
    """Record the names of what was changed since that time, beside those that are recorded."""
    found = [name for name in names if _ctime(context.folder / name) >= since]
    context.records.write_json(_path(context, kind), sorted({*(read(context, kind) or ()), *found}), context.worker)


def is_recorded_by_run(context: RunContext, kind: str) -> bool:
    """Return whether the run itself has a record, whatever its workers have."""
    return context.records.read(context.run_folder / f"bridle-{kind}.json", None) is not None


def _path(context: RunContext, kind: str) -> Path:
    worker = "" if context.worker is None else f"-{context.worker}"
    return context.run_folder / f"bridle-{kind}{worker}.json"


def _ctime(path: Path) -> float:
    """Return when a file was last written, created or renamed; 0 if it does not exist."""
    try:
        return os.lstat(path).st_ctime
    except OSError:
        return 0.0
